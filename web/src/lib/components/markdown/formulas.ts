// Formulas for tests: what models write, and each kind for which KaTeX has a style of its own.
export const formulas: readonly string[] = [
  '\\vec{v} + \\overrightarrow{AB} + \\widehat{xyz} + \\overbrace{a + b}^{n}',
  '\\pmb{x} + \\boldsymbol{\\alpha} + \\mathbf{A}',
  '\\fcolorbox{red}{blue}{x} + \\colorbox{aqua}{y} + \\textcolor{#f00}{z} + \\boxed{E = mc^2}',
  '\\oiint_S + \\oiiint_V + \\int_0^1 + \\sum_{i=1}^{n}',
  '\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix} \\begin{cases} 1 & x > 0 \\\\ 0 \\end{cases}',
  '\\begin{array}{|c|c|} \\hline 1 & 2 \\\\ \\hline \\end{array} \\begin{align} a &= b \\\\ c &= d \\end{align}',
  '\\sqrt[3]{x} + \\frac{a}{b} + \\cancel{x} + \\xrightarrow{f} + \\left(\\frac{1}{2}\\right)',
  '\\rule{1em}{2em} \\raisebox{1em}{x} \\kern1em \\phantom{x} \\Huge x \\tag{1}',
  '\\phase{-78} + \\angl{n} + \\utilde{AB} + \\underbrace{x}_{y} + \\sout{abc}',
  '\\unknown{x} + 1',
  '\\frac{1',
  'x^2^3',
];
