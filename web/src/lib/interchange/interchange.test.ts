import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { randomOf } from '#lib/base/random.ts';
import { sha256OfBlob } from '#lib/base/sha256.ts';
import { newConversation, newMessage, newRoot } from '#lib/conversations/new.ts';
import { pathTo, treeOf } from '#lib/conversations/tree.ts';
import type { Conversation, FileRef, Message } from '#lib/types/conversation.ts';
import { fileName, readFiles, write, type ExportFormat, type Imported } from './index.ts';
import { entriesOf, zipOf } from './zip.ts';

const folder = new URL('../../../test/imports/', import.meta.url);
const fileAt = (path: string) => new File([readFileSync(new URL(path, folder))], 'named-otherwise.xyz');
const noFile = async () => undefined;
const fileOf = (files: ReadonlyMap<string, Blob>) => async (sha256: string) => files.get(sha256);

// A tree: one root, every message hangs on it, and the shown one is there.
function isWhole({ conversation, messages }: Imported): boolean {
  const tree = treeOf(messages);
  return (
    tree.messages.size === messages.length &&
    messages.filter(({ parent }) => parent === null).length === 1 &&
    messages.every(
      ({ id, parent, convId }) => convId === conversation.id && (parent === null || pathTo(tree, id).length > 0),
    ) &&
    tree.messages.has(conversation.currNode)
  );
}

async function bytes(
  files: Map<string, Blob>,
  content: string,
  type: string,
): Promise<{ sha256: string; type: string; bytes: number }> {
  const blob = new Blob([content], { type });
  const sha256 = await sha256OfBlob(blob);
  files.set(sha256, blob);
  return { sha256, type, bytes: blob.size };
}

// A conversation with 50 branches in which everything occurs that messages can have.
async function grove(): Promise<{ conversation: Conversation; messages: Message[]; files: Map<string, Blob> }> {
  const random = randomOf(50);
  const files = new Map<string, Blob>();
  const page = await bytes(files, 'page', 'image/png');
  const refs: FileRef[] = [
    { ...(await bytes(files, 'print(1)\n', 'text/x-python')), name: 'a.py', kind: 'text', text: 'print(1)\n' },
    { ...(await bytes(files, '\x89PNG', 'image/png')), name: 'a.png', kind: 'image' },
    {
      ...(await bytes(files, '%PDF-1.4', 'application/pdf')),
      name: 'a.pdf',
      kind: 'pdf',
      text: 'Read.',
      pages: [page.sha256],
    },
    { ...(await bytes(files, '%PDF-1.5', 'application/pdf')), name: 'b.pdf', kind: 'pdf', text: 'Text alone.' },
    { ...(await bytes(files, 'RIFF', 'audio/wav')), name: 'a.wav', kind: 'audio' },
    { ...(await bytes(files, 'film', 'video/mp4')), name: 'a.mp4', kind: 'video' },
  ];
  const id = 'grove';
  const messages = [{ ...newRoot(id), timestamp: 1 }];
  const leaves = () => messages.filter((one) => !messages.some((other) => other.parent === one.id)).length;
  for (let n = 1; leaves() < 50; ++n) {
    const parent = messages[random(messages.length)]!;
    const role = (['user', 'assistant', 'tool'] as const)[random(3)]!;
    const message = newMessage({
      convId: id,
      parent: parent.id,
      order: n,
      role,
      content: `Message ${n}\n<b>"é"</b>`,
      timestamp: 1000 + random(50),
    });
    if (role === 'user') message.files = refs.filter(() => random(4) === 0);
    if (role === 'tool') message.toolCallId = `call_${n}`;
    if (role === 'assistant') {
      message.model = 'smollm2';
      message.timings = {
        promptTokens: 20,
        cachedTokens: 5,
        promptMs: 1.5,
        answerTokens: n,
        answerMs: 2.25,
        firstTokenMs: 3,
      };
      message.status = (['done', 'stopped', 'cut', 'failed'] as const)[random(4)]!;
      if (message.status === 'failed')
        message.error = { kind: 'context', message: 'Too long.', promptTokens: 9, contextTokens: 4 };
      if (random(2) === 0) Object.assign(message, { thought: `Hm ${n}.`, thoughtMs: 4 });
      if (random(2) === 0) message.toolCalls = [{ id: `call_${n}`, name: 'calculator', arguments: '{"text":"1+1"}' }];
    }
    messages.push(message);
  }
  const conversation = newConversation({
    id,
    name: 'A grove: of “branches” / ✓',
    lastModified: 5,
    currNode: messages.find((one) => one.parent !== null && !messages.some((other) => other.parent === one.id))!.id,
    pinned: true,
    model: 'smollm2',
    runsOn: 'tab',
    preset: 'p',
    settings: { temperature: 0.5, enable_thinking: true, stop: ['x'], custom: { n: 1 }, page_tools: ['calculator'] },
    forkedFrom: { convId: 'other', messageId: 'm' },
  });
  return { conversation, messages, files };
}

