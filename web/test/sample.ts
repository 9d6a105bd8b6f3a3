// Chats for pictures and tests of the page, as a file of llama-server's: many days, a table, code, formulas, versions.
const answer = `**16,384 tokens** at f16. Every token stores one key and one value vector per layer, for each KV head:

$$
2 \\times n_{\\text{layers}} \\times n_{\\text{kv}} \\times d_{\\text{head}} \\times \\text{bytes} = 2 \\times 32 \\times 8 \\times 128 \\times 2 = 128\\,\\text{KiB}
$$

A smaller cache type stretches the same 2 GiB further:

| Cache type | Bits | Per token | Tokens in 2 GiB |
|---|---|---|---|
| \`f16\` | 16 | 128 KiB | 16,384 |
| \`q8_0\` | 8.5 | 68 KiB | 30,840 |
| \`q4_0\` | 4.5 | 36 KiB | 58,254 |

To try other shapes:

\`\`\`python
def tokens(budget, layers=32, kv_heads=8, head_dim=128, bits=16):
    per_token = 2 * layers * kv_heads * head_dim * bits / 8
    return int(budget // per_token)

tokens(2 * 2**30)            # 16384
tokens(2 * 2**30, bits=8.5)  # 30840
\`\`\`

Weights come on top: about 4.9 GB for \`Q4_K_M\`, see the [memory notes](https://docs.example/memory).`;

export interface Line {
  role: 'user' | 'assistant';
  content: string;
  thought?: string;
}

export function session(name: string, time: number, model: string, lines: Line[]) {
  const convId = `sample-${name.replace(/\W+/g, '-').toLowerCase()}`;
  const root = `${convId}-root`;
  const ids = lines.map((_, i) => `${convId}-${i}`);
  const head = { harness: 'llama.app', type: 'session', id: convId, name, lastModified: time, currNode: ids.at(-1) ?? root };
  const messages = [
    { id: root, convId, type: 'root', timestamp: time, role: 'system', content: '', parent: null, children: ids.slice(0, 1) },
    ...lines.map((line, i) => ({
      id: ids[i],
      convId,
      type: 'text',
      timestamp: time + i,
      role: line.role,
      content: line.content,
      parent: ids[i - 1] ?? root,
      children: ids.slice(i + 1, i + 2),
      ...(line.thought ? { reasoningContent: line.thought } : {}),
      ...(line.role === 'assistant' ? { model, timings: { prompt_n: 41, prompt_ms: 180, predicted_n: 338, predicted_ms: 1594, cache_n: 0 } } : {}),
    })),
  ];
  return [head, ...messages.map((message) => ({ type: 'message', message }))].map((line) => JSON.stringify(line)).join('\n');
}

const day = 86_400_000;
export function sample(model: string, now = Date.now()): string {
  const short = (name: string, days: number) =>
    session(name, now - days * day - 60_000, model, [
      { role: 'user', content: `${name}?` },
      { role: 'assistant', content: 'Here is a short answer.' },
    ]);
  return [
    session('KV cache for an 8B model', now, model, [
      { role: 'user', content: 'How many tokens fit in 2 GiB of KV cache for this model?' },
      { role: 'assistant', content: answer, thought: 'The user asks for the size of a key-value cache. Per token and layer there are two vectors.' },
      { role: 'user', content: 'And if half the layers use a sliding window of 1,024?' },
      {
        role: 'assistant',
        content:
          'Those 16 layers stop growing at 1,024 tokens, so they take a fixed **64 MiB**. The other 16 have the remaining 1,984 MiB at 64 KiB per token: **31,744 tokens**.',
      },
    ]),
    short('Rename photos by EXIF date', 0.001),
    short('Quechua loanwords in Spanish', 0.002),
    short('Letter to the housing office', 1),
    short('Why does rsync skip files', 1),
    short('Potato varieties above 3,800 m', 1),
    short('SQL window functions', 3),
    short('Recipe: quinoa soup', 4),
    short('Unit tests for a date parser', 5),
  ].join('\n');
}

export const streamed = answer.slice(0, answer.indexOf('To try') + 10);
