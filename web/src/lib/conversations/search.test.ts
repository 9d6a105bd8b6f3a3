import { describe, expect, it } from 'vitest';
import { find, fold, wordsOf } from './search.ts';

const shown = (text: string, query: string) => {
  const hit = find(text, wordsOf(query));
  return hit && hit.snippet.slice(...hit.at);
};

describe('search', () => {
  it('does not care for case and accents', () => {
    expect(fold('Crème BRÛLÉE İstanbul')).toBe('creme brulee istanbul');
    expect(shown('Eine Straße in ZÜRICH', 'zurich')).toBe('ZÜRICH');
    expect(shown('e\u0301te\u0301 prochain', 'ete')).toBe('e\u0301te\u0301');
    expect(shown('ﬁne wine', 'fine')).toBe('ﬁne');
    expect(shown('πλανήτης ΓΗ', 'γη')).toBe('ΓΗ');
  });

  it('wants every word, and a part in quotes as it stands', () => {
    expect(find('the quick brown fox', wordsOf('fox quick'))).toBeDefined();
    expect(find('the quick brown fox', wordsOf('fox slow'))).toBeUndefined();
    expect(find('the quick brown fox', wordsOf('"brown fox"'))).toBeDefined();
    expect(find('the brown quick fox', wordsOf('"brown fox"'))).toBeUndefined();
    expect(find('anything', wordsOf('  '))).toBeUndefined();
    expect(shown('the quick brown fox', 'fox quick')).toBe('quick');
  });

  it('shows a snippet around the first word, and says where it stands there', () => {
    const text = `${'lead '.repeat(50)}needle${' tail'.repeat(100)}`;
    const hit = find(text, ['needle'])!;
    expect(hit.snippet.slice(...hit.at)).toBe('needle');
    expect(hit.snippet.length).toBeLessThan(200);
    expect(hit.snippet.startsWith('… lead')).toBe(true);
    expect(hit.snippet.endsWith(' …')).toBe(true);
    const lines = find('one\n\ntwo\tneedle', ['needle'])!;
    expect(lines).toEqual({ snippet: 'one  two needle', at: [9, 15] });
  });

  it('cuts no character in two', () => {
    const text = `${'😀'.repeat(60)}needle${'😀'.repeat(100)}`;
    const { snippet, at } = find(text, ['needle'])!;
    expect(snippet.slice(...at)).toBe('needle');
    expect(snippet.isWellFormed()).toBe(true);
  });
});
