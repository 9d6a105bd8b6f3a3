import { describe, expect, it } from 'vitest';
import type { FileRef, Message } from '../../types/conversation.ts';
import { promptOf } from './prompt.ts';

const of = (role: Message['role'], content: string, patch: Partial<Message> = {}): Message => ({
  id: 'x',
  convId: 'c',
  parent: 'p',
  order: 0,
  role,
  content,
  files: [],
  status: 'done',
  timestamp: 0,
  ...patch,
});
const file = (patch: Partial<FileRef>): FileRef => ({
  sha256: 's',
  name: 'f',
  kind: 'text',
  type: 'text/plain',
  bytes: 1,
  ...patch,
});
const png = { type: 'image/png' };
const files: Record<string, Blob> = { s: new Blob(['abc'], png), p1: new Blob(['1'], png), p2: new Blob(['2'], png) };
const prompt = (...branch: Message[]) => promptOf(branch, async (sha256) => files[sha256]);

describe('promptOf', () => {
  it('gives the branch, without answers of which nothing came', async () => {
    expect(
      await prompt(of('system', 'S'), of('user', 'Q'), of('assistant', '', { status: 'failed' }), of('user', 'R')),
    ).toEqual([
      { role: 'system', content: 'S' },
      { role: 'user', content: 'Q' },
      { role: 'user', content: 'R' },
    ]);
  });

  it('keeps the thinking of the answer under way only', async () => {
    const [, before, , now] = await prompt(
      of('user', 'Q'),
      of('assistant', 'A', { thought: 'old' }),
      of('user', 'R'),
      of('assistant', '', { thought: 'new' }),
    );
    expect(before).toEqual({ role: 'assistant', content: 'A' });
    expect(now).toEqual({ role: 'assistant', content: '', reasoning_content: 'new' });
  });

  it('gives calls with their results, and leaves out those that have none', async () => {
    const toolCalls = [{ id: '1', name: 'calculator', arguments: '{}' }];
    const asked = of('assistant', '', { toolCalls });
    expect(await prompt(of('user', 'Q'), asked, of('tool', '42', { toolCallId: '1' }))).toEqual([
      { role: 'user', content: 'Q' },
      { role: 'assistant', content: '', tool_calls: toolCalls },
      { role: 'tool', content: '42', tool_call_id: '1' },
    ]);
    expect(await prompt(of('user', 'Q'), of('assistant', 'A', { toolCalls }), of('user', 'R'))).toEqual([
      { role: 'user', content: 'Q' },
      { role: 'assistant', content: 'A' },
      { role: 'user', content: 'R' },
    ]);
  });

  it('fences the text of files with more backticks than are in it', async () => {
    const text = 'a\n````\nb';
    const [message] = await prompt(
      of('user', 'Q', { files: [file({ name: 'a "b".md', text }), file({ kind: 'pdf', text: 'page' })] }),
    );
    expect(message!.content).toBe(
      `File "a \\"b\\".md":\n\`\`\`\`\`\n${text}\n\`\`\`\`\`\n\nFile "f":\n\`\`\`\npage\n\`\`\`\n\nQ`,
    );
  });

  it('gives images, pages and sounds as parts', async () => {
    const [message] = await prompt(
      of('user', 'Q', {
        files: [
          file({ kind: 'image', type: 'image/png' }),
          file({ kind: 'pdf', type: 'application/pdf', pages: ['p1', 'p2'] }),
          file({ kind: 'audio', type: 'audio/x-wav' }),
        ],
      }),
    );
    expect(message!.content).toEqual([
      { type: 'image_url', image_url: { url: 'data:image/png;base64,YWJj' } },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,MQ==' } },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,Mg==' } },
      { type: 'input_audio', input_audio: { data: 'YWJj', format: 'wav' } },
      { type: 'text', text: 'Q' },
    ]);
  });

  it('says which file is gone', async () => {
    const lost = of('user', 'Q', { files: [file({ kind: 'image', sha256: 'none', name: 'cat.png' })] });
    await expect(prompt(lost)).rejects.toThrow('"cat.png"');
  });
});
