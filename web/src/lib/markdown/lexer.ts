// Markdown to tokens: marked's lexer with three changes. HTML is text (only `<br>`, which tables need, is a line break). Math is a
// token. Nesting ends at 32 levels, after which marks are text: what a model writes cannot overflow the stack.
import { Lexer, Marked, Tokenizer, type Links, type Token, type TokenizerExtension, type Tokens } from 'marked';

export const maxDepth = 32;

export interface MathToken {
  type: 'math' | 'inlineMath';
  raw: string;
  text: string;
  display: boolean;
}

// TeX between blank lines is no formula: the signs were money or quotation.
const displayMath = /^ {0,3}(?:\$\$((?:(?!\$\$|\n[ \t]*\n)[^])+?)\$\$|\\\[((?:(?!\\\]|\n[ \t]*\n)[^])+?)\\\])[ \t]*(?:\n|$)/;
// Pandoc's rule: no space inside the signs, no digit after the closing one. A backtick ends the search: code stays code.
const inlineDollar = /^\$(?![\s$])((?:\\[^\n]|[^$\n\\`])+?)(?<!\s)\$(?![\d$])/;
const inlineDouble = /^\$\$((?:\\[^\n]|[^$\n\\`])+?)\$\$/;
const inlineParen = /^\\\(((?:(?!\\\)|\n[ \t]*\n)[^`])+?)\\\)/;
const inlineBracket = /^\\\[((?:(?!\\\]|\n[ \t]*\n)[^`])+?)\\\]/;

const blockMath: TokenizerExtension = {
  name: 'math',
  level: 'block',
  start(src) {
    const found = /(^|\n) {0,3}(?:\$\$|\\\[)/.exec(src);
    return found ? found.index + found[1]!.length : undefined;
  },
  tokenizer(src) {
    const found = displayMath.exec(src);
    if (!found) return undefined;
    return { type: 'math', raw: found[0], text: (found[1] ?? found[2])!.trim(), display: true };
  },
};

const inlineMath: TokenizerExtension = {
  name: 'inlineMath',
  level: 'inline',
  start: (src) => {
    const at = src.search(/\$|\\[([]/);
    return at < 0 ? undefined : at;
  },
  tokenizer(src) {
    const one = inlineParen.exec(src) ?? inlineDollar.exec(src);
    if (one) return { type: 'inlineMath', raw: one[0], text: one[1]!, display: false };
    const two = inlineDouble.exec(src) ?? inlineBracket.exec(src);
    return two ? { type: 'inlineMath', raw: two[0], text: two[1]!.trim(), display: true } : undefined;
  },
};

class BoundedTokenizer extends Tokenizer {
  #depth = 0;
  // Characters that may be searched for closing marks of emphasis. Each opening mark searches to the end of its paragraph, at every
  // level again: a text of nothing but marks would take minutes.
  #search: number;

  constructor(length: number) {
    super();
    this.#search = 100_000 + 20 * length;
  }

  #nest<T>(read: () => T): T | undefined {
    if (this.#depth >= maxDepth) return undefined;
    this.#depth++;
    try {
      return read();
    } finally {
      this.#depth--;
    }
  }

  override blockquote(src: string) {
    return this.#nest(() => super.blockquote(src));
  }
  override list(src: string) {
    return this.#nest(() => super.list(src));
  }
  override emStrong(src: string, masked: string, before?: string) {
    if (src[0] !== '*' && src[0] !== '_') return undefined;
    this.#search -= src.length;
    return this.#search < 0 ? undefined : this.#nest(() => super.emStrong(src, masked, before));
  }
  override del(src: string, masked: string, before?: string) {
    return this.#nest(() => super.del(src, masked, before));
  }
  override link(src: string) {
    return this.#nest(() => super.link(src));
  }
  override reflink(src: string, links: Links) {
    return this.#nest(() => super.reflink(src, links));
  }
  override html(): undefined {
    return undefined;
  }
  override tag(src: string): Tokens.Tag | undefined {
    const br = /^<br\s*\/?>/i.exec(src);
    return br ? ({ type: 'br', raw: br[0] } as unknown as Tokens.Tag) : undefined;
  }
}

const defaults = new Marked({ gfm: true, breaks: false }, { extensions: [blockMath, inlineMath] }).defaults;

// A longer line than this is shown as text: no reader reads it, and the lexer's search for pairs grows with its square.
const longestLine = 20_000;
const hasLongLine = (text: string) => {
  for (let from = 0; from + longestLine < text.length; ) {
    const end = text.indexOf('\n', from);
    if ((end < 0 ? text.length : end) - from > longestLine) return true;
    if (end < 0) return false;
    from = end + 1;
  }
  return false;
};

export interface Lexed {
  tokens: Token[];
  links: Links;
}

// `links`: definitions of references that stand before this text.
export function lex(text: string, links: Links = {}): Lexed {
  const lexer = new Lexer({ ...defaults, tokenizer: new BoundedTokenizer(text.length) });
  Object.assign(lexer.tokens.links, links);
  if (hasLongLine(text)) return { tokens: [{ type: 'plain', raw: text }], links: lexer.tokens.links };
  const tokens = lexer.lex(text);
  return { tokens, links: tokens.links };
}
