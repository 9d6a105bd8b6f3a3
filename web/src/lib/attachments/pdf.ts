// PDFs: their text, and their pages as images. Loaded with the first PDF; what pdf.js reads besides (fonts that files take for granted,
// tables of characters, decoders) lies in pdf/ beside the page (pdf_files.ts in web/).
import * as pdfjs from 'pdfjs-dist';
import worker from 'pdfjs-dist/build/pdf.worker.min.mjs?url';
import { written } from './image.ts';
import { mostDecoded, mostPages, mostPictured, pageSide } from './limits.ts';

pdfjs.GlobalWorkerOptions.workerSrc = worker;

export class Encrypted extends Error {}

type Document = pdfjs.PDFDocumentProxy;

async function withPdf<T>(data: Uint8Array, use: (file: Document) => Promise<T>): Promise<T> {
  const beside = (folder: string) => new URL(`pdf/${folder}/`, document.baseURI).href;
  const task = pdfjs.getDocument({
    data,
    cMapUrl: beside('cmaps'),
    standardFontDataUrl: beside('standard_fonts'),
    wasmUrl: beside('wasm'),
    stopAtErrors: false,
    // Fonts are drawn as paths: the policy of the page has no fonts from data.
    disableFontFace: true,
    useSystemFonts: false,
    maxImageSize: mostDecoded,
    verbosity: pdfjs.VerbosityLevel.ERRORS,
  });
  try {
    return await use(await task.promise);
  } catch (error) {
    throw (error as Error).name === 'PasswordException' ? new Encrypted() : error;
  } finally {
    await task.destroy();
  }
}

export interface PdfText {
  text: string;
  // That it has, of which mostPages are read.
  pages: number;
}

// Errors: Encrypted; those of pdf.js for what is none, or damaged.
export function pdfText(data: Uint8Array): Promise<PdfText> {
  return withPdf(data, async (file) => {
    const texts: string[] = [];
    for (let i = 1; i <= Math.min(file.numPages, mostPages); i++) {
      const page = await file.getPage(i);
      const { items } = await page.getTextContent();
      texts.push(items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : '')).join(''));
      page.cleanup();
    }
    return { text: texts.join('\n\n').trim(), pages: file.numPages };
  });
}

export interface PdfPictures {
  pictures: Blob[]; // PNG
  pages: number;
}

// The first mostPictured pages. Errors: as pdfText().
export function pdfPictures(data: Uint8Array): Promise<PdfPictures> {
  return withPdf(data, async (file) => {
    const pictures: Blob[] = [];
    for (let i = 1; i <= Math.min(file.numPages, mostPictured); i++) pictures.push(await pictureOf(await file.getPage(i)));
    return { pictures, pages: file.numPages };
  });
}

async function pictureOf(page: pdfjs.PDFPageProxy): Promise<Blob> {
  const plain = page.getViewport({ scale: 1 });
  const viewport = page.getViewport({ scale: pageSide / Math.max(plain.width, plain.height) });
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(viewport.width));
  canvas.height = Math.max(1, Math.round(viewport.height));
  await page.render({ canvas, viewport, background: '#ffffff' }).promise;
  page.cleanup();
  return await written(canvas, 'image/png');
}
