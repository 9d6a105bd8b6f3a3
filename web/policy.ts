// What the page may load and run (Content-Security-Policy). The build adds the hash of its start script; `puna serve` sends the
// result as a header and adds frame-ancestors, which pages cannot say of themselves.
import type { sveltekit } from '@sveltejs/kit/vite';

type Options = NonNullable<Parameters<typeof sveltekit>[0]>;
type Policy = NonNullable<NonNullable<Options['csp']>['directives']>;

export const policy = {
  'default-src': ['none'],
  'script-src': ['self', 'wasm-unsafe-eval'],
  'style-src': ['self'],
  // The style attribute of the element with which SvelteKit announces routes to screen readers.
  'style-src-attr': ['unsafe-hashes', 'sha256-S8qMpvofolR8Mpjy4kQvEm7m1q8clzU4dfDH0AmvZjo='],
  'img-src': ['self', 'data:', 'blob:'],
  'media-src': ['self', 'blob:'],
  'font-src': ['self'],
  // A static site fetches models from elsewhere; the server's header allows its own address only.
  'connect-src': ['self', 'https:'],
  'worker-src': ['self'],
  'frame-src': ['self'],
  'manifest-src': ['self'],
  'base-uri': ['none'],
  'form-action': ['none'],
  'object-src': ['none'],
} satisfies Policy;