describe('a tree of 50 branches', () => {
  for (const format of ['llama', 'llama-zip', 'llama-json'] satisfies ExportFormat[]) {
    it(`is equal after it went out and in as ${format}`, async () => {
      const { conversation, messages, files } = await grove();
      expect(messages.some((message) => message.files.some(({ kind }) => kind === 'video'))).toBe(true);
      const blob = await write([{ conversation, messages }], format, fileOf(files));
      const read = await readFiles([new File([blob], 'x')]);
      expect(read.problems).toEqual([]);
      expect(read.conversations).toHaveLength(1);
      const [back] = read.conversations;
      expect(back!.conversation).toEqual(conversation);
      expect(back!.messages).toEqual(messages);
      const used = new Set(
        messages.flatMap((message) => message.files.flatMap(({ sha256, pages = [] }) => [sha256, ...pages])),
      );
      expect(new Set(back!.files.keys())).toEqual(used);
      for (const [sha256, file] of back!.files) expect(await sha256OfBlob(file)).toBe(sha256);
    });
  }

  it('comes with others in one file', async () => {
    const { conversation, messages, files } = await grove();
    const other = {
      conversation: { ...conversation, id: 'other' },
      messages: messages.map((message) => ({ ...message, convId: 'other' })),
    };
    for (const format of ['llama', 'llama-zip', 'llama-json'] satisfies ExportFormat[]) {
      const { conversations } = await readFiles([
        new File([await write([{ conversation, messages }, other], format, fileOf(files))], 'x'),
      ]);
      expect(conversations.map((each) => each.conversation.id)).toEqual(['grove', 'other']);
    }
  });

  it('goes out without the bytes that were lost, and keeps their names', async () => {
    const { conversation, messages } = await grove();
    const { conversations } = await readFiles([
      new File([await write([{ conversation, messages }], 'llama', noFile)], 'x'),
    ]);
    const names = (all: readonly Message[]) =>
      all.map((message) => message.files.map(({ name, sha256 }) => [name, sha256]));
    expect(names(conversations[0]!.messages)).toEqual(names(messages));
  });

  it('has no key and no stream in it', async () => {
    const { conversation, messages, files } = await grove();
    const last = messages.at(-1)!;
    const writing: Message = { ...last, status: 'writing', streamId: 'secret-stream', offset: 3 };
    const blob = await write([{ conversation, messages: [...messages.slice(0, -1), writing] }], 'llama', fileOf(files));
    expect(await blob.text()).not.toContain('secret-stream');
    const { conversations } = await readFiles([new File([blob], 'x')]);
    expect(conversations[0]!.messages.at(-1)).toEqual({ ...last, status: 'cut' });
  });
});

// What there is beside what is ours.
function theirs(record: unknown): unknown {
  if (Array.isArray(record)) return record.map(theirs);
  if (typeof record !== 'object' || record === null) return record;
  return Object.fromEntries(
    Object.entries(record).flatMap(([key, value]) => (key === 'puna' ? [] : [[key, theirs(value)]])),
  );
}

