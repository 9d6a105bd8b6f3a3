// What the flows of the page have in common: how one asks, waits, opens a menu, and looks for faults of access.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import AxeBuilder from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import type { Bench, Site } from '../browser.ts';

export interface Stage extends Bench {
  puna: string;
  model: string;
  build: string;
  // Of the page that the case was given, and of those it opens itself.
  faults: string[];
}
// `lacks`: why it cannot be tried on this stage; empty: it can.
export type Case = readonly [name: string, run: (page: Page, stage: Stage) => Promise<void>, lacks?: (stage: Stage) => string];
export interface Flow {
  name: string;
  // In one page, one after the other: each begins where the one before has ended.
  cases: readonly Case[];
  // Why it cannot be tried with this build; empty: it can.
  lacks?: (build: string) => string;
  // Another one than the common one, which has the one model.
  site?: (at: Pick<Stage, 'puna' | 'model' | 'build'>) => Promise<Site>;
}

// The model of tests where none is named: tiny, and without a template.
export const isTiny = (model: string) => model.endsWith('llama-q4_0.gguf');
// Whether the page was built with an engine for the tab.
export const hasTab = (build: string) => (JSON.parse(readFileSync(`${build}/puna.json`, 'utf8')) as { tab: boolean }).tab;

// Only ends what hangs, on a busy machine too.
export const long = 180_000;
export const answers = (page: Page) => page.getByRole('article', { name: /^Answer of/ });
export const prompt = (page: Page) => page.locator('#prompt');
export const settled = (page: Page) => page.getByRole('button', { name: 'Send', exact: true }).waitFor({ timeout: long });

export async function newChat(page: Page) {
  await page.getByRole('link', { name: 'New chat' }).first().click();
  // What is typed or dropped before belongs to the chat that is still shown.
  await page.getByRole('heading', { name: 'What shall we work out?' }).waitFor({ timeout: long });
}
export async function send(page: Page, text: string) {
  await prompt(page).fill(text);
  await page.locator('form button[aria-label=Send]:enabled').waitFor({ timeout: long });
  await prompt(page).press('Enter');
  await page.locator('#prompt:placeholder-shown').waitFor({ timeout: long });
  // A new chat has an address once it has a message.
  await page.waitForURL(/#\/chat\//, { timeout: long });
}
export async function ask(page: Page, text: string) {
  await send(page, text);
  await answers(page).last().waitFor({ timeout: long });
  await settled(page);
}
// Until the last answer has more than so many characters.
export const grown = (page: Page, than: number) =>
  page.waitForFunction((least) => ([...document.querySelectorAll('article .md')].at(-1)?.textContent?.length ?? 0) > least, than, { timeout: long });
// The brake (Weather) behind which an answer has a few words, and most is to come.
export const underWay = 8_000;
export const written = async (page: Page) => (await answers(page).last().locator('.md').textContent()) ?? '';

// `what` that was, where it does not come to it.
export async function until(right: () => boolean | Promise<boolean>, what: string) {
  for (const end = Date.now() + long; Date.now() < end; await sleep(20)) if (await right()) return;
  assert.fail(`It did not come to that: ${what}`);
}

export const menu = async (page: Page, button: string, item: string) => {
  await page.getByRole('button', { name: button, exact: true }).last().click();
  await page.getByRole('menuitem', { name: item }).click();
};

const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
export async function axe(page: Page, where: string) {
  const { violations } = await new AxeBuilder({ page }).withTags(rules).analyze();
  const told = violations.map((one) => {
    const at = one.nodes.map((node) => `${node.target.join(' ')} ${node.any[0]?.message ?? ''}`).slice(0, 3);
    return `${where}: ${one.id}: ${at.join(' | ')}`;
  });
  assert.deepEqual(told, []);
}
