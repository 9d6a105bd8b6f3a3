const template = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n";

// A GGUF file with a template for chats, which those of the tests have not: one more pair behind the header, of a length that leaves the
// tensors where their alignment wants them.
/** @param {Buffer} file */
export function withTemplate(file) {
  const header = 24;
  const text = (/** @type {string} */ value) => {
    const bytes = Buffer.from(value);
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(bytes.length));
    return Buffer.concat([length, bytes]);
  };
  const type = Buffer.from([8, 0, 0, 0]);
  const pair = (/** @type {string} */ padding) => Buffer.concat([text('tokenizer.chat_template'), type, text(`{#${padding}#}${template}`)]);
  const short = pair('').length % 32;
  const head = Buffer.from(file.subarray(0, header));
  head.writeBigUInt64LE(head.readBigUInt64LE(16) + 1n, 16);
  return Buffer.concat([head, pair(' '.repeat((32 - short) % 32)), file.subarray(header)]);
}