describe('an export of llama-server', () => {
  const lines = readFileSync(new URL('llama.jsonl', folder), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

  it('is read: branches, files, calls, times', async () => {
    const { conversations, problems } = await readFiles([fileAt('llama.jsonl')]);
    expect(problems).toEqual([]);
    const { conversation, messages, files } = conversations[0]!;
    const tree = treeOf(messages);
    expect(conversation).toMatchObject({
      name: 'Grass <b>and</b> stone',
      currNode: 'm-result',
      settings: { enable_thinking: true },
    });
    expect(tree.children.get('m-question')).toEqual(['m-answer-2', 'm-answer-1']);
    expect(pathTo(tree, conversation.currNode).map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
    ]);
    const { files: refs } = tree.messages.get('m-question')!;
    expect(refs.map(({ kind, name, type }) => [kind, name, type])).toEqual([
      ['text', 'notes.txt', 'text/plain'],
      ['image', 'dot.png', 'image/png'],
      ['audio', 'beep.wav', 'audio/wav'],
      ['pdf', 'paper.pdf', 'application/pdf'],
      ['text', 'pasted', 'text/plain'],
    ]);
    expect(refs[3]!.pages).toHaveLength(1);
    expect(files.size).toBe(6);
    expect(await files.get(refs[0]!.sha256)!.text()).toBe('ichu\nyareta');
    expect(tree.messages.get('m-answer-1')).toMatchObject({
      thought: 'Two plants.',
      timings: { promptTokens: 12, cachedTokens: 2, promptMs: 20.5, answerTokens: 3, answerMs: 30.25 },
    });
    expect(tree.messages.get('m-answer-2')!.toolCalls).toEqual([
      { id: 'call_1', name: 'calculator', arguments: '{"text":"2*3"}' },
    ]);
  });

  it('comes back with every key and record that is not ours', async () => {
    const { conversations } = await readFiles([fileAt('llama.jsonl')]);
    const blob = await write(conversations, 'llama', fileOf(conversations[0]!.files));
    const back = (await blob.text())
      .trim()
      .split('\n')
      .map((line) => theirs(JSON.parse(line)) as Record<string, unknown>);
    // Siblings may stand in another order than before; what order they are in, `children` says.
    const inOrder = (all: Record<string, unknown>[]) => [...all].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    const keyOf = (line: Record<string, unknown>) => (line.message as { id: string } | undefined)?.id ?? '';
    expect(back[0]).toEqual({ ...lines[0], currNode: 'm-result' });
    expect(inOrder(back.slice(1))).toEqual(inOrder(lines.slice(1)));
  });

  it('of the older form is the same', async () => {
    const [jsonl, json] = [await readFiles([fileAt('llama.jsonl')]), await readFiles([fileAt('llama.json')])];
    expect(json.problems).toEqual([]);
    const { records: _, ...conversation } = jsonl.conversations[0]!.conversation;
    expect(json.conversations[0]!.conversation).toEqual(conversation);
    expect(json.conversations[0]!.messages).toEqual(jsonl.conversations[0]!.messages);
  });

  it('without its root hangs together all the same', async () => {
    const text = lines
      .filter((line) => (line.message as { type?: string } | undefined)?.type !== 'root')
      .map((line) => JSON.stringify(line))
      .join('\r\n');
    const { conversations, problems } = await readFiles([new File(['\ufeff', text], 'x')]);
    expect(problems).toEqual([]);
    expect(conversations[0]!.messages.find(({ parent }) => parent === null)!.id).toBe('m-root');
  });

  it('is read in UTF-16 too', async () => {
    const text = readFileSync(new URL('llama.json', folder), 'utf8');
    const { conversations } = await readFiles([
      new File([new Uint8Array([0xff, 0xfe]), Buffer.from(text, 'utf16le')], 'x'),
    ]);
    expect(conversations[0]!.messages).toHaveLength(6);
  });
});

