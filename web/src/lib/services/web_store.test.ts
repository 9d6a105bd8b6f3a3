import { describe, expect, it } from 'vitest';
import { HttpWebStore } from './web_store.ts';

interface Asked {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: unknown;
}

function server(reply: () => Response | Promise<Response>, key?: string) {
  const asked: Asked[] = [];
  const store = new HttpWebStore({
    base: './',
    key: () => key,
    fetch: (url, init) => {
      const { method = 'GET', headers, body } = init!;
      asked.push({ url: url as string, method, headers: headers as Record<string, string>, body });
      return Promise.resolve().then(reply);
    },
  });
  return { asked, store };
}
const json =
  (value: unknown, status = 200) =>
  () =>
    new Response(JSON.stringify(value), { status });
const error = (code: number, type: string) => json({ error: { code, message: `Said ${code}.`, type } }, code);

describe('a server that keeps conversations', () => {
  it('gives rows, those that are gone too', async () => {
    const changes = [
      { table: 'messages', id: 'm', value: { content: 'x' }, times: { content: 3, thought: 4 } },
      { table: 'presets', id: 'p', removed: 5 },
    ];
    const { asked, store } = server(json({ store: '0123456789abcdef', revision: 7, more: true, changes }), 'secret');
    expect(await store.rows(4)).toEqual({ store: '0123456789abcdef', revision: 7, more: true, changes });
    expect(asked).toMatchObject([
      { url: './web-store?after=4', method: 'GET', headers: { Authorization: 'Bearer secret' } },
    ]);
  });

  it('takes changes as JSON and files as forms', async () => {
    const { asked, store } = server(json({ store: 's', revision: 1 }));
    await store.change([{ table: 'messages', id: 'm', time: 1, removed: true }]);
    await store.keepFile(new Blob(['bytes']));
    expect(asked[0]).toMatchObject({
      url: './web-store',
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
    });
    expect(JSON.parse(asked[0]!.body as string)).toEqual({
      changes: [{ table: 'messages', id: 'm', time: 1, removed: true }],
    });
    expect(asked[1]).toMatchObject({ url: './web-store/files', method: 'POST' });
    // The browser says the type, with the boundary.
    expect(asked[1]!.headers).not.toHaveProperty('Content-Type');
    expect(await ((asked[1]!.body as FormData).get('file') as File).text()).toBe('bytes');
  });

  it('has files or not', async () => {
    const there = server(() => new Response('bytes'));
    expect(await there.store.hasFile('ab')).toBe(true);
    expect(await (await there.store.file('ab'))!.text()).toBe('bytes');
    expect(there.asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'HEAD ./web-store/files/ab',
      'GET ./web-store/files/ab',
    ]);
    const gone = server(() => new Response(null, { status: 404 }));
    expect([await gone.store.hasFile('ab'), await gone.store.file('ab')]).toEqual([false, undefined]);
  });
});

describe('a server that does not', () => {
  it.each([
    ['off', error(501, 'not_supported_error')],
    ['key', error(401, 'authentication_error')],
    ['large', error(413, 'invalid_request_error')],
    ['refused', error(400, 'invalid_request_error')],
    ['failed', error(500, 'server_error')],
    ['away', error(503, 'unavailable_error')],
    ['none', error(404, 'not_found_error')],
  ] as const)('says so (%s)', async (trouble, reply) => {
    const { store } = server(reply);
    const message = expect.stringMatching(/^Said \d+\.$/);
    await expect(store.rows(0)).rejects.toMatchObject({ trouble, message });
    await expect(store.change([])).rejects.toMatchObject({ trouble, message });
    await expect(store.keepFile(new Blob(['x']))).rejects.toMatchObject({ trouble, message });
  });

  it.each([
    ['a page', () => new Response('<!doctype html>')],
    ['other JSON', json({ object: 'list' })],
    ['a list', json([])],
  ])('is told from one that does: %s', async (_, reply) => {
    await expect(server(reply).store.rows(0)).rejects.toMatchObject({ trouble: 'none' });
  });

  it('may be away, or go away in the middle', async () => {
    const away = server(() => {
      throw new TypeError('fetch failed');
    });
    await expect(away.store.rows(0)).rejects.toMatchObject({ trouble: 'away' });
    const body = () => new ReadableStream({ start: (stream) => stream.error(new TypeError('cut')) });
    const cut = server(() => new Response(body()));
    await expect(cut.store.rows(0)).rejects.toMatchObject({ trouble: 'away' });
    await expect(cut.store.file('ab')).rejects.toMatchObject({ trouble: 'away' });
  });

  it.each([[[{ table: 'messages' }]], [['x']], [[{ table: 'messages', id: 'm', value: {} }]]])(
    'gives rows that are none: %j',
    async (changes) => {
      await expect(server(json({ store: 's', revision: 1, more: false, changes })).store.rows(0)).rejects.toMatchObject(
        { trouble: 'failed' },
      );
    },
  );
});
