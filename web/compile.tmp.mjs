import { compile, compileModule } from 'svelte/compiler';
import { readFileSync, globSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
for (const f of globSync('src/{routes,lib/components}/**/*.svelte')) {
  try { const { warnings } = compile(readFileSync(f, 'utf8'), { filename: f, generate: 'client', runes: true }); for (const w of warnings) console.log('WARN', f, w.start?.line, w.code, w.message.split('\n')[0]); }
  catch (e) { console.log('ERR', f, e.start?.line, e.code, e.message.split('\n')[0]); }
}
for (const f of globSync('src/lib/{components,messages,markdown,attachments}/**/*.ts')) {
  try { stripTypeScriptTypes(readFileSync(f, 'utf8'), f.endsWith('corpus.ts') ? {} : {mode: 'transform'}); } catch (e) { console.log('TSERR', f, e.message.split('\n').slice(0,3).join(' | ')); }
}
console.log('compiled');