describe("other programs' exports", () => {
  it('of ChatGPT are read: hidden nodes are passed over, thinking goes with its answer', async () => {
    const { conversations, problems } = await readFiles([fileAt('chatgpt.json')]);
    const { conversation, messages } = conversations[0]!;
    expect(conversation).toMatchObject({
      id: 'gpt-1',
      name: 'High grass',
      currNode: 'end',
      lastModified: 1763999998250,
    });
    const tree = treeOf(messages);
    expect(
      pathTo(tree, 'end').map(({ role, content, thought, toolCalls, toolCallId }) => [
        role,
        content,
        thought ?? toolCalls ?? toolCallId,
      ]),
    ).toEqual([
      ['user', 'What grows here?', undefined],
      ['assistant', 'Ichu grass.', 'It is high up.\n\nSo grass.'],
      ['assistant', '', [{ id: 'call', name: 'python', arguments: 'print(6)' }]],
      ['tool', '6', 'call'],
      ['assistant', 'It is 6.', undefined],
    ]);
    expect(tree.messages.get('a')).toMatchObject({ model: 'gpt-5', thoughtMs: 3000 });
    expect(tree.children.get('q')).toHaveLength(2);
    expect(problems.map(({ why }) => why)).toEqual([
      'In “High grass”: The file “hill.png” is not in the export.',
      'In “High grass”: The file “lost.docx” is not in the export.',
    ]);
  });

  it('of ChatGPT with its images, as an archive', async () => {
    async function* parts(): AsyncGenerator<[string, string]> {
      yield ['user.json', '{"id":"me"}'];
      yield ['conversations-000.json', readFileSync(new URL('chatgpt.json', folder), 'utf8')];
      yield ['images/file-ABC-hill.png', 'GIF89a, whatever its name'];
    }
    const { conversations, problems } = await readFiles([new File([await zipOf(parts())], 'x')]);
    const question = conversations[0]!.messages.find(({ id }) => id === 'q')!;
    expect(question.files).toMatchObject([{ name: 'hill.png', kind: 'image', type: 'image/gif' }]);
    expect(problems).toHaveLength(1);
  });

  it('of Open WebUI are read', async () => {
    const { conversations, problems } = await readFiles([fileAt('open-webui.json')]);
    const [first, second] = conversations;
    expect(first!.conversation).toMatchObject({
      id: 'ow-1',
      name: 'Why',
      currNode: 'a1',
      pinned: true,
      model: 'qwen3',
    });
    const tree = treeOf(first!.messages);
    expect(pathTo(tree, 'a1').map(({ role, content }) => [role, content])).toEqual([
      ['system', 'Be kind.'],
      ['user', 'Why?'],
      ['assistant', 'Because.'],
    ]);
    expect(tree.children.get('q')).toEqual(['a2', 'a1']);
    expect(tree.messages.get('a1')).toMatchObject({ thought: 'One.\nTwo.', thoughtMs: 4000, model: 'qwen3' });
    expect(tree.messages.get('a2')).toMatchObject({ status: 'failed', error: { message: 'It stopped.' } });
    expect(tree.messages.get('q')!.files.map(({ name, kind }) => [name, kind])).toEqual([
      ['', 'image'],
      ['n.md', 'text'],
    ]);
    expect(pathTo(treeOf(second!.messages), second!.conversation.currNode).map(({ content }) => content)).toEqual([
      'One',
      'Two',
    ]);
    expect(problems.map(({ why }) => why)).toEqual(['In “Why”: The file “far.pdf” is not in the export.']);
  });
});

// Conversations and messages (roots included) that are to be read of each, and what is to be said.
const bad: Record<string, [conversations: number, messages: number, said: RegExp]> = {
  'bad-files.jsonl': [1, 2, /“far\.png” has no bytes/],
  'binary.bin': [0, 0, /no JSON can be read/],
  'broken-lines.jsonl': [1, 3, /Lines 3, 5: no JSON/],
  'chatgpt-circle.json': [1, 4, /in a circle|missing/],
  'circle.jsonl': [1, 5, /2 messages follow themselves in a circle/],
  'deep.jsonl': [1, 2, /“odd” lies within each other/],
  'doubles.jsonl': [1, 4, /id of another/],
  'empty.json': [0, 0, /is empty/],
  'first-line-broken.jsonl': [1, 6, /Line 1: no JSON/],
  'liar.zip': [0, 0, /damaged/],
  'missing-parents.jsonl': [1, 4, /2 messages follow ones that are missing/],
  'mixed.zip': [1, 6, /encrypted|damaged|method 12/],
  'no-end.zip': [0, 0, /damaged or not whole/],
  'no-messages.jsonl': [0, 0, /has no messages/],
  'no-session.jsonl': [1, 6, /^$/],
  'null.json': [0, 0, /no conversation/],
  'number.json': [0, 0, /no conversation/],
  'open-webui-odd.json': [1, 3, /circle/],
  'other.json': [0, 0, /no conversation/],
  'page.html': [0, 0, /no JSON can be read/],
  'spaces.json': [0, 0, /no JSON can be read/],
  'strings.json': [0, 0, /2 of 2 entries/],
  'text.json': [0, 0, /no JSON can be read/],
  'truncated-chatgpt.json': [1, 0, /damaged or not whole/],
  'truncated.jsonl': [1, 0, /no JSON/],
  'types.jsonl': [1, 2, /“top_p”/],
};

