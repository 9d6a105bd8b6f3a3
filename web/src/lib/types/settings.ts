// What the reader has chosen for the page as a whole.
import type { Id } from './conversation.ts';

export interface AppSettings {
  theme: 'system' | 'light' | 'dark';
  // Percent of the usual size.
  textSize: number;
  // A language tag, or `auto` for what the browser asks for.
  language: string;
  // Enter sends and Shift+Enter makes a line; otherwise the other way round. Phones have their own rule.
  enterSends: boolean;
  // A paste of more characters than this becomes a file; 0: never.
  pasteToFile: number;
  wrapCode: boolean;
  // Thinking is shown unfolded.
  showThinking: boolean;
  showStatistics: boolean;
  sidebarOpen: boolean;
  // The preset of chats that chose none.
  preset: Id | null;
  // Parameters that the reader set for a model, by its name.
  models: Record<string, Record<string, unknown>>;
  // Tools that run without asking, by name.
  tools: string[];
  // Conversations are kept on the server too, for other devices.
  keepOnServer: boolean;
  // They were once: what changes while that is off is noted, and told when it is on again.
  wasKeptOnServer: boolean;
  // Of the server. In the tab's session storage unless `rememberKey`; in no export.
  apiKey: string;
  rememberKey: boolean;
}

export type Origin = 'server' | 'model' | 'preset' | 'chat';

// Parameters as they hold, each with where it comes from.
export interface Effective {
  values: Record<string, unknown>;
  origin: Record<string, Origin>;
  // Whether the model is to think, after these values.
  thinking: boolean;
}
