// Formulas. Loaded when the first one is shown. `trust: false` and the limits: TeX from a model may ask for links or endless macros.
import katex, { type KatexOptions } from 'katex';
import 'katex/dist/katex.css';

// What KaTeX builds before it becomes elements.
interface Built {
  children?: Built[];
  attributes?: Record<string, string>;
  toNode: () => Node;
}
const build = (katex as unknown as { __renderToDomTree: (text: string, options: KatexOptions) => Built }).__renderToDomTree;

// In the place of `style`, until the elements are there.
const held = 'data-style';

// Draws into `node`. What is no TeX stands there as it was written, in red, with the reason as its title.
export function drawMath(node: HTMLElement, text: string, display: boolean) {
  const tree = build(text, {
    displayMode: display,
    throwOnError: false,
    trust: false,
    strict: 'ignore',
    maxExpand: 500,
    maxSize: 20,
    output: 'htmlAndMathml',
    errorColor: 'var(--danger)',
  });
  hold(tree);
  const drawn = tree.toNode() as Element;
  for (const element of drawn.querySelectorAll<HTMLElement>(`[${held}]`)) release(element);
  release(drawn as HTMLElement);
  node.replaceChildren(drawn);
}

// The policy of the page forbids attributes of style, which KaTeX gives to arrows, bold symbols, boxes and errors. Set as a property they
// are no part of a text that a model wrote.
function hold({ attributes, children }: Built) {
  if (attributes?.['style'] !== undefined) {
    attributes[held] = attributes['style'];
    delete attributes['style'];
  }
  children?.forEach(hold);
}
function release(element: HTMLElement) {
  const style = element.getAttribute(held);
  if (style === null) return;
  element.removeAttribute(held);
  element.style.cssText += style;
}
