// The name of a conversation that got none: the first line of what was asked first.
const longest = 80;

export function titleOf(text: string): string {
  const line = text.split(/\r?\n/).find((each) => /[\p{L}\p{N}]/u.test(each)) ?? text;
  const plain = line
    .replace(/^[\s#>*`-]+/, '')
    .replace(/\s+/g, ' ')
    .trim();
  const characters = [...plain];
  if (characters.length <= longest) return plain;
  const cut = characters.slice(0, longest - 1).join('');
  const space = cut.lastIndexOf(' ');
  return `${space > longest / 2 ? cut.slice(0, space) : cut}…`;
}
