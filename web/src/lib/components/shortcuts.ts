// Keys of the page: one table for what they do and for the list that shows them.
import type { Messages } from '#lib/messages/en.ts';

export type Action = Exclude<keyof Messages['keys'], 'send' | 'line' | 'stop'>;

export interface Shortcut {
  name: Action;
  shown: string[];
  key: string;
  control?: boolean;
  shift?: boolean;
  // Also while a field has the focus.
  inFields: boolean;
}

export const shortcuts: readonly Shortcut[] = [
  { name: 'newChat', shown: ['Ctrl', 'Shift', 'O'], key: 'o', control: true, shift: true, inFields: true },
  { name: 'search', shown: ['Ctrl', 'K'], key: 'k', control: true, inFields: true },
  { name: 'find', shown: ['Ctrl', 'Shift', 'F'], key: 'f', control: true, shift: true, inFields: true },
  { name: 'sidebar', shown: ['Ctrl', 'B'], key: 'b', control: true, inFields: true },
  { name: 'edit', shown: ['Ctrl', 'Shift', 'E'], key: 'e', control: true, shift: true, inFields: true },
  { name: 'delete', shown: ['Ctrl', 'Shift', 'D'], key: 'd', control: true, shift: true, inFields: true },
  { name: 'models', shown: ['Ctrl', 'M'], key: 'm', control: true, inFields: true },
  { name: 'settings', shown: ['Ctrl', ','], key: ',', control: true, inFields: true },
  { name: 'focus', shown: ['/'], key: '/', inFields: false },
  { name: 'help', shown: ['?'], key: '?', inFields: false },
];

export function shortcutOf(event: KeyboardEvent): Shortcut | undefined {
  if (event.isComposing || event.altKey) return undefined;
  const control = event.ctrlKey || event.metaKey;
  const target = event.target as HTMLElement | null;
  const inField = target?.matches('input, textarea, select, [contenteditable]') ?? false;
  return shortcuts.find(
    (one) =>
      event.key.toLowerCase() === one.key &&
      control === Boolean(one.control) &&
      // `?` and `/` stand elsewhere on other keyboards, with Shift or without.
      (!one.control || event.shiftKey === Boolean(one.shift)) &&
      (one.inFields || !inField),
  );
}
