// The words of the interface in the language of the reader. A new language is a file beside `en.ts` and a row here.
import { de } from './de.ts';
import { en, type Messages } from './en.ts';

export const languages: Record<string, { name: string; messages: Messages }> = {
  en: { name: 'English', messages: en },
  de: { name: 'Deutsch', messages: de },
};

class Language {
  tag = $state('en');

  // `auto`: the first language of the browser that there is.
  use(wish: string) {
    const wishes = wish === 'auto' ? navigator.languages : [wish];
    this.tag = wishes.map((one) => one.split('-')[0]!).find((one) => one in languages) ?? 'en';
    document.documentElement.lang = this.tag;
  }
}

export const language = new Language();

// Read in a template, it changes with the language.
export const say = new Proxy({} as Messages, {
  get: (_, key) => languages[language.tag]!.messages[key as keyof Messages],
});

export const number = (value: number, digits = 0) =>
  new Intl.NumberFormat(language.tag, { maximumFractionDigits: digits }).format(value);

const units = ['B', 'kB', 'MB', 'GB', 'TB'];
export function size(bytes: number): string {
  let unit = 0;
  while (bytes >= 999.5 && unit < units.length - 1) {
    bytes /= 1000;
    unit++;
  }
  return `${number(bytes, bytes < 10 && unit > 0 ? 1 : 0)} ${units[unit]}`;
}

// 3104 -> 3.1k
export const thousands = (value: number) => (value < 1000 ? number(value) : `${number(value / 1000, value < 100_000 ? 1 : 0)}k`);
export const seconds = (ms: number) => `${number(ms / 1000, ms < 995 ? 2 : ms < 9950 ? 1 : 0)} s`;
export const rate = (perSecond: number) => `${number(perSecond, perSecond < 10 ? 1 : 0)} tok/s`;
export const when = (time: number) =>
  new Intl.DateTimeFormat(language.tag, { dateStyle: 'medium', timeStyle: 'short' }).format(time);
