// What code for workers expects of its surroundings, where Node has it not; imported first.
const scope = globalThis as unknown as Record<string, unknown>;
scope.self ??= globalThis;
if (!('location' in globalThis)) scope.location = { origin: 'http://127.0.0.1', href: 'http://127.0.0.1/' };
if (!('navigator' in globalThis)) scope.navigator = {};
const here = scope.navigator as Record<string, unknown>;
for (const [name, value] of Object.entries({ onLine: true })) {
  if (!(name in here)) Object.defineProperty(here, name, { value });
}
