// What stays behind of chats that were opened and left: nothing.
import assert from 'node:assert/strict';
import type { CDPSession, Page } from 'playwright-core';
import { answers, ask, long, newChat, type Case, type Flow } from './flow.ts';

const chats = 4;
const warm = 20;
const opened = process.env['ALL'] ? 100 : 40;

// Whatever is still held once nothing that can go is left.
async function held(session: CDPSession) {
  for (let i = 0; i < 3; i++) await session.send('HeapProfiler.collectGarbage');
  const { metrics } = await session.send('Performance.getMetrics');
  const of = (name: string) => metrics.find((each) => each.name === name)!.value;
  return { nodes: of('Nodes'), listeners: of('JSEventListeners'), documents: of('Documents') };
}

async function openChats(page: Page, from: number, to: number) {
  const links = page.locator('nav li a');
  assert.equal(await links.count(), chats);
  for (let i = from; i < to; i++) {
    const link = links.nth(i % chats);
    await link.click();
    await page.locator('nav li', { has: page.locator('a[aria-current=page]') }).nth(0).waitFor();
    await page.waitForFunction((href) => location.href === href, await link.evaluate((a) => (a as HTMLAnchorElement).href), { timeout: long });
    await answers(page).last().waitFor({ timeout: long });
  }
}

const cases: Case[] = [
  ['nothing stays of the chats that were opened', async (page) => {
    for (let i = 0; i < chats; i++) {
      if (i > 0) await newChat(page);
      await ask(page, `Tell of the number ${i} in a sentence.`);
    }
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable');
    // Both times the same chat is shown, and has been for as long.
    await openChats(page, 0, warm);
    const before = await held(session);
    await openChats(page, warm, opened);
    const after = await held(session);
    const told = `${JSON.stringify(before)} after ${warm} chats, ${JSON.stringify(after)} after ${opened}`;
    // A message that stays has hundreds of nodes, and several listeners.
    assert.ok(after.nodes - before.nodes < opened - warm, told);
    assert.ok(after.listeners - before.listeners < (opened - warm) / 4, told);
    assert.ok(after.documents <= before.documents, told);
    await session.detach();
  }],
];

export const memory: Flow = { name: 'memory', cases };
