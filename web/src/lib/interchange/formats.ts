// The formats that are JSON documents of conversations: a row each. An item of a document is told by what it has.
import type { Dict } from '#lib/base/values.ts';
import { chatgpt } from './chatgpt.ts';
import { llamaJson } from './llama_json.ts';
import { openWebui } from './open_webui.ts';
import type { Imported, Reading } from './reading.ts';

export interface Format {
  is(item: Dict): boolean;
  // The name of the conversation, for problems; nothing imported when it has no messages.
  read(file: string, item: Dict, reading: Reading): Promise<{ name: string; imported: Imported | undefined }>;
}

export const formats: readonly Format[] = [llamaJson, chatgpt, openWebui];
