// Pictures of the page's states for docs/web: `node test/pictures.ts PUNA MODEL FOLDER [BUILD]`. ONLY: states, or pictures, with commas between.
import { mkdirSync, statSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { chromiumPath, shown, window as wide } from './browser.ts';
import { furnish, looks, onPhones, places, states } from './states.ts';

const [puna, model, folder, build = 'build'] = process.argv.slice(2);
if (!puna || !model || !folder) throw new Error('Usage: node test/pictures.ts PUNA MODEL FOLDER [BUILD]');
mkdirSync(folder, { recursive: true });
const only = process.env['ONLY']?.split(',');
// A picture has so many bytes at most.
const most = 150_000;

const at = await places(puna, model, build);
const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] });
const first = await browser.newContext(wide);
await furnish(await first.newPage(), at.address, 'SmolLM2-135M-Instruct');
const storageState = await first.storageState({ indexedDB: true });
await first.close();

let bad = 0;
for (const [look, options] of Object.entries(looks)) {
  for (const [state, show] of Object.entries(states)) {
    if (only && !only.includes(state) && !only.includes(`${state}-${look}`)) continue;
    if (onPhones.has(state) && !options.isMobile) continue;
    const context = await browser.newContext({ ...wide, ...options, storageState });
    const { page, faults } = await shown(context, at.address);
    const path = `${folder}/${state}-${look}.png`;
    try {
      page.setDefaultTimeout(90_000);
      await show(page, at);
      await page.waitForTimeout(700);
      await page.screenshot({ path, animations: 'disabled' });
      const { size } = statSync(path);
      if (size > most) faults.push(`${size} bytes`);
    } catch (error) {
      faults.push((error as Error).message.slice(0, 600));
      await page.screenshot({ path: `${folder}/failed-${state}-${look}.png` }).catch(() => undefined);
    }
    const told = faults.filter((fault) => ![at.none, at.locked.address].some((address) => fault.includes(address)));
    bad += told.length;
    console.log(`${state}-${look}`, told.length ? told.join('\n   ') : 'ok');
    at.weather.away = false;
    await context.close();
  }
}
await browser.close();
at.end();
process.exit(bad ? 1 : 0);
