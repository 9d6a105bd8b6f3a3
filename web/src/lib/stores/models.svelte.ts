// The models that there are, on the server and in this tab, and which of them is chosen.
import type { ModelInfo, RunsOn, ServerState, TabState } from '../types/engine.ts';

export interface Choice {
  model: string;
  runsOn: RunsOn;
}

class Models {
  list = $state.raw<ModelInfo[]>([]);
  server = $state.raw<ServerState>({ reachable: false, kind: 'none' });
  tab = $state.raw<TabState>({ able: false, device: 'none' });
  chosen = $state.raw<Choice | undefined>(undefined);

  // Begins to follow the server and this tab; gives the function that ends it.
  start(): () => void {
    return () => undefined;
  }
  // Asks both again, as after a key was typed.
  async refresh(): Promise<void> {}
  find(_model: string, _runsOn: RunsOn): ModelInfo | undefined {
    return undefined;
  }
  choose(_model: string, _runsOn: RunsOn): void {}
  // Tokens a second: the median of the last five answers of this model there.
  rate(_model: string, _runsOn: RunsOn): number | undefined {
    return undefined;
  }
  // An answer has ended: what it measured.
  measured(_model: string, _runsOn: RunsOn, _tokensPerSecond: number): void {}
  async load(_model: string, _runsOn: RunsOn): Promise<void> {}
  async unload(_model: string, _runsOn: RunsOn): Promise<void> {}
  // `address`: a name of a registry or catalogue, or hf:owner/repo/file.gguf.
  async download(_address: string, _runsOn: RunsOn): Promise<void> {}
  // Ends a download or a load; what has come of a download is kept.
  cancel(_model: string, _runsOn: RunsOn): void {}
  async remove(_model: string, _runsOn: RunsOn): Promise<void> {}
  // Files of this device for this tab's engine; gives the model's id.
  async drop(_files: File[], _keep: boolean): Promise<string> {
    return '';
  }
  // Tokens of the prompt of a draft, for the gauge; undefined where nobody can tell.
  async count(_choice: Choice, _messages: import('../types/engine.ts').ChatMessage[], _signal?: AbortSignal): Promise<number | undefined> {
    return undefined;
  }
}

export const models = new Models();
