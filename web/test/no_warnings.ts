// Svelte's warnings of what runs are faults of a test's components.
import { afterEach, expect, vi } from 'vitest';

const warned = vi.spyOn(console, 'warn');
afterEach(() => {
  const told = warned.mock.calls.map(String);
  warned.mockClear();
  expect(told).toEqual([]);
});
