import { existsSync } from 'node:fs';
import { sveltekit } from '@sveltejs/kit/vite';
import { playwright } from '@vitest/browser-playwright';
import { defineConfig } from 'vitest/config';

const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
const browser = {
  enabled: true,
  headless: true,
  screenshotFailures: false,
  provider: playwright({ launchOptions: { executablePath: chromium ?? '', args: ['--no-sandbox'] } }),
  instances: [{ browser: 'chromium' as const }],
};

export default defineConfig({
  test: {
    projects: [
      // Without a browser: what is no component.
      // No test waits for time to pass: the limit only ends what hangs, on a machine that is busy too.
      {
        plugins: [sveltekit()],
        test: { name: 'unit', include: ['*.test.ts', 'src/**/*.test.ts'], environment: 'node', testTimeout: 300_000, pool: 'threads', isolate: false },
      },
      // Components, in Chromium.
      {
        plugins: [sveltekit()],
        // Found in the middle of a run, they would reload it.
        optimizeDeps: { include: ['katex', 'lowlight', 'marked', 'dexie', 'virtua/svelte', 'bits-ui'] },
        test: { name: 'component', include: ['src/**/*.component.ts'], setupFiles: ['test/no_warnings.ts'], browser, testTimeout: 300_000 },
      },
    ],
  },
});
