import { expect, it } from 'vitest';
import type { ChatMessage } from '../types/engine.ts';
import type { FileRef } from '../types/conversation.ts';
import { Costs } from './costs.svelte.ts';

const file = (patch: Partial<FileRef>): FileRef => ({ sha256: 's', name: 'f', kind: 'image', type: 'image/png', bytes: 1, ...patch });
const choice = { model: 'm', runsOn: 'server' as const };

it('counts each file once, beside a word', async () => {
  const asked: ChatMessage[][] = [];
  const costs = new Costs(
    async (_, messages) => {
      asked.push(messages);
      const [{ content }] = messages as [ChatMessage];
      return typeof content === 'string' ? 11 : 11 + 256 * content.filter(({ type }) => type === 'image_url').length;
    },
    async () => new Blob(['abc'], { type: 'image/png' }),
  );
  const files = [file({}), file({ sha256: 't', kind: 'pdf', pages: ['1', '2'] })];
  expect(costs.sum(choice, files)).toBeUndefined();
  await costs.ask(choice, files);
  await costs.ask(choice, files);
  expect(files.map((each) => costs.of(choice, each))).toEqual([256, 512]);
  expect(costs.sum(choice, files)).toBe(768);
  expect(asked.length).toBe(4);
  // The same PDF as text is another matter.
  expect(costs.of(choice, file({ sha256: 't', kind: 'pdf' }))).toBeUndefined();
});

it('does not know what the engine does not tell', async () => {
  let answer: number | undefined;
  const costs = new Costs(async () => answer, async () => new Blob(['abc']));
  await costs.ask(choice, [file({})]);
  expect(costs.of(choice, file({}))).toBeUndefined();
  const broken = new Costs(async () => 1, async () => undefined);
  await broken.ask(choice, [file({})]);
  expect(broken.sum(choice, [file({})])).toBeUndefined();
  // It is asked again.
  answer = 5;
  await costs.ask(choice, [file({})]);
  expect(costs.of(choice, file({}))).toBe(0);
});
