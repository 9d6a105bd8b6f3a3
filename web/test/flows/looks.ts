// Every state of the page in every look: what axe says of it, and that nothing goes out of the window sideways, down to 320 px and at
// twice the size.
import assert from 'node:assert/strict';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { shown, watched, window as wide } from '../browser.ts';
import { furnish, looks, onPhones, places, states, type Places } from '../states.ts';
import { axe, type Case, type Flow, type Stage } from './flow.ts';

const all: Record<string, BrowserContextOptions> = {
  ...looks,
  'phone, dark': { ...looks['phone'], colorScheme: 'dark' },
  '320 px': { viewport: { width: 320, height: 640 }, isMobile: true, hasTouch: true },
  // As a window of 1280 x 800 at 200 %.
  '200 %': { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 },
};
const names = Object.keys(all);

// What reaches out of the window, or has to be scrolled sideways. Tables, formulas and code may be, in frames of their own.
const sideways = (page: Page) =>
  page.evaluate(() => {
    const found: string[] = [];
    const told = (element: Element) => element.outerHTML.slice(0, 160);
    if (document.documentElement.scrollWidth > innerWidth) found.push(`the document by ${document.documentElement.scrollWidth - innerWidth} px`);
    for (const element of document.querySelectorAll<HTMLElement>('body *')) {
      if (element.closest('.edges, pre, .sr-only, svg, .katex, input, textarea, .skip') || !element.checkVisibility({ opacityProperty: true })) continue;
      const { left, right, width } = element.getBoundingClientRect();
      const scrolls = /auto|scroll/.test(getComputedStyle(element).overflowX) && element.scrollWidth > element.clientWidth + 1;
      if (scrolls) found.push(`scrolls by ${element.scrollWidth - element.clientWidth} px: ${told(element)}`);
      if (width > 0 && (left < -1 || right > innerWidth + 1) && element.matches('button, a, input, select, textarea, p, h1, h2, h3, img, section')) found.push(`from ${left} to ${right}: ${told(element)}`);
    }
    return found;
  });

let at: Places;
// With the chats, as one context leaves them to others.
let state: Awaited<ReturnType<ReturnType<Page['context']>['storageState']>>;

// Of the states, one of so many.
const share = process.env['ALL'] ? 1 : 6;

const one = (index: number): Case => {
  const [name, show] = Object.entries(states)[index]!;
  return [name, async (_page, stage) => {
    for (const [i, look] of names.entries()) {
      if (!process.env['ALL'] && (i + index / share) % names.length !== 0) continue;
      if (onPhones.has(name) && !all[look]!.isMobile) continue;
      await tried(stage, name, look, show);
    }
  }];
};

async function tried(stage: Stage, name: string, look: string, show: (page: Page, at: Places) => Promise<unknown>) {
  const context = await stage.browser.newContext({ ...wide, ...all[look], storageState: state });
  try {
    const { page, faults } = await shown(context, at.address);
    page.setDefaultTimeout(120_000);
    await show(page, at);
    await page.waitForTimeout(200);
    await axe(page, `${name}, ${look}`);
    assert.deepEqual(await sideways(page), [], `${name}, ${look}`);
    // Other places than the one that was opened are wanted here.
    stage.faults.push(...faults.filter((fault) => ![at.none, at.locked.address].some((address) => fault.includes(address))).map((fault) => `${name}, ${look}: ${fault}`));
  } catch (error) {
    throw new Error(`${name}, ${look}: ${(error as Error).message}`);
  } finally {
    at.weather.away = false;
    await context.close();
  }
}

export const everyLook: Flow = {
  name: 'looks',
  cases: [
    ['the chats behind all states', async (_page, { browser }) => {
      const context = await browser.newContext({ ...wide });
      const page = await context.newPage();
      watched(page, at.address);
      await furnish(page, at.address, 'SmolLM2-135M-Instruct');
      state = await context.storageState({ indexedDB: true });
      await context.close();
    }],
    // Each in one look, by turns; ALL=1: in all.
    ...Object.keys(states).flatMap((_, index) => (index % share === 0 ? [one(index)] : [])),
  ],
  site: async ({ puna, model, build }) => (at = await places(puna, model, build)),
};
