// The page by keyboard alone: what Tab goes through on each screen, that one sees where one is, and where the focus comes back to.
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { answers, axe, grown, hasTab, long, prompt, settled, underWay, type Case, type Flow } from './flow.ts';

interface Stop {
  name: string;
  // Why one could not see that it has the focus; empty: one can.
  unseen: string;
}

// What has the focus. Undefined: the document itself.
const stop = (page: Page): Promise<Stop | undefined> =>
  page.evaluate(async () => {
    const at = document.activeElement as HTMLElement | null;
    if (!at || at === document.body) return undefined;
    // Transitions end, and what was scrolled to is painted.
    await Promise.all(document.getAnimations().filter((one) => one.effect?.getTiming().iterations !== Infinity).map((one) => one.finished.catch(() => undefined)));
    await new Promise((done) => requestAnimationFrame(done));
    const label = (at as HTMLInputElement).labels?.[0];
    const name = (at.getAttribute('aria-label') ?? label?.textContent ?? at.textContent ?? '').trim().replace(/\s+/g, ' ').slice(0, 40) || `${at.localName}#${at.id}`;
    const accent = getComputedStyle(document.documentElement).getPropertyValue('--accent').trim();
    const rgb = `rgb(${[1, 3, 5].map((i) => parseInt(accent.slice(i, i + 2), 16)).join(', ')})`;
    const outlined = (one: Element | null | undefined) => {
      if (!one) return false;
      const { outlineStyle, outlineWidth } = getComputedStyle(one);
      return outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2;
    };
    const form = at.closest('form');
    // A field without an outline of its own colours the edge of its form.
    const edged = at.localName === 'textarea' && form !== null && getComputedStyle(form).borderColor === rgb;
    let unseen = outlined(at) || outlined(at.closest('label')) || edged ? '' : 'no outline';
    for (let one: Element | null = at; one; one = one.parentElement) if (getComputedStyle(one).opacity === '0') unseen = 'transparent';
    const box = (at.closest('label') ?? at).getBoundingClientRect();
    if (box.width < 2 || box.height < 2) unseen = 'no size';
    const [x, y] = [Math.max(0, box.left) + Math.min(box.width, innerWidth) / 2, Math.max(0, box.top) + Math.min(box.height, innerHeight) / 2];
    if (box.bottom <= 0 || box.top >= innerHeight || box.right <= 0 || box.left >= innerWidth) unseen = 'outside of the window';
    else {
      const top = document.elementFromPoint(Math.min(x, innerWidth - 1), Math.min(y, innerHeight - 1));
      if (top && !at.contains(top) && !top.contains(at) && !at.closest('label')?.contains(top)) unseen = `behind ${top.outerHTML.slice(0, 80)}`;
    }
    return { name, unseen };
  });

// All stops of Tab from the beginning of the page, or around a dialog, until it begins again; then Shift+Tab has to go the same way back.
async function walk(page: Page, inDialog = false): Promise<string[]> {
  const stops: Stop[] = [];
  // A blurred element would still be where Tab goes on from.
  if (!inDialog) await page.locator('.skip').focus();
  const first = await stop(page);
  if (first) stops.push(first);
  for (let i = 0; i < 150; i++) {
    await page.keyboard.press('Tab');
    const one = await stop(page);
    if (!one || (first && one.name === first.name)) break;
    stops.push(one);
  }
  assert.deepEqual(stops.filter((one) => one.unseen), [], 'one sees what has the focus');
  const names = stops.map((one) => one.name);
  const back: string[] = [];
  for (let i = 0; i < names.length; i++) {
    await page.keyboard.press('Shift+Tab');
    back.push((await stop(page))?.name ?? '');
  }
  assert.deepEqual(back.reverse(), names, 'Shift+Tab goes the same way back');
  return names;
}

// A screen as one meets it by keyboard, and what axe says of it.
async function screen(page: Page, name: string, expected: readonly (string | RegExp)[], inDialog = false) {
  // Stands where an answer came to its limit, which an untrained model does or does not.
  const names = (await walk(page, inDialog)).filter((one) => one !== 'Continue');
  const right = names.length === expected.length && expected.every((one, i) => (typeof one === 'string' ? one === names[i] : one.test(names[i]!)));
  assert.ok(right, `${name}: Tab goes to ${JSON.stringify(names)}`);
  await axe(page, name);
}

