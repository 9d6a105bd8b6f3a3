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

// On a phone the keyboard would cover what one reads.
const onPhone = () => matchMedia('(pointer: coarse)').matches;

// To another address, where one writes on.
export async function goAndWrite(address: string) {
  await goto(address, { reset: false });
  if (!onPhone()) await focusPrompt();
}

// Where one goes on: in the dialog that is open, else by writing, else by reading.
const next = () =>
  document.querySelector<HTMLElement>('[role=dialog][data-state=open]') ?? (onPhone() ? null : prompt()) ?? document.getElementById('transcript');

// Behind the press of a button that goes, or can be pressed no more: as soon as nothing has the focus, what is found has
// it, or what one goes on with. A button that stays keeps it.
export async function focusAfter(find: () => HTMLElement | null | undefined = next) {
  for (let frames = 0; frames < 60; frames++) {
    await frame();
    if (document.activeElement === null || document.activeElement === document.body) return focusOn(() => find() ?? next());
  }
}

const messageOf = (id: string) => document.querySelector<HTMLElement>(`[data-message="${CSS.escape(id)}"]`);
export const focusMessage = (id: string) => focusOn(() => messageOf(id));
// The first of these buttons of a message that can be pressed, by their labels.
export const focusButton = (id: string, ...labels: string[]) =>
  focusOn(() => {
    const buttons = labels.map((label) => messageOf(id)?.querySelector<HTMLElement>(`button[aria-label="${CSS.escape(label)}"]:enabled`));
    return buttons.find(Boolean);
  });
