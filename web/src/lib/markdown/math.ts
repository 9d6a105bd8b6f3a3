// Formulas. Loaded when the first one is shown. `trust: false` and the limits: TeX from a model may ask for links or endless macros.
import katex from 'katex';
import 'katex/dist/katex.css';

export function drawMath(node: HTMLElement, text: string, display: boolean) {
  katex.render(text, node, {
    displayMode: display,
    throwOnError: false,
    trust: false,
    strict: 'ignore',
    maxExpand: 500,
    maxSize: 20,
    output: 'htmlAndMathml',
  });
}
