// JSON from outside, of which nothing is known yet.

export type Dict = Record<string, unknown>;

export function isDict(value: unknown): value is Dict {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
export const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;
export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
export const dictOf = (value: unknown): Dict => (isDict(value) ? value : {});

// The members but these; undefined when none is left. A member "__proto__" stays a member.
export function restOf(dict: Dict, known: Iterable<string>): Dict | undefined {
  const left = new Set(known);
  const entries = Object.entries(dict).filter(([key, value]) => !left.has(key) && value !== undefined);
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}

// Without members that are undefined, so that optional fields are there or not.
export function compact<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as never;
}

// Whether values lie within each other deeper than this. What is deeper overflows the stack of those that copy it.
export function deeperThan(value: unknown, levels: number): boolean {
  let layer: unknown[] = [value];
  for (let level = 0; layer.length > 0; ++level) {
    if (level > levels) return true;
    layer = layer.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
  }
  return false;
}

// As JSON: members may stand in any order.
export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((each, i) => equal(each, b[i]));
  if (!isDict(a) || !isDict(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key]));
}
