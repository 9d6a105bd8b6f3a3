// Images as models take them: no larger than they look at, in a format that every one reads.
export const largestSide = 2048;

// Errors: when the browser cannot read the image.
export async function scaled(blob: Blob): Promise<Blob> {
  const bitmap = await createImageBitmap(blob);
  const scale = Math.min(1, largestSide / Math.max(bitmap.width, bitmap.height));
  const kept = blob.type === 'image/png' || blob.type === 'image/jpeg';
  if (scale === 1 && kept) {
    bitmap.close();
    return blob;
  }
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  const context = canvas.getContext('2d')!;
  context.imageSmoothingQuality = 'high';
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  const type = blob.type === 'image/jpeg' ? 'image/jpeg' : 'image/png';
  return await new Promise((done, failed) =>
    canvas.toBlob((made) => (made ? done(made) : failed(new Error('The image cannot be scaled.'))), type, 0.92),
  );
}
