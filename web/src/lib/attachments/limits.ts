// What of files is taken, and what is given to models.
import type { FileKind } from '#lib/types/conversation.ts';

// Bytes of a file.
export const largest: Record<FileKind, number> = { text: 20e6, pdf: 100e6, image: 50e6, audio: 100e6, video: 0 };
// Pages of a PDF that are read at most, and those that are shown to a model as images: each takes hundreds of tokens.
export const mostPages = 500;
export const mostPictured = 20;
// Pixels of a picture that is decoded here at all (four bytes each), before it is scaled down.
export const mostDecoded = 2 ** 27;
// Pixels that are sent. Encoders take less than that of one picture: Qwen2.5-VL, which takes the most, 4,096 tokens of 28 x 28 pixels.
export const mostSent = 2048 * 2048;
// The longer side of a page of a PDF in pixels, where text of a letter's size can still be read.
export const pageSide = 1536;
