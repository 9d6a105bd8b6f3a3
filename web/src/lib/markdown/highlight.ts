// Colours of code. Loaded when the first code block with a language is shown.
import { common, createLowlight } from 'lowlight';

const lowlight = createLowlight(common);

export interface Span {
  text: string;
  class: string;
}

interface Node {
  type: string;
  value?: string;
  children?: Node[];
  properties?: { className?: string[] };
}

export const knows = (language: string) => lowlight.registered(language.toLowerCase());

export function highlight(code: string, language: string): Span[] {
  if (!knows(language)) return [{ text: code, class: '' }];
  const spans: Span[] = [];
  const walk = (nodes: Node[], name: string) => {
    for (const node of nodes) {
      if (node.type === 'text') spans.push({ text: node.value ?? '', class: name });
      else walk(node.children ?? [], (node.properties?.className ?? []).join(' ') || name);
    }
  };
  walk(lowlight.highlight(language.toLowerCase(), code).children as unknown as Node[], '');
  return spans;
}
