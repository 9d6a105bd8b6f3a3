// Where the focus goes when what had it has gone: whoever uses the page by keyboard goes on from there.
import { goto } from '$app/navigation';

const frame = () => new Promise<void>((done) => requestAnimationFrame(() => done()));

// What is found may not stand in the page yet: a part of it is loaded, another screen is opened.
export async function focusOn(find: () => HTMLElement | null | undefined) {
  for (let frames = 0; frames < 120; frames++) {
    const found = find();
    if (found) return found.focus();
    await frame();
  }
}

const prompt = () => document.getElementById('prompt');
export const focusPrompt = () => focusOn(prompt);

// To another address, where one writes on. On a phone the keyboard would cover what was opened.
export async function goAndWrite(address: string) {
  await goto(address, { reset: false });
  if (!matchMedia('(pointer: coarse)').matches) await focusPrompt();
}

const messageOf = (id: string) => document.querySelector<HTMLElement>(`[data-message="${CSS.escape(id)}"]`);
export const focusMessage = (id: string) => focusOn(() => messageOf(id));
// The first of these buttons of a message that can be pressed, by their labels.
export const focusButton = (id: string, ...labels: string[]) =>
  focusOn(() => {
    const buttons = labels.map((label) => messageOf(id)?.querySelector<HTMLElement>(`button[aria-label="${CSS.escape(label)}"]:enabled`));
    return buttons.find(Boolean);
  });
