// The models of a server or router, put together from what its routes tell of them.
import { EngineError, type ModelInfo, type ModelState, type ServerState } from '../../types/engine.ts';
import { json, type ServerAddress } from './connection.ts';

interface Props {
  role?: string;
  build_info?: string;
  default_generation_settings?: { params?: Record<string, unknown>; n_ctx?: number };
  modalities?: { vision?: boolean; audio?: boolean };
  chat_template_caps?: Record<string, unknown>;
}

interface Listed {
  id: string;
  aliases?: string[];
  status?: { value: string; failed?: boolean; error?: string };
  architecture?: { input_modalities?: string[] };
  meta?: { n_ctx?: number; n_ctx_train?: number; size?: number; ftype?: string | null } | null;
  can_remove?: boolean;
}

// As Ollama's routes list models: also those that are not loaded.
interface Tagged {
  name: string;
  size?: number;
  details?: { family?: string; quantization_level?: string; context_length?: number };
  capabilities?: string[];
}

export interface ServerModels {
  state: ServerState;
  models: ModelInfo[];
}

const STATES: Record<string, ModelState> = {
  unloaded: 'unloaded',
  downloading: 'downloading',
  loading: 'loading',
  loaded: 'loaded',
  sleeping: 'sleeping',
};

// What templates with levels of thinking know (docs/chat.md).
const EFFORTS = ['low', 'medium', 'high'];

// Throws EngineError where the server is not reachable, or does not let the page ask.
export async function listModels(server: ServerAddress, signal?: AbortSignal): Promise<ServerModels> {
  const ask = { signal: signal ?? null };
  const props = await json<Props>(server, 'props', ask);
  const [{ data }, tags] = await Promise.all([
    json<{ data: Listed[] }>(server, 'v1/models', ask),
    // Servers of others have none.
    json<{ models: Tagged[] }>(server, 'api/tags', ask).catch(() => ({ models: [] })),
  ]);
  const router = props.role === 'router';
  const models = await Promise.all(
    data.map(async (listed) => {
      const tagged = tags.models.find((each) => isOf(each.name, listed));
      const state = STATES[listed.status?.value ?? 'loaded'] ?? 'unloaded';
      const own = router ? await propsOf(server, listed, state, signal) : props;
      return describe(listed, state, tagged, own, router);
    }),
  );
  const state: ServerState = { reachable: true, kind: router ? 'router' : 'server' };
  if (props.build_info) state.version = props.build_info;
  return { state, models };
}

async function propsOf(server: ServerAddress, { id }: Listed, state: ModelState, signal?: AbortSignal): Promise<Props> {
  if (state !== 'loaded') return {};
  // It may have gone meanwhile, and is not to be loaded for this.
  return json<Props>(server, `props?model=${encodeURIComponent(id)}&autoload=false`, { signal: signal ?? null }).catch(
    (error) => {
      if (error instanceof EngineError) return {};
      throw error;
    },
  );
}

const bare = (name: string) => name.toLowerCase().replace(/:latest$/, '');

function isOf(name: string, { id, aliases = [] }: Listed): boolean {
  return [id, ...aliases].some((each) => bare(each) === bare(name));
}

function describe(
  listed: Listed,
  state: ModelState,
  tagged: Tagged | undefined,
  props: Props,
  router: boolean,
): ModelInfo {
  const { meta, status } = listed;
  const caps = props.chat_template_caps ?? {};
  const abilities = tagged?.capabilities ?? [];
  const inputs = listed.architecture?.input_modalities ?? [];
  const info: ModelInfo = {
    id: listed.id,
    runsOn: 'server',
    state: status?.failed ? 'failed' : state,
    images: props.modalities?.vision ?? (inputs.includes('image') || abilities.includes('vision')),
    audio: props.modalities?.audio ?? (inputs.includes('audio') || abilities.includes('audio')),
    thinks: abilities.includes('thinking'),
    tools: caps['supports_tools'] === true || abilities.includes('tools'),
    thinkingSwitch: caps['supports_thinking_switch'] === true,
    efforts: caps['supports_reasoning_effort'] === true ? EFFORTS : [],
    here: true,
    switchable: router,
    removable: router && listed.can_remove === true,
    defaults: props.default_generation_settings?.params ?? {},
  };
  if (status?.error) info.why = status.error;
  set(info, 'architecture', tagged?.details?.family);
  set(info, 'quantization', meta?.ftype || tagged?.details?.quantization_level);
  set(info, 'bytes', meta?.size || tagged?.size);
  set(info, 'contextTokens', meta?.n_ctx || props.default_generation_settings?.n_ctx);
  set(info, 'trainedContextTokens', meta?.n_ctx_train || tagged?.details?.context_length);
  return info;
}

function set<K extends keyof ModelInfo>(
  info: ModelInfo,
  key: K,
  value: ModelInfo[K] | undefined | null | '' | 0,
): void {
  if (value) info[key] = value;
}