// What a key opens: it has the focus, is walked through, and ends by Escape, with the focus back where it was.
async function opened(page: Page, key: string, name: string, expected: readonly (string | RegExp)[], more?: () => Promise<void>) {
  const before = (await stop(page))?.name;
  await page.keyboard.press(key);
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  await focusIn(page);
  await screen(page, name, expected, true);
  await more?.();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  await focusOn(page, before ?? '');
}
const focusIn = (page: Page) => page.waitForFunction(() => document.activeElement?.closest('[role=dialog]'));
async function focusOn(page: Page, name: string | RegExp) {
  const right = (at: string | undefined) => (typeof name === 'string' ? at === name : name.test(at ?? ''));
  // The focus is given back when what had it has gone, a moment later.
  let at = (await stop(page))?.name;
  for (const end = Date.now() + 10_000; !right(at) && Date.now() < end; at = (await stop(page))?.name) await page.evaluate(() => new Promise(requestAnimationFrame));
  assert.ok(right(at), `the focus is on ${at}, not on ${name}`);
}
// Goes on with Tab to what has this name.
async function tabTo(page: Page, name: string | RegExp, back = false) {
  for (let i = 0; i < 80; i++) {
    const at = (await stop(page))?.name ?? '';
    if (typeof name === 'string' ? at === name : name.test(at)) return;
    await page.keyboard.press(back ? 'Shift+Tab' : 'Tab');
  }
  assert.fail(`Tab does not come to ${name}`);
}
// In an open menu, by arrows.
async function pick(page: Page, item: string) {
  await page.getByRole('menuitem', { name: item, exact: true }).waitFor();
  // The menu takes the focus a moment after it shows.
  await page.waitForFunction(() => document.activeElement?.closest('[role=menu]'));
  for (let i = 0; i < 12; i++) {
    if ((await page.evaluate(() => document.activeElement?.textContent?.trim())) === item) return page.keyboard.press('Enter');
    await page.keyboard.press('ArrowDown');
  }
  assert.fail(`The arrows do not come to ${item}`);
}
async function type(page: Page, text: string) {
  await focusOn(page, 'Message');
  await page.keyboard.type(text);
  await page.locator('form button[aria-label=Send]:enabled').waitFor({ timeout: long });
  await page.keyboard.press('Enter');
  await page.locator('#prompt:placeholder-shown').waitFor({ timeout: long });
}

const sidebar = ['Skip to the message field', 'Hide sidebar', /^New chat/, /^Search/, 'Models'];
// "Server" and "This tab" are one choice and one stop, where the tab can run a model; else "This tab" opens the reason why it cannot.
const bar = (build: string) => [/^Settings/, /^Choose a model/, /^Server/, ...(hasTab(build) ? [] : ['This tab'])];

