import '../support/browser_globals.js';
import assert from 'node:assert/strict';
import test from 'node:test';
import { collectChat } from '../../src/collect.js';
import type { ChatChunk, ChatDelta } from '../../src/openai_types.js';
import { ChatReplay, seeded } from '../../src/worker/replay.js';

function chunk(delta: ChatDelta, finish: string | null = null, id = 'a'): ChatChunk {
  return { id, object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] };
}

const answer: [ChatDelta, string | null][] = [
  [{ role: 'assistant', content: null }, null],
  [{ reasoning_content: 'Let me ' }, null],
  [{ reasoning_content: 'think.' }, null],
  [{ content: 'Hello' }, null],
  [{ content: ' world' }, null],
  [{ tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }] }, null],
  [{}, 'stop'],
];

async function seen(chunks: (ChatChunk | null)[]): Promise<object> {
  const passed = chunks.filter((each) => each !== null);
  const { choices } = await collectChat((async function* () { yield* passed; })());
  return { ...choices[0], roles: passed.filter((each) => each.choices[0]?.delta.role).length, ids: new Set(passed.map(({ id }) => id)).size };
}

test('an answer cut after any chunk and repeated in other pieces reads as one', async () => {
  const whole = await seen(answer.map(([delta, finish]) => chunk(delta, finish)));
  const letters = answer.flatMap(([delta, finish]): [ChatDelta, string | null][] => {
    const [name, text] = Object.entries(delta).find(([key]) => key.endsWith('content')) ?? [];
    return typeof text === 'string' ? [...text].map((letter) => [{ [name!]: letter }, finish]) : [[delta, finish]];
  });
  for (const again of [answer, letters]) {
    for (let cut = 0; cut < answer.length; ++cut) {
      const replay = new ChatReplay();
      const first = answer.slice(0, cut).map(([delta, finish]) => replay.pass(chunk(delta, finish)));
      replay.repeat();
      const second = again.map(([delta, finish]) => replay.pass(chunk(delta, finish, 'b')));
      const read = await seen([...first, ...second]);
      assert.deepEqual(read, whole, `cut after ${cut}`);
      assert.equal(replay.finished, true);
      assert.equal(replay.diverged, false);
    }
  }
});

test('another text than before is noticed', () => {
  const replay = new ChatReplay();
  replay.pass(chunk({ content: 'Hello wor' }));
  replay.repeat();
  assert.equal(replay.pass(chunk({ content: 'Hello' })), null);
  assert.equal(replay.diverged, false);
  assert.equal(replay.pass(chunk({ content: ' W' })), null);
  assert.equal(replay.diverged, true);
});

test('a request has a seed, its own where it gives one', () => {
  assert.equal(seeded({ seed: 0 }).seed, 0);
  assert.equal(typeof seeded({}).seed, 'number');
});
