// Pictures as models take them. The bytes stay as they are where an engine can decode them and the picture is not larger than any encoder
// takes: what a browser decodes and writes again is not to the byte what the file has.
import { mostSent } from './limits.ts';

// What engines decode (docs/images-and-sound.md).
const decoded = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/bmp']);

// Errors: when the browser cannot read the image.
export async function scaled(blob: Blob): Promise<Blob> {
  const bitmap = await createImageBitmap(blob);
  try {
    const scale = Math.min(1, Math.sqrt(mostSent / (bitmap.width * bitmap.height)));
    if (scale === 1 && decoded.has(blob.type)) return blob;
    const canvas = document.createElement('canvas');
    canvas.width = Math.max(1, Math.floor(bitmap.width * scale));
    canvas.height = Math.max(1, Math.floor(bitmap.height * scale));
    const context = canvas.getContext('2d')!;
    context.imageSmoothingQuality = 'high';
    context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
    return await written(canvas, blob.type === 'image/jpeg' ? 'image/jpeg' : 'image/png');
  } finally {
    bitmap.close();
  }
}

export function written(canvas: HTMLCanvasElement, type: 'image/jpeg' | 'image/png'): Promise<Blob> {
  return new Promise((done, failed) =>
    canvas.toBlob((made) => (made ? done(made) : failed(new Error('The image cannot be written.'))), type, 0.92),
  );
}
