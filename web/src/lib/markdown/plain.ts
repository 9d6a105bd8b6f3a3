// Markdown without its marks, for copying as text, for names and for what screen readers are told.
import type { Token, Tokens } from 'marked';
import { lex } from './lexer.ts';

const inline = (tokens: Token[] | undefined): string => (tokens ?? []).map(text).join('');

function text(token: Token): string {
  if (token.type === 'br') return '\n';
  if (token.type === 'codespan' || token.type === 'escape' || token.type === 'inlineMath') return (token as Tokens.Text).text;
  if (token.type === 'image') return (token as Tokens.Image).text || (token as Tokens.Image).href;
  if ('tokens' in token && token.tokens) return inline(token.tokens);
  return (token as Tokens.Text).text ?? token.raw;
}

function block(token: Token, indent = ''): string {
  switch (token.type) {
    case 'space':
    case 'def':
      return '';
    case 'hr':
      return '---';
    case 'code':
    case 'math':
      return (token as Tokens.Code).text;
    case 'blockquote':
      return (token as Tokens.Blockquote).tokens.map((child) => block(child, indent)).filter(Boolean).join('\n');
    case 'list': {
      const list = token as Tokens.List;
      return list.items
        .map((item, i) => {
          const mark = list.ordered ? `${Number(list.start || 1) + i}. ` : '- ';
          return indent + mark + item.tokens.map((child) => block(child, indent + '  ')).filter(Boolean).join('\n');
        })
        .join('\n');
    }
    case 'table': {
      const table = token as Tokens.Table;
      return [table.header, ...table.rows].map((row) => row.map((cell) => inline(cell.tokens)).join('\t')).join('\n');
    }
    default:
      return text(token);
  }
}

export const plainText = (markdown: string) => lex(markdown).tokens.map((token) => block(token)).filter(Boolean).join('\n\n');
