import assert from 'node:assert/strict';
import test from 'node:test';
import { collectChat, collectCompletion } from '../../src/collect.js';
import type { ChatChunk, CompletionChunk } from '../../src/openai_types.js';

async function* stream<T>(...chunks: T[]): AsyncGenerator<T> {
  yield* chunks;
}
const ends = (i: number, last: number) => (i === last ? 'stop' : null);

test('the probabilities of all chunks are in the answer as a whole', async () => {
  const pieces = [null, { content: [{ token: 'a' }, { token: 'b' }] }, null, { content: [{ token: 'c' }] }];
  const chat = await collectChat(stream(...pieces.map((logprobs, i) => ({ id: 'x', choices: [{ index: 0, delta: { content: `${i}` }, logprobs, finish_reason: ends(i, 3) }] }) as ChatChunk)));
  assert.deepEqual(chat.choices, [
    { index: 0, message: { role: 'assistant', content: '0123' }, logprobs: { content: [{ token: 'a' }, { token: 'b' }, { token: 'c' }] }, finish_reason: 'stop' },
  ]);
  const lists = [{ tokens: ['a'], token_logprobs: [-1], text_offset: [0] }, null, { tokens: ['b', 'c'], token_logprobs: [-2, -3], text_offset: [1, 2] }];
  const text = await collectCompletion(stream(...lists.map((logprobs, i) => ({ id: 'x', choices: [{ index: 0, text: `${i}`, logprobs, finish_reason: ends(i, 2) }] }) as CompletionChunk)));
  assert.deepEqual(text.choices, [
    { index: 0, text: '012', logprobs: { tokens: ['a', 'b', 'c'], token_logprobs: [-1, -2, -3], text_offset: [0, 1, 2] }, finish_reason: 'stop' },
  ]);
});

test('an answer without probabilities says so', async () => {
  const chat = await collectChat(stream({ id: 'x', choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'stop' }] } as ChatChunk));
  assert.equal(chat.choices[0]!.logprobs, null);
});
