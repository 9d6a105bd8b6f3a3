// A conversation's first name: the first words of its first question.

const MAX_CHARACTERS = 60;

export function titleOf(question: string): string {
  const line = question
    .split('\n')
    // Marks of Markdown at a line's beginning are no words.
    .map((each) => each.replace(/^[\s#>*+-]+/, '').replace(/\s+/g, ' ').trim())
    .find((each) => /[\p{L}\p{N}]/u.test(each));
  if (!line) return '';
  const characters = [...line];
  if (characters.length <= MAX_CHARACTERS) return line;
  const cut = characters.slice(0, MAX_CHARACTERS).join('');
  const space = cut.lastIndexOf(' ');
  return `${(space > MAX_CHARACTERS / 2 ? cut.slice(0, space) : cut).trimEnd()}…`;
}
