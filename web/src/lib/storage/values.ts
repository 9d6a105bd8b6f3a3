// Small values under a name (measured rates, permissions): each of JSON's kinds.
export async function getValue<T>(key: string): Promise<T | undefined> {
  throw new Error(`not yet ${key}`);
}

export async function putValue(key: string, value: unknown): Promise<void> {
  throw new Error(`not yet ${key} ${value}`);
}
