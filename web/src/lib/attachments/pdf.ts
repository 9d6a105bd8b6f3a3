// The text of a PDF. Loaded with the first PDF.
import * as pdfjs from 'pdfjs-dist';
import { mostPages } from './limits.ts';
import worker from 'pdfjs-dist/build/pdf.worker.min.mjs?url';

pdfjs.GlobalWorkerOptions.workerSrc = worker;


export class Encrypted extends Error {}

export async function pdfText(data: Uint8Array): Promise<{ text: string; pages: number }> {
  const task = pdfjs.getDocument({ data, useWasm: false, stopAtErrors: false, disableFontFace: true });
  try {
    const file = await task.promise;
    const texts: string[] = [];
    for (let i = 1; i <= Math.min(file.numPages, mostPages); i++) {
      const page = await file.getPage(i);
      const { items } = await page.getTextContent();
      texts.push(items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : '')).join(''));
      page.cleanup();
    }
    return { text: texts.join('\n\n').trim(), pages: file.numPages };
  } catch (error) {
    throw (error as Error).name === 'PasswordException' ? new Encrypted() : error;
  } finally {
    await task.destroy();
  }
}
