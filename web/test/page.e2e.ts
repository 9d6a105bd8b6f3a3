// Whole flows of the page: `node test/page.e2e.ts PUNA MODEL [BUILD]`. Exit code 1: one of them failed. ONLY and WITHOUT choose flows
// and cases by parts of their names, with commas between; cases of one flow follow each other in one page. With ALL=1 some go through all of
// what they otherwise take a share of.
import assert from 'node:assert/strict';
import { bench, open } from './browser.ts';
import { alike } from './flows/alike.ts';
import { attachments } from './flows/attachments.ts';
import { chat } from './flows/chat.ts';
import { devices } from './flows/devices.ts';
import { fair } from './serve.ts';
import type { Flow } from './flows/flow.ts';
import { following } from './flows/following.ts';
import { hostileTexts } from './flows/hostile.ts';
import { keyboard } from './flows/keyboard.ts';
import { late } from './flows/late.ts';
import { everyLook } from './flows/looks.ts';
import { loss } from './flows/loss.ts';
import { memory } from './flows/memory.ts';
import { plainHttp } from './flows/plain_http.ts';
import { router } from './flows/router.ts';
import { settings } from './flows/settings.ts';
import { sounds } from './flows/sounds.ts';
import { tab } from './flows/tab.ts';
import { tools } from './flows/tools.ts';

const [puna, model, build = 'build'] = process.argv.slice(2);
if (!puna || !model) throw new Error('Usage: node test/page.e2e.ts PUNA MODEL [BUILD]');
const flows: Flow[] = [chat, following, attachments, sounds, hostileTexts, everyLook, keyboard, late, loss, memory, router, alike, settings, devices, tools, tab, plainHttp];

const [only, left] = ['ONLY', 'WITHOUT'].map((name) => process.env[name]?.split(',').filter(Boolean) ?? []) as [string[], string[]];
const names = (parts: string[], name: string) => parts.some((part) => name.includes(part));
const wanted = (name: string) => (only.length === 0 || names(only, name)) && !names(left, name);
const all = await bench(puna, model, build);
let failed = 0;
for (const flow of flows) {
  const cases = flow.cases.filter(([name]) => wanted(`${flow.name}: ${name}`));
  if (!cases.length) continue;
  const lacks = flow.lacks?.(build);
  if (lacks) {
    console.log(`left out ${flow.name}: ${lacks}`);
    continue;
  }
  const own = await flow.site?.({ puna, model, build });
  const stage = { ...all, ...own, puna, model, build, end: all.end };
  const { page, faults } = await open(stage);
  for (const [name, run, caseLacks] of cases) {
    const why = caseLacks?.({ ...stage, faults });
    if (why) {
      console.log(`left out ${flow.name}: ${name}: ${why}`);
      continue;
    }
    faults.length = 0;
    const begin = Date.now();
    try {
      await run(page, { ...stage, faults });
      assert.deepEqual(faults, []);
      console.log(`ok ${flow.name}: ${name} (${((Date.now() - begin) / 1_000).toFixed(1)} s)`);
    } catch (error) {
      failed++;
      console.log(`FAILED ${flow.name}: ${name}: ${(error as Error).message.slice(0, 3_000)} ${faults.join('\n')}`);
      await page.screenshot({ path: `build/failed-${failed}.png` }).catch(() => undefined);
      await page.keyboard.press('Escape').catch(() => undefined);
    }
    Object.assign(stage.weather, fair());
  }
  await page.context().close();
  own?.end();
}
await all.end();
process.exit(failed ? 1 : 0);