describe('bad files', () => {
  it('are all of them known', () => {
    expect(readdirSync(new URL('bad', folder)).sort()).toEqual(Object.keys(bad).sort());
  });

  for (const [name, [conversations, messages, said]] of Object.entries(bad)) {
    it(`${name}: what is wrong is said, the rest is taken`, async () => {
      const read = await readFiles([fileAt(`bad/${name}`)]);
      expect(read.conversations.every(isWhole)).toBe(true);
      expect(read.conversations).toHaveLength(conversations);
      const count = read.conversations.reduce((sum, each) => sum + each.messages.length, 0);
      if (messages > 0) expect(count).toBe(messages);
      expect(read.problems.map(({ why }) => why).join('\n')).toMatch(said);
      expect(read.problems.every(({ file }) => file.startsWith('named-otherwise.xyz'))).toBe(true);
      // What is taken can be given out, and taken again without a complaint.
      const [one] = read.conversations;
      if (!one) return;
      const again = await readFiles([new File([await write(read.conversations, 'llama', fileOf(one.files))], 'x')]);
      expect(again.problems.filter(({ why }) => !/no bytes that can be read/.test(why))).toEqual([]);
      expect(again.conversations.map((each) => each.messages)).toEqual(read.conversations.map((each) => each.messages));
    });
  }

  it('cut anywhere give whole trees or a reason', async () => {
    for (const name of ['llama.jsonl', 'llama.json', 'chatgpt.json', 'open-webui.json', 'bad/mixed.zip']) {
      const whole = readFileSync(new URL(name, folder));
      for (let at = 1; at < whole.length - 1; at += 61) {
        const { conversations, problems } = await readFiles([new File([whole.subarray(0, at)], 'cut')]);
        expect([name, at, conversations.every(isWhole), conversations.length + problems.length > 0]).toEqual([
          name,
          at,
          true,
          true,
        ]);
      }
    }
  });

  it('with a byte changed anywhere do no harm', async () => {
    const random = randomOf(7);
    for (const name of ['llama.jsonl', 'chatgpt.json', 'open-webui.json', 'bad/mixed.zip']) {
      const whole = readFileSync(new URL(name, folder));
      for (let i = 0; i < 60; ++i) {
        const changed = Uint8Array.from(whole);
        changed[random(changed.length)] = random(256);
        const { conversations, problems } = await readFiles([new File([changed], 'changed')]);
        expect(conversations.every(isWhole)).toBe(true);
        expect(conversations.length + problems.length).toBeGreaterThan(0);
      }
    }
  });

  it('do not keep the good ones beside them from being read', async () => {
    const files = [fileAt('bad/text.json'), fileAt('llama.jsonl'), fileAt('bad/no-end.zip')];
    const { conversations, problems } = await readFiles(files);
    expect(conversations).toHaveLength(1);
    expect(problems).toHaveLength(2);
  });

  it('leave no mark on objects of the page', async () => {
    await readFiles([fileAt('bad/types.jsonl')]);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it('that grow when they are unpacked are stopped', async () => {
    async function* parts(): AsyncGenerator<[string, string]> {
      yield ['bomb.jsonl', '0'.repeat(5_000_000)];
    }
    const archive = await zipOf(parts());
    expect(archive.size).toBeLessThan(50_000);
    const [entry] = await entriesOf(archive);
    await expect(entry!.read(1 << 20)).rejects.toThrow('larger than can be read (1 MB)');
    expect((await entry!.read(1 << 24)).size).toBe(5_000_000);
  });
});

describe('Markdown', () => {
  it('has the branch that is shown, with fences that hold', async () => {
    const root = newRoot('c');
    const text = 'a ```` b';
    const question = newMessage({
      convId: 'c',
      parent: root.id,
      order: 1,
      role: 'user',
      content: 'Why?',
      files: [{ sha256: '', name: 'a\nb.md', kind: 'text', type: 'text/plain', bytes: 8, text }],
    });
    const answer = newMessage({
      convId: 'c',
      parent: question.id,
      order: 2,
      role: 'assistant',
      content: 'So.',
      thought: 'Hm.',
      model: 'smollm2',
    });
    const other = newMessage({ convId: 'c', parent: question.id, order: 3, role: 'assistant', content: 'Not shown.' });
    const conversation = newConversation({ id: 'c', name: 'Why\nso', currNode: answer.id });
    const blob = await write([{ conversation, messages: [root, question, answer, other] }], 'markdown', noFile);
    expect(await blob.text()).toBe(
      '# Why so\n\n## You\n\nFile: a b.md\n\n`````\na ```` b\n`````\n\nWhy?\n\n' +
        '## smollm2\n\n<details>\n<summary>Thinking</summary>\n\nHm.\n\n</details>\n\nSo.\n',
    );
  });

  it('and the others go into files whose names are safe', () => {
    const at = (name: string) =>
      fileName([{ conversation: newConversation({ name, currNode: '' }), messages: [] }], 'llama', new Date(0));
    expect(at('../../etc/passwd')).toBe('etc-passwd_1970-01-01.jsonl');
    expect(at('¿Qué es una puna?')).toBe('Qué-es-una-puna_1970-01-01.jsonl');
    expect(at('')).toBe('conversation_1970-01-01.jsonl');
    expect(fileName([], 'llama-zip', new Date(0))).toBe('conversations_1970-01-01.zip');
  });
});
