// What has to be there before the first paint, or survive the last moment of a page: small texts in the browser's local
// and session storage, which are read and written at once. Where they are refused, nothing is kept.

type Place = 'localStorage' | 'sessionStorage';

export function getLocal(key: string, place: Place = 'localStorage'): string | undefined {
  try {
    return globalThis[place]?.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

// Undefined takes it away. Whether it was done.
export function putLocal(key: string, value: string | undefined, place: Place = 'localStorage'): boolean {
  try {
    if (!globalThis[place]) return false;
    if (value === undefined) globalThis[place].removeItem(key);
    else globalThis[place].setItem(key, value);
    return true;
  } catch {
    return false;
  }
}

// Undefined when it is no JSON.
export function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