const cases: Case[] = [
  ['an empty chat', async (page, { build }) => {
    // Before the server has told its models, another side is the one stop.
    await page.getByRole('radio', { name: /^Server/, checked: true }).waitFor({ timeout: long });
    await screen(page, 'empty', [...sidebar, ...bar(build), 'Settings of this chat', 'Explain an error message', 'Draft a polite reply', 'Write a regex for ISO dates', 'Add a system message', 'Message', 'Attach files']);
    // The first stop leads past all others.
    await tabTo(page, 'Skip to the message field', true);
    await page.keyboard.press('Enter');
    await focusOn(page, 'Message');
  }],
  ['asking, and a chat', async (page, { build }) => {
    await type(page, 'Say hello.');
    await answers(page).last().waitFor({ timeout: long });
    await settled(page);
    await focusOn(page, 'Message');
    const question = ['Copy', 'Edit', 'More'];
    const answer = ['Copy', 'Write again', 'More'];
    await screen(page, 'chat', [...sidebar, 'Say hello.', 'Options of Say hello.', ...bar(build), 'Chat menu', 'Messages', ...question, ...answer, 'Message', 'Attach files']);
  }],
  ['dialogs', async (page, { build }) => {
    await prompt(page).focus();
    await opened(page, 'Control+k', 'search', ['Words in titles and messages', 'Close'], async () => {
      await page.keyboard.press('Tab');
      await tabTo(page, 'Words in titles and messages');
      await page.keyboard.type('hello');
      await page.locator('[role=option] mark').first().waitFor();
      await axe(page, 'search with hits');
    });
    const offered = hasTab(build) ? [/Not downloaded/, /Not downl/] : [];
    await opened(page, 'Control+m', 'model picker', ['Search models', /./, ...offered, 'Manage models'], async () => {
      await tabTo(page, 'Search models');
      await page.keyboard.type('no such model');
      await page.getByText('No model').waitFor();
      await axe(page, 'model picker without a model');
    });
  }],
  ['settings', async (page) => {
    await prompt(page).focus();
    const general = ['Close', 'General', /^Theme/, 'As the system', /^Text size/, /^Language/, 'Key of the server', /^Remember the key/];
    const switches = ['Enter sends', /^Long pastes/, 'Wrap long lines of code', 'Show thoughts unfolded', 'Show rates below answers'];
    await opened(page, 'Control+,', 'settings', [...general, ...switches], async () => {
      await tabTo(page, 'General');
      for (const name of ['Parameters', 'Presets', 'Data']) {
        await page.keyboard.press('ArrowDown');
        await focusOn(page, name);
        const names = await walk(page, true);
        await tabTo(page, name);
        // Each field of the page has its stop.
        const fields = await page.getByRole('tabpanel').locator('input:visible:not([type=file]), select:visible, textarea:visible').count();
        assert.ok(fields < names.length, `${name}: ${names.length} stops for ${fields} fields`);
        await axe(page, name);
      }
    });
  }],
  ['find in the chat, edit, raw text, branches, list of keys', async (page) => {
    await prompt(page).focus();
    await page.keyboard.press('Control+Shift+f');
    await focusOn(page, 'Search in this chat');
    await page.keyboard.type('hello');
    await page.getByRole('status').filter({ hasText: /\d of \d/ }).waitFor();
    await axe(page, 'search in the chat');
    await tabTo(page, 'Next');
    await tabTo(page, 'Search in this chat', true);
    await page.keyboard.press('Escape');
    await focusOn(page, 'Message');

    await tabTo(page, 'Edit', true);
    await page.keyboard.press('Enter');
    await focusOn(page, 'Edit the message');
    await axe(page, 'an edit');
    await page.keyboard.press('Escape');
    // The message itself; its buttons come next.
    await focusOn(page, 'Your message');
    await tabTo(page, 'Edit');

    await tabTo(page, 'More');
    await page.keyboard.press('Enter');
    await axe(page, 'a menu');
    await pick(page, 'Raw text');
    await page.getByRole('dialog', { name: 'Raw text' }).waitFor();
    await focusIn(page);
    await axe(page, 'raw text');
    await page.keyboard.press('Escape');
    await focusOn(page, 'More');

    await tabTo(page, 'Chat menu', true);
    await page.keyboard.press('Enter');
    await pick(page, 'Map of branches');
    await page.getByRole('dialog', { name: 'Branches of this chat' }).waitFor();
    await focusIn(page);
    await axe(page, 'branches');
    await page.keyboard.press('Escape');
    await focusOn(page, 'Chat menu');

    await opened(page, '?', 'list of keys', ['Close', 'Keyboard shortcuts']);
  }],
  ['versions, rename, pin, select, delete and undo', async (page) => {
    await tabTo(page, 'Write again');
    await page.keyboard.press('Enter');
    await page.getByText('2 / 2').waitFor({ timeout: long });
    await settled(page);
    await prompt(page).focus();
    await tabTo(page, 'Version before', true);
    await page.keyboard.press('Enter');
    await page.getByText('1 / 2').waitFor();
    await focusOn(page, 'Next version');

    await tabTo(page, /^Options of/, true);
    await page.keyboard.press('Enter');
    await pick(page, 'Rename');
    await focusOn(page, 'Name of the chat');
    await page.keyboard.press('Control+a');
    await page.keyboard.type('By hand');
    await page.keyboard.press('Enter');
    await focusOn(page, 'By hand');
    await tabTo(page, 'Options of By hand');
    await page.keyboard.press('Enter');
    await pick(page, 'Pin');
    await page.getByRole('heading', { name: 'Pinned' }).waitFor();
    await focusOn(page, 'Options of By hand');
    await page.keyboard.press('Enter');
    await pick(page, 'Select several');
    await page.getByRole('toolbar').waitFor();
    await focusOn(page, 'Select By hand');
    await page.keyboard.press('Space');
    await page.getByText('0 selected').waitFor();
    await axe(page, 'selecting');
    await tabTo(page, 'Cancel', true);
    await page.keyboard.press('Enter');
    await focusOn(page, 'By hand');
    await tabTo(page, 'Options of By hand');
    await page.keyboard.press('Enter');
    await pick(page, 'Delete');
    await page.getByRole('button', { name: 'Undo' }).waitFor();
    await tabTo(page, 'Undo', true);
    await page.keyboard.press('Enter');
    await page.locator('nav a', { hasText: 'By hand' }).waitFor();
  }],
  ['models', async (page, { build }) => {
    await prompt(page).focus();
    await tabTo(page, 'Models', true);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Models', exact: true }).waitFor();
    const offered = ['Address of a model (This tab)', 'Open a GGUF file', 'Keep a copy in this browser', 'Download', 'Use', 'Download', 'Use'];
    const tab = hasTab(build) ? offered : [];
    await screen(page, 'models', [...sidebar, 'By hand', 'Options of By hand', ...bar(build), 'Settings of this chat', ...tab]);
  }],
  ['what is told aloud of an answer', async (page) => {
    await page.keyboard.press('Control+Shift+o');
    await page.getByRole('heading', { name: 'What shall we work out?' }).waitFor();
    const told = await page.evaluateHandle(() => {
      const said: string[] = [];
      const region = document.querySelector('[aria-live=polite]')!;
      new MutationObserver(() => said.push(region.textContent ?? '')).observe(region, { childList: true, characterData: true, subtree: true });
      return said;
    });
    await type(page, 'Say hello.');
    await answers(page).last().waitFor({ timeout: long });
    await settled(page);
    await page.waitForFunction((said) => said.at(-1)?.startsWith('Answer: '), told, { timeout: long });
    // That it is written, and what it is: never a token.
    const said = await told.jsonValue();
    assert.equal(said.length, 2, JSON.stringify(said));
    assert.match(said[0]!, /^The model is writing\s?$/);
    const plain = (text: string) => text.replace(/\s+/g, '').slice(0, 60);
    assert.equal(plain(said[1]!), plain(`Answer: ${await answers(page).last().locator('.md').innerText()}`));
    // The other one tells the titles of pages.
    assert.equal(await page.locator('[aria-live]:not(#svelte-announcer)').count(), 1);
  }],
  ['stop by Escape', async (page, { weather }) => {
    await page.keyboard.press('Control+Shift+o');
    weather.brake = underWay;
    await type(page, 'Tell a story.');
    await grown(page, 10);
    await axe(page, 'an answer that is written');
    await page.keyboard.press('Escape');
    await settled(page);
    await focusOn(page, 'Message');
  }],
  ['what goes when it is pressed', async (page, { weather }) => {
    weather.brake = underWay;
    const press = async (name: string | RegExp, back = false) => {
      await tabTo(page, name, back);
      await page.keyboard.press('Enter');
      await focusOn(page, 'Message');
    };
    await page.keyboard.type('Tell another story.');
    await press('Send');
    await grown(page, 10);
    await press(/^Stop/);
    await settled(page);
    for (const name of ['Continue', 'Write again']) {
      await press(name, true);
      await page.keyboard.press('Escape');
      await settled(page);
    }
    weather.brake = undefined;
    // A notice, of what was copied or why it could not be.
    await tabTo(page, 'Copy', true);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Close', exact: true }).waitFor();
    await press('Close', true);
    assert.equal(await page.getByRole('button', { name: 'Close', exact: true }).count(), 0);
  }],
];

export const keyboard: Flow = { name: 'keyboard', cases };
