// Of KaTeX's fonts only those as WOFF2 are shipped, which every browser that can run the page reads: its style names WOFF and TrueType
// besides, and whatever a style names becomes a file of the build.
import type { Plugin } from 'vite';

export const onlyWoff2 = (css: string) => css.replace(/,\s*url\([^)]*\.(?:woff|ttf)\)\s*format\([^)]*\)/g, '');

export const fonts = (): Plugin => ({
  name: 'puna-fonts',
  enforce: 'pre',
  transform: (code, id) => (/\/katex[^/]*\.css$/.test(id.split('?')[0]!) ? onlyWoff2(code) : undefined),
});
