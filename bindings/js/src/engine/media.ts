// Pictures and sounds on their way to the engine: as parts of messages, which it reads in OpenAI's shapes, and as files of the page.
import { PunaError } from '../errors.js';
import type { ChatRequest, CompletionRequest, ContentPart } from '../openai_types.js';
import { FileReaderOf } from '../storage/opfs_store.js';
import type { PageFile } from './page_files.js';

export type Sense = 'image' | 'audio';

// What a data: address of them still fits into a text of JavaScript. The engine has limits of its own, which name both numbers.
const kMostBytes = 256 << 20;

function check(blob: Blob): void {
  if (blob.size > kMostBytes) {
    throw new PunaError('invalid_argument', `The ${blob.type || 'file'} has ${blob.size} bytes; pictures and sounds may have ${kMostBytes}.`);
  }
}

async function base64(blob: Blob): Promise<string> {
  check(blob);
  const bytes = new Uint8Array(await blob.arrayBuffer());
  const kPiece = 0x8000 * 3; // nothing is left over between pieces
  const texts: string[] = [];
  for (let at = 0; at < bytes.length; at += kPiece) {
    let piece = '';
    // Arguments of a call lie on the stack: not too many at once.
    for (let i = at; i < Math.min(at + kPiece, bytes.length); i += 0x2000) {
      piece += String.fromCharCode(...bytes.subarray(i, Math.min(i + 0x2000, at + kPiece)));
    }
    texts.push(btoa(piece));
  }
  return texts.join('');
}

const dataUrl = async (blob: Blob) => `data:${blob.type || 'application/octet-stream'};base64,${await base64(blob)}`;

async function inlinedPart(part: ContentPart): Promise<object> {
  switch (part.type) {
    case 'image':
      if (part.image instanceof Blob) return { type: 'image_url', image_url: { url: await dataUrl(part.image) } };
      throw new PunaError('invalid_argument', 'A part of the type "image" has a Blob in its field "image".');
    case 'audio':
      if (part.audio instanceof Blob) return { type: 'input_audio', input_audio: { data: await base64(part.audio) } };
      throw new PunaError('invalid_argument', 'A part of the type "audio" has a Blob in its field "audio".');
    case 'image_url':
      if (!(part.image_url?.url instanceof Blob)) return part;
      return { ...part, image_url: { ...part.image_url, url: await dataUrl(part.image_url.url) } };
    case 'input_audio':
      if (!(part.input_audio?.data instanceof Blob)) return part;
      return { ...part, input_audio: { ...part.input_audio, data: await base64(part.input_audio.data) } };
    default:
      return part;
  }
}

// With text in place of Blobs, as the engine reads it.
export async function inlined(request: ChatRequest): Promise<ChatRequest> {
  if (!Array.isArray(request.messages) || !request.messages.some((message) => Array.isArray(message?.content))) return request;
  const messages = await Promise.all(
    request.messages.map(async (message) =>
      Array.isArray(message?.content) ? { ...message, content: (await Promise.all(message.content.map(inlinedPart))) as ContentPart[] } : message,
    ),
  );
  return { ...request, messages };
}

// What stands in a prompt for a file. The engine has a marker of its own, which no text can know.
const kMark = '<__media__>';

// The same of a prompt with files in it, which the engine reads as llama-server does.
export async function inlinedPrompt(request: CompletionRequest, marker = ''): Promise<object> {
  const { prompt } = request;
  if (typeof prompt !== 'object' || prompt === null || !('media' in prompt)) return request;
  const { prompt: text, media } = prompt;
  if (!Array.isArray(media) || !media.every((blob) => blob instanceof Blob)) {
    throw new PunaError('invalid_argument', 'A prompt with the field "media" has a list of Blobs there.');
  }
  const pieces = String(text).split(kMark);
  if (pieces.length - 1 !== media.length) {
    throw new PunaError('invalid_argument', `The prompt has ${pieces.length - 1} marks ${kMark} for ${media.length} pictures and sounds.`);
  }
  return { ...request, prompt: { prompt_string: pieces.join(marker), multimodal_data: await Promise.all(media.map(base64)) } };
}

// The first bytes of sounds: RIFF....WAVE, fLaC, OggS, ID3, a frame of MPEG.
const kSounds = /^(RIFF[^]{4}WAVE|fLaC|OggS|ID3|\xff[\xe0-\xff])/;

export async function senseOf(blob: Blob): Promise<Sense> {
  const head = new Uint8Array(await blob.slice(0, 12).arrayBuffer());
  return kSounds.test(String.fromCharCode(...head)) ? 'audio' : 'image';
}

export function fileOf(blob: Blob): PageFile {
  check(blob);
  return new FileReaderOf(blob);
}
