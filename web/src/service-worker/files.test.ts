import { describe, expect, it } from 'vitest';
import { answerTo, cacheName } from './files.ts';

const root = 'https://host/folder/';
const files = { immutable: ['_app/immutable/a.js'], assets: ['/favicon.svg'] };
const answer = (path: string, navigates = false, method = 'GET') =>
  answerTo({ method, url: new URL(path, root).href, navigates }, root, files);

describe('answerTo', () => {
  it.each([
    ['./', true, 'page'],
    ['./?x#/chat/1', true, 'page'],
    ['index.html', true, 'page'],
    ['_app/immutable/a.js', false, 'cache'],
    ['favicon.svg', false, 'file'],
    ['puna/worker.js', false, 'file'],
    ['v1/models', false, 'pass'],
    ['v1/stream?conv_id=a&from=0', false, 'pass'],
    ['props', false, 'pass'],
    ['_app/immutable/unknown.js', false, 'pass'],
    ['/elsewhere/', true, 'pass'],
    ['https://other/folder/favicon.svg', false, 'pass'],
  ])('%s (navigation: %s): %s', (path, navigates, expected) => expect(answer(path, navigates)).toBe(expected));

  it('leaves what changes something alone', () => {
    expect(answer('./', true, 'POST')).toBe('pass');
    expect(answer('puna/x', false, 'DELETE')).toBe('pass');
  });
});

describe('cacheName', () => {
  it('changes with the files, not with their order', () => {
    expect(cacheName(['a', 'b'])).toBe(cacheName(['b', 'a']));
    expect(cacheName(['a', 'b'])).not.toBe(cacheName(['a', 'c']));
  });
});
