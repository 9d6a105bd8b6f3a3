// Reads a text that grows: only its tail is lexed again. What is given for a prefix equals what the whole prefix reads as.
import type { Links, Token } from 'marked';
import { lex } from './lexer.ts';

export interface Block {
  id: number;
  token: Token;
}

const lineEnds = (text: string) => (text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text);
const blocks = (tokens: Token[]) => tokens.filter((token) => token.type !== 'space' && token.type !== 'def');
const sameLinks = (a: Links, b: Links) => JSON.stringify(a) === JSON.stringify(b);

export const readAll = (text: string): Block[] => blocks(lex(lineEnds(text)).tokens).map((token, id) => ({ id, token }));

export class GrowingMarkdown {
  #text = '';
  // Up to here the text is read for good. It lies behind a blank line and at least two blocks before the end.
  #stable = 0;
  #closed: Block[] = [];
  #closedLinks: Links = {};
  // All definitions when the closed blocks were read: a new one may turn text in them into a link.
  #links: Links = {};

  read(raw: string): Block[] {
    const text = lineEnds(raw);
    if (!text.startsWith(this.#text.slice(0, this.#stable))) this.#restart();
    this.#text = text;
    let { tokens, links } = lex(text.slice(this.#stable), this.#closedLinks);
    if (this.#stable && !sameLinks(links, this.#links)) {
      this.#restart();
      ({ tokens, links } = lex(text));
    }
    this.#links = links;
    const open = this.#close(tokens);
    return [...this.#closed, ...open.map((token, i) => ({ id: this.#closed.length + i, token }))];
  }

  #restart() {
    this.#stable = 0;
    this.#closed = [];
    this.#closedLinks = {};
  }

  // Moves what later text cannot change into the closed blocks; gives the rest.
  #close(tokens: Token[]): Token[] {
    let after = 0;
    let cut = 0;
    for (let i = tokens.length - 1; i > 0 && !cut; i--) {
      if (tokens[i]!.type !== 'space') after++;
      else if (after >= 2) cut = i + 1;
    }
    if (!cut) return blocks(tokens);
    const done = tokens.slice(0, cut);
    const source = done.map((token) => token.raw).join('');
    if (!this.#text.startsWith(source, this.#stable)) return blocks(tokens);
    for (const token of done) {
      if (token.type === 'def') this.#closedLinks[token.tag] ??= { href: token.href, title: token.title };
    }
    this.#closed = [...this.#closed, ...blocks(done).map((token, i) => ({ id: this.#closed.length + i, token }))];
    this.#stable += source.length;
    return blocks(tokens.slice(cut));
  }
}
