import katex from 'katex';
import { expect, test } from 'vitest';
import { drawMath } from '#lib/markdown/math.ts';
import { formulas } from './formulas.ts';

// Each element with its attributes in one order, styles as the browser reads them, and each text.
function linesOf(node: Node): string[] {
  if (!(node instanceof Element)) return [node.textContent ?? ''];
  const of = (name: string) => (name === 'style' ? (node as HTMLElement).style.cssText : node.getAttribute(name));
  const attributes = node.getAttributeNames().sort().map((name) => `${name}=${of(name)}`);
  return [`${node.localName} ${attributes.join(' ')}`, ...[...node.childNodes].flatMap(linesOf)];
}

// Styles are set as properties; what comes of it is what KaTeX draws by itself.
test.each(formulas)('%s is drawn as KaTeX draws it', (text) => {
  for (const displayMode of [false, true]) {
    const [ours, theirs] = [document.createElement('span'), document.createElement('span')];
    drawMath(ours, text, displayMode);
    katex.render(text, theirs, { displayMode, throwOnError: false, strict: 'ignore', maxExpand: 500, maxSize: 20, errorColor: 'var(--danger)' });
    expect(theirs.innerHTML).not.toBe('');
    expect(linesOf(ours)).toEqual(linesOf(theirs));
  }
});

test('no attribute of style is set, which the policy would forbid', () => {
  const set: string[] = [];
  const { setAttribute } = Element.prototype;
  Element.prototype.setAttribute = function (name, value) {
    if (name === 'style') set.push(value);
    setAttribute.call(this, name, value);
  };
  try {
    for (const text of formulas) drawMath(document.createElement('span'), text, true);
    expect(set).toEqual([]);
    katex.render(formulas[0]!, document.createElement('span'));
    expect(set).not.toEqual([]);
  } finally {
    Element.prototype.setAttribute = setAttribute;
  }
});
