// What a page's worker calls: one model on one device. Requests and answers are JSON; every request
// has a number that the caller chose, and is answered once, after any number of events. Requests
// may be sent while others are under way, but for "load".
#include <emscripten/emscripten.h>
#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <utility>

#include "api/fields.h"
#include "api/openai/chat.h"
#include "api/openai/completions.h"
#include "api/openai/embeddings.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/device_check.h"
#include "formats/folder.h"
#include "formats/open.h"
#include "gpu/web/web_device.h"
#include "kernels/matmul/cpu_matrix.h"
#include "kernels/sample/sample.h"
#include "page_media.h"
#include "page_sink.h"
#include "page_source.h"
#include "service/bench.h"
#include "service/embed.h"
#include "service/host_here.h"
#include "service/kept.h"
#include "service/model.h"
#include "service/request_media.h"

// page.js
extern "C" {
// kind: 0 an event, 1 the answer, 2 an error.
void puna_page_answer(uint32_t request, int kind, const char* json, size_t bytes);
// The answer, as bytes that the page copies.
void puna_page_answer_bytes(uint32_t request, const void* bytes, size_t n);
// Answers puna_page_resume from the event loop.
void puna_page_later(uint32_t resume);
void puna_page_log(int level, const char* text, size_t bytes);
}

namespace puna::page {
namespace {

using base::ErrorCode;
using base::fail;
using base::Json;
using base::Result;
using base::Task;

// A prompt is evaluated in chunks of about so long, so that the page can draw in between.
constexpr double kTurnMs = 100;
// Between two reports of progress.
constexpr double kProgressMs = 50;
// Tokens of a text that is written on while its reader is behind.
constexpr size_t kQueued = 16;

// A text that is being written, and whether its reader is behind.
struct Text {
  std::unique_ptr<service::Answer> answer;
  std::function<void(const service::Event&)> tell;
  std::function<void(bool)> done;  // all of it has been told
  bool behind = false;
};

std::unique_ptr<service::HostHere> g_host;
std::map<uint32_t, std::shared_ptr<service::Control>> g_controls;  // by request
std::map<uint32_t, Text> g_texts;                                  // by request
std::map<uint32_t, std::function<void()>> g_resume;
uint32_t g_last_resume = 0;

void answer(uint32_t request, int kind, const Json& json) {
  const std::string text = json.dump();
  puna_page_answer(request, kind, text.data(), text.size());
}
void tell(uint32_t request, const Json& json) { answer(request, 0, json); }

Json error_json(const base::Error& error) {
  return Json::object().set("code", base::name(error.code)).set("message", error.text());
}
Json ids_json(std::span<const int32_t> ids) {
  Json out = Json::array();
  for (const int32_t id : ids) out.push(id);
  return out;
}

// Runs the task of a request and answers it; what gives no JSON has answered itself.
void start(uint32_t request, Task<Result<std::optional<Json>>> task) {
  base::deliver<Result<std::optional<Json>>>(std::move(task),
                                             [request](Result<std::optional<Json>> result) {
                                               g_controls.erase(request);
                                               if (!result) {
                                                 answer(request, 2, error_json(result.error()));
                                               } else if (*result) {
                                                 answer(request, 1, **result);
                                               }
                                             });
}

Result<service::Host*> host() {
  if (g_host) return g_host.get();
  return fail(ErrorCode::kInvalidArgument, "No model is loaded.");
}

// A job of the host.
template <class T>
Task<Result<T>> on_engine(service::Host& host, service::Host::Job<T> job) {
  co_return co_await base::await_callback<Result<T>>([&](std::function<void(Result<T>)> done) {
    host.post_job<T>(std::move(job), std::move(done));
  });
}

// Tells what has come of a text, while its reader keeps up. What a cancelled text still has waits
// for nobody.
void read(uint32_t request) {
  const auto found = g_texts.find(request);
  if (found == g_texts.end()) return;
  Text& text = found->second;
  const std::atomic<bool>& cancelled = g_controls[request]->cancel;
  while (!text.behind || cancelled) {
    const auto event = text.answer->next();
    if (!event) break;
    text.tell(*event);
  }
  if (text.answer->ended()) std::exchange(text.done, nullptr)(true);
}

void give_way(std::function<void()> resume) {
  g_resume[++g_last_resume] = std::move(resume);
  puna_page_later(g_last_resume);
}

Json memory_json(const engine::Engine& engine) {
  const plan::MemoryUse use = engine.memory();
  Json out = Json::object();
  out.set("weights_bytes", use.weights).set("kv_bytes", use.kv).set("arena_bytes", use.arena);
  return out.set("staging_bytes", use.staging);
}

// --- loading

// {parts: [{path, size, at_once}]}; a single part is a file, several are a folder.
Task<Result<formats::ModelFile>> open_parts(std::string name, Json options) {
  struct Part {
    uint32_t index;
    uint64_t size;
    bool at_once;
  };
  std::map<std::string, Part> parts;
  const Json* list = options.find("parts");
  if (list == nullptr || !list->is_array() || list->items().empty())
    co_return fail(ErrorCode::kInvalidArgument, "A model has at least one part.");
  for (const Json& item : list->items()) {
    PUNA_CO_TRY(const std::string path, item.get_string("path"));
    PUNA_CO_TRY(const double size, item.get_number("size"));
    PUNA_CO_TRY(const bool at_once, item.get_bool("at_once"));
    parts[path] = {static_cast<uint32_t>(parts.size()), static_cast<uint64_t>(size), at_once};
  }
  if (parts.size() == 1) {
    const auto& [path, part] = *parts.begin();
    co_return co_await formats::open_model(part_source(part.index, path, part.size, part.at_once));
  }
  formats::ModelFolder folder;
  folder.path = name;
  folder.open = [parts, name](const std::string& path) -> Result<std::unique_ptr<io::ByteSource>> {
    const auto found = parts.find(path.substr(name.size() + 1));
    if (found == parts.end())
      return fail(ErrorCode::kNotFound, fmt::format("The file \"{}\" does not exist.", path));
    const Part& part = found->second;
    return part_source(part.index, path, part.size, part.at_once);
  };
  co_return co_await formats::load_folder(std::move(folder));
}

Result<engine::EngineOptions> engine_options(const Json& options, uint32_t request) {
  engine::EngineOptions out;
  out.turn_ms = kTurnMs;
  out.give_way = give_way;
  out.hooks.cancel = &g_controls[request]->cancel;
  out.hooks.on_progress = [request, last = base::Timer(), told = false](uint64_t done,
                                                                        uint64_t total) mutable {
    if (told && done < total && last.ms() < kProgressMs) return;
    told = true;
    last = {};
    tell(request, Json::object().set("done", done).set("total", total));
  };
  if (options.find("context") != nullptr) {
    PUNA_TRY(const int64_t context, options.get_integer("context"));
    if (context < 0 || context > UINT32_MAX)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("A context of {} tokens is asked for.", context));
    out.context = static_cast<uint32_t>(context);
  }
  if (options.find("parallel") != nullptr) {
    PUNA_TRY(const int64_t parallel, options.get_integer("parallel"));
    if (parallel < 1 || parallel > int64_t{kernels::kMaxBatch})
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} texts are to be written at the same time; 1 to {} can be.",
                              parallel, kernels::kMaxBatch));
    out.n_sequences = static_cast<uint32_t>(parallel);
  }
  if (options.find("threads") != nullptr) {
    PUNA_TRY(const int64_t threads, options.get_integer("threads"));
    out.n_threads = static_cast<int>(threads);
  }
  if (options.find("numerics") != nullptr) {
    PUNA_TRY(const std::string numerics, options.get_string("numerics"));
    if (numerics != "exact" && numerics != "fast")
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("Numerics are exact or fast, not \"{}\".", numerics));
    out.numerics = numerics == "exact" ? kernels::Numerics::kExact : kernels::Numerics::kFast;
  }
  if (options.find("kv_type") != nullptr) {
    PUNA_TRY(const std::string type, options.get_string("kv_type"));
    const auto known = kernels::kv_type_named(type);
    if (!known)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("The cache can be f32, f16, q8_0 or q4_0, not \"{}\".", type));
    out.kv_type = *known;
  }
  return out;
}

bool lists(const Json* list, std::string_view text) {
  if (list == nullptr || !list->is_array()) return false;
  for (const Json& item : list->items()) {
    if (item.is_string() && item.string() == text) return true;
  }
  return false;
}

struct OpenedDevice {
  service::DeviceUse use;
  std::string self_test = "not run";
};

// {gpu: {handle, facts, baseline, check, passed}} or no gpu: the CPU, because of `why`. `passed`
// are the keys of checks that need not be made again; one that is made is told of as {checked:
// key}.
Task<Result<OpenedDevice>> open_device(uint32_t request, Json options, kernels::Numerics numerics) {
  OpenedDevice out;
  service::DeviceUse& use = out.use;
  PUNA_CO_TRY(use.why, options.get_string("why"));
  const Json* gpu = options.find("gpu");
  if (gpu == nullptr || gpu->is_null()) {
    PUNA_CO_TRY(const int64_t threads, options.get_integer("threads"));
    use.name = fmt::format("CPU ({}, {} thread{})", kernels::cpu_variant(), threads,
                           threads == 1 ? "" : "s");
    co_return out;
  }
  PUNA_CO_TRY(const int64_t handle, gpu->get_integer("handle"));
  PUNA_CO_TRY(const bool baseline, gpu->get_bool("baseline"));
  const Json* facts = gpu->find("facts");
  PUNA_CO_TRY(gpu::DeviceInfo info, gpu::web::parse_info(facts == nullptr ? Json() : *facts));
  use.name = info.name;
  PUNA_CO_TRY(use.device,
              co_await gpu::web::open(static_cast<uint32_t>(handle), std::move(info), baseline));
  PUNA_CO_TRY(const bool check, gpu->get_bool("check"));
  if (!check) co_return out;
  const std::string key = engine::check_key(use.device->info(), numerics);
  if (lists(gpu->find("passed"), key)) {
    out.self_test = "passed before";
    co_return out;
  }
  PUNA_CO_TRY(co_await engine::check_device(*use.device, numerics));
  tell(request, Json::object().set("checked", key));
  out.self_test = "passed";
  co_return out;
}

Json describe(const service::LoadedModel& loaded, const std::string& why,
              const std::string& self_test, double load_ms) {
  const engine::Engine& engine = *loaded.engine;
  const gpu::Device* gpu = engine.device();
  Json features = Json::array();
  if (gpu != nullptr) {
    const gpu::DeviceInfo& info = gpu->info();
    if (info.f16) features.push("shader-f16");
    if (info.subgroups)
      features.push(fmt::format("subgroups-{}-{}", info.subgroup_min, info.subgroup_max));
    if (info.dot4) features.push("dot4");
  }
  Json device = Json::object();
  device.set("type", gpu == nullptr ? "cpu" : "gpu").set("name", loaded.device_name);
  device.set("features", std::move(features)).set("why", why).set("selfTest", self_test);
  Json out = Json::object();
  out.set("name", loaded.name).set("architecture", engine.config().architecture);
  out.set("device", std::move(device)).set("context", engine.context());
  out.set("trained_context", engine.config().context).set("vocab", engine.config().vocab);
  out.set("chat", loaded.chat_template.has_value());
  out.set("embeddings", engine.options().embeddings);
  out.set("media", media_json(loaded.senses.get()));
  out.set("threads", engine.n_threads()).set("parallel", engine.options().n_sequences);
  return out.set("memory", memory_json(engine)).set("load_ms", load_ms);
}

Task<Result<std::optional<Json>>> load(uint32_t request, Json options) {
  const base::Timer timer;
  PUNA_CO_TRY(const std::string name, options.get_string("name"));
  PUNA_CO_TRY(engine::EngineOptions engine, engine_options(options, request));
  PUNA_CO_TRY(formats::ModelFile file, co_await open_parts(name, options));
  PUNA_CO_TRY(const models::Config config, models::read_config(file));
  engine.embeddings = !config.causal || config.pooling.has_value();
  PUNA_CO_TRY(OpenedDevice device, co_await open_device(request, options, engine.numerics));
  const std::string why = device.use.why;
  const Json* const parts = options.find("parts");
  PUNA_CO_TRY(std::shared_ptr<service::Senses> senses,
              co_await load_senses(options, static_cast<uint32_t>(parts->items().size()),
                                   device.use, engine, config.hidden));
  PUNA_CO_TRY(
      service::LoadedModel model,
      co_await service::load(name, std::move(file), std::move(device.use), std::move(engine)));
  model.senses = std::move(senses);
  g_host = std::make_unique<service::HostHere>(std::move(model), give_way,
                                               service::HostOptions{.n_queued = kQueued});
  co_return describe(g_host->model(), why, device.self_test, timer.ms());
}

// --- using

// The name that a client calls the model by, which answers repeat.
std::string model_name(const service::LoadedModel& loaded, const Json& body) {
  const Json* name = body.find("model");
  return name != nullptr && name->is_string() ? name->string() : loaded.name;
}

// Of a chat or a text completion: one answer, whose calls come when they are complete, since a
// page that has taken one in cannot give it back.
Result<service::Request> only_request(api::AnswerFields answer) {
  if (answer.n != 1)
    return fail(ErrorCode::kUnsupported,
                fmt::format("The field \"n\" is {}, but a page gives one answer.", answer.n));
  answer.request.stream_arguments = false;
  return std::move(answer.request);
}
Result<service::Request> only_request(api::openai::Completion completion) {
  if (completion.prompts.list.size() != 1)
    return fail(ErrorCode::kUnsupported,
                fmt::format("The field \"prompt\" has {} prompts, but a page answers one.",
                            completion.prompts.list.size()));
  PUNA_TRY(service::Request request, only_request(std::move(completion.answer)));
  return api::with_prompt(std::move(request), std::move(completion.prompts.list.front()));
}

// Both kinds of completion: their chunks are events, but the last, which is the answer.
template <class Chunks>
Task<Result<std::optional<Json>>> complete(uint32_t request, service::Host& host,
                                           service::Request asked, Chunks chunks) {
  asked.control = g_controls[request];
  PUNA_CO_TRY(co_await encode_media(host, asked));
  PUNA_CO_TRY(service::Prepared prepared, service::prepare(host.model(), std::move(asked)));
  Text text;
  text.tell = [&](const service::Event& event) {
    if (auto chunk = chunks.next(event)) tell(request, *chunk);
  };
  PUNA_CO_TRY(text.answer, host.post(std::move(prepared), [request] { read(request); }));
  service::Answer& answer = *text.answer;
  co_await base::await_callback<bool>([&](std::function<void(bool)> done) {
    text.done = std::move(done);
    g_texts[request] = std::move(text);
  });
  Result<service::Reply> reply = answer.reply();
  g_texts.erase(request);
  if (!reply) co_return std::unexpected(std::move(reply.error()));
  Json last = chunks.last(*reply);
  last.set("usage", api::openai::usage_json(reply->stats));
  co_return last.set("timings", api::openai::timings_json(reply->stats));
}

// A page has no door for who would end the thinking of a chat by its id.
Result<api::openai::Chat> read_chat(const Json& body, const service::LoadedModel& model) {
  PUNA_TRY(api::openai::Chat chat, api::openai::read_chat(body, model));
  if (chat.controlled)
    return api::cannot("reasoning_control", "thinking cannot be ended from outside in a page");
  return chat;
}

Task<Result<std::optional<Json>>> chat(uint32_t request, Json body) {
  PUNA_CO_TRY(service::Host * host, page::host());
  const service::LoadedModel& model = host->model();
  PUNA_CO_TRY(api::openai::Chat chat, read_chat(body, model));
  PUNA_CO_TRY(service::Request asked, only_request(std::move(chat.answer)));
  api::openai::ChatChunks chunks(api::openai::new_head("chatcmpl", model_name(model, body)),
                                 /*index=*/0, chat.form, model.tokenizer.get());
  tell(request, chunks.first());
  co_return co_await complete(request, *host, std::move(asked), std::move(chunks));
}

Task<Result<std::optional<Json>>> text(uint32_t request, Json body) {
  PUNA_CO_TRY(service::Host * host, page::host());
  const service::LoadedModel& model = host->model();
  PUNA_CO_TRY(api::openai::Completion completion, api::openai::read_completion(body, model));
  const std::string shown =
      completion.form.echo ? api::text_of(completion.prompts.list.front(), model) : "";
  const api::openai::CompletionForm form = completion.form;
  PUNA_CO_TRY(service::Request asked, only_request(std::move(completion)));
  api::openai::CompletionChunks chunks(api::openai::new_head("cmpl", model_name(model, body)),
                                       /*index=*/0, form, shown, model.tokenizer.get());
  if (const auto first = chunks.first()) tell(request, *first);
  co_return co_await complete(request, *host, std::move(asked), std::move(chunks));
}

Task<Result<std::optional<Json>>> embed(uint32_t, Json body) {
  PUNA_CO_TRY(service::Host * host, page::host());
  PUNA_CO_TRY(api::openai::Embeddings asked, api::openai::read_embeddings(body, host->model()));
  // A page gets what the model computes, as it always has.
  if (body.find("embd_normalize") == nullptr) asked.norm = -1;
  PUNA_CO_TRY(auto rows, co_await on_engine<std::vector<std::vector<float>>>(
                             *host, [&](service::LoadedModel& model) {
                               return service::embed(model, asked.inputs.tokens);
                             }));
  co_return api::openai::embeddings_json(asked, std::move(rows), model_name(host->model(), body));
}

// {text, special}
Task<Result<std::optional<Json>>> tokenize(uint32_t, Json body) {
  PUNA_CO_TRY(service::Host * host, page::host());
  PUNA_CO_TRY(const tokenizer::Tokenizer* tokenizer, service::tokenizer_of(host->model()));
  PUNA_CO_TRY(const std::string input, body.get_string("text"));
  PUNA_CO_TRY(const bool special, body.get_bool("special"));
  co_return ids_json(tokenizer->encode(input, {special, special}));
}

Result<std::vector<int32_t>> ids_of(const Json& body) {
  const Json* list = body.find("tokens");
  return api::token_ids("tokens", list == nullptr ? Json() : *list);
}

// {tokens}: the bytes of the text.
Task<Result<std::optional<Json>>> detokenize(uint32_t request, Json body) {
  PUNA_CO_TRY(service::Host * host, page::host());
  PUNA_CO_TRY(const tokenizer::Tokenizer* tokenizer, service::tokenizer_of(host->model()));
  PUNA_CO_TRY(const std::vector<int32_t> ids, ids_of(body));
  const std::string bytes = tokenizer->decode(ids, /*special=*/true);
  puna_page_answer_bytes(request, bytes.data(), bytes.size());
  co_return std::nullopt;
}

// {tokens}: float32 [n_tokens, vocab].
Task<Result<std::optional<Json>>> logits(uint32_t request, Json body) {
  PUNA_CO_TRY(service::Host * host, page::host());
  PUNA_CO_TRY(std::vector<int32_t> ids, ids_of(body));
  PUNA_CO_TRY(const std::vector<float> out,
              co_await on_engine<std::vector<float>>(*host, [&](service::LoadedModel& model) {
                return service::logits(model, std::move(ids));
              }));
  puna_page_answer_bytes(request, out.data(), out.size() * sizeof(float));
  co_return std::nullopt;
}

Result<service::Request> request_of(const service::LoadedModel& model, const std::string& kind,
                                    const Json& body) {
  if (kind == "chat") {
    PUNA_TRY(api::openai::Chat chat, read_chat(body, model));
    return only_request(std::move(chat.answer));
  }
  PUNA_TRY(api::openai::Completion completion, api::openai::read_completion(body, model));
  return only_request(std::move(completion));
}

// A chat: {tokens}, how many its prompt has.
Task<Result<std::optional<Json>>> count(uint32_t, Json body) {
  PUNA_CO_TRY(service::Host * host, page::host());
  PUNA_CO_TRY(service::Request wanted, request_of(host->model(), "chat", body));
  PUNA_CO_TRY(service::count_media(host->model(), std::span(&wanted, 1)));
  PUNA_CO_TRY(const std::vector<int32_t> tokens, service::prompt_tokens(host->model(), wanted));
  co_return Json::object().set("tokens", tokens.size());
}

// {part, size, sense, shape} (page_media.h): float32 [n_rows, width].
Task<Result<std::optional<Json>>> rows(uint32_t request, Json body) {
  PUNA_CO_TRY(service::Host * host, page::host());
  PUNA_CO_TRY(const std::vector<float> out, co_await media_rows(*host, body));
  puna_page_answer_bytes(request, out.data(), out.size() * sizeof(float));
  co_return std::nullopt;
}

// {prompt, files} (page_media.h): float32 [n_tokens, vocab].
Task<Result<std::optional<Json>>> media_logits(uint32_t request, Json body) {
  PUNA_CO_TRY(service::Host * host, page::host());
  PUNA_CO_TRY(engine::Prompt prompt, co_await marked_prompt(*host, body));
  PUNA_CO_TRY(const std::vector<float> out,
              co_await on_engine<std::vector<float>>(*host, [&](service::LoadedModel& model) {
                return service::logits(model, std::move(prompt));
              }));
  puna_page_answer_bytes(request, out.data(), out.size() * sizeof(float));
  co_return std::nullopt;
}

// {phase: "prefill" or "decode", tokens, depth}: milliseconds that `tokens` take behind `depth`.
Task<Result<std::optional<Json>>> bench(uint32_t, Json body) {
  PUNA_CO_TRY(service::Host * host, page::host());
  PUNA_CO_TRY(const std::string phase, body.get_string("phase"));
  PUNA_CO_TRY(const int64_t tokens, body.get_integer("tokens"));
  PUNA_CO_TRY(const int64_t depth, body.get_integer("depth"));
  if (tokens < 1 || tokens > UINT32_MAX || depth < 0 || depth > UINT32_MAX)
    co_return fail(ErrorCode::kInvalidArgument,
                   fmt::format("{} tokens behind {} cannot be measured.", tokens, depth));
  using Kind = service::Phase::Kind;
  const service::Phase measured = {phase == "prefill" ? Kind::kPrefill : Kind::kDecode,
                                   static_cast<uint32_t>(tokens), static_cast<uint32_t>(depth)};
  PUNA_CO_TRY(const double ms, co_await on_engine<double>(*host, [&](service::LoadedModel& model) {
                return service::time_phase(model, measured);
              }));
  co_return Json::object().set("ms", ms);
}

// --- keeping texts (kept_prefixes.ts)

// {model}: what pieces have to have in common.
Task<Result<std::optional<Json>>> identity(uint32_t, Json body) {
  PUNA_CO_TRY(service::Host * host, page::host());
  PUNA_CO_TRY(const std::string model, body.get_string("model"));
  co_return service::identity(host->model(), model);
}

// {kind: "chat" or "complete", request}: the tokens of its prompt, and how many the cache holds.
Task<Result<std::optional<Json>>> prompt(uint32_t, Json body) {
  PUNA_CO_TRY(service::Host * host, page::host());
  PUNA_CO_TRY(const std::string kind, body.get_string("kind"));
  const Json* request = body.find("request");
  const Json& asked = request == nullptr ? body : *request;
  PUNA_CO_TRY(service::Request wanted, request_of(host->model(), kind, asked));
  PUNA_CO_TRY(const service::Prepared prepared, service::prepare(host->model(), std::move(wanted)));
  co_return Json::object()
      .set("tokens", ids_json(prepared.prompt.tokens()))
      .set("n_cached", service::n_known(host->model(), prepared.prompt.tokens()));
}

// The texts that the cache holds, and where their pieces may end.
Task<Result<std::optional<Json>>> texts(uint32_t, Json) {
  PUNA_CO_TRY(service::Host * host, page::host());
  Json out = Json::array();
  for (const engine::Engine::KeptText& text : service::kept_texts(host->model())) {
    Json ends = Json::array();
    for (const uint32_t end : text.ends) ends.push(end);
    Json one = Json::object();
    out.push(one.set("tokens", ids_json(text.tokens)).set("ends", std::move(ends)));
  }
  co_return out;
}

// {tokens, first, model, file}: writes the piece of a text from `first` to its end to an open file
// of the page.
Task<Result<std::optional<Json>>> save(uint32_t request, Json body) {
  PUNA_CO_TRY(service::Host * host, page::host());
  PUNA_CO_TRY(std::vector<int32_t> ids, ids_of(body));
  PUNA_CO_TRY(const int64_t first, body.get_integer("first"));
  PUNA_CO_TRY(const int64_t file, body.get_integer("file"));
  PUNA_CO_TRY(const std::string model, body.get_string("model"));
  const auto sink = page_sink(static_cast<uint32_t>(file), g_controls[request]->cancel);
  PUNA_CO_TRY(co_await on_engine<void>(*host, [&](service::LoadedModel& loaded) {
    return service::save(loaded, std::move(ids), static_cast<uint32_t>(first), model, *sink);
  }));
  co_return Json::object();
}

// {tokens, model, pieces: [{part, size, at_once}]}: takes up pieces of a text, which follow each
// other; those after one that fails are left.
Task<Result<std::optional<Json>>> restore(uint32_t, Json body) {
  PUNA_CO_TRY(service::Host * host, page::host());
  PUNA_CO_TRY(const std::vector<int32_t> ids, ids_of(body));
  PUNA_CO_TRY(const std::string model, body.get_string("model"));
  const Json* list = body.find("pieces");
  if (list == nullptr || !list->is_array())
    co_return fail(ErrorCode::kInvalidArgument, "The pieces of a text are a list.");
  Json out = Json::object();
  uint32_t n_pieces = 0;
  for (const Json& item : list->items()) {
    PUNA_CO_TRY(const int64_t part, item.get_integer("part"));
    PUNA_CO_TRY(const int64_t size, item.get_integer("size"));
    PUNA_CO_TRY(const bool at_once, item.get_bool("at_once"));
    const auto piece = part_source(static_cast<uint32_t>(part), "a saved text",
                                   static_cast<uint64_t>(size), at_once);
    const auto restored = co_await on_engine<void>(*host, [&](service::LoadedModel& loaded) {
      return service::restore(loaded, ids, model, *piece);
    });
    if (!restored) {
      out.set("error", error_json(restored.error()));
      break;
    }
    ++n_pieces;
  }
  out.set("n_cached", service::n_known(host->model(), ids)).set("n_pieces", n_pieces);
  co_return out;
}

struct Operation {
  std::string_view name;
  Task<Result<std::optional<Json>>> (*run)(uint32_t request, Json body);
};
constexpr Operation kOperations[] = {{"bench", bench},           {"chat", chat},
                                     {"complete", text},         {"count", count},
                                     {"detokenize", detokenize}, {"embed", embed},
                                     {"identity", identity},     {"load", load},
                                     {"logits", logits},         {"media_logits", media_logits},
                                     {"media_rows", rows},       {"prompt", prompt},
                                     {"restore", restore},       {"save", save},
                                     {"texts", texts},           {"tokenize", tokenize}};

Task<Result<std::optional<Json>>> refuse(std::string why) {
  co_return fail(ErrorCode::kInvalidArgument, std::move(why));
}

void send(uint32_t request, std::string_view operation, std::string_view text) {
  g_controls[request] = std::make_shared<service::Control>();
  auto body = Json::parse(text);
  if (!body) return start(request, refuse(body.error().text()));
  for (const Operation& known : kOperations) {
    if (known.name == operation) return start(request, known.run(request, *std::move(body)));
  }
  start(request, refuse(fmt::format("There is no operation \"{}\".", operation)));
}

}  // namespace

extern "C" {
EMSCRIPTEN_KEEPALIVE void puna_init() {
  base::set_log_sink(
      [](base::LogLevel level, std::string_view text) {
        puna_page_log(static_cast<int>(level), text.data(), text.size());
      },
      base::LogLevel::kInfo);
}
// Takes over both texts.
EMSCRIPTEN_KEEPALIVE void puna_send(uint32_t request, char* operation, char* json) {
  const std::string name = operation, text = json;
  std::free(operation);
  std::free(json);
  send(request, name, text);
}
// A request that is over is passed over.
EMSCRIPTEN_KEEPALIVE void puna_cancel(uint32_t request) {
  const auto control = g_controls.find(request);
  if (control == g_controls.end()) return;
  control->second->cancel = true;
  const auto text = g_texts.find(request);
  if (text == g_texts.end()) return;
  text->second.answer->cancel();
  read(request);
}
// Whether the reader of the answer is behind. A request that is over is passed over.
EMSCRIPTEN_KEEPALIVE void puna_hold(uint32_t request, int on) {
  const auto text = g_texts.find(request);
  if (text == g_texts.end()) return;
  text->second.behind = on != 0;
  if (on == 0) read(request);
}
// Only while no request is under way.
EMSCRIPTEN_KEEPALIVE void puna_close() { g_host.reset(); }
EMSCRIPTEN_KEEPALIVE void puna_page_resume(uint32_t resume) {
  const auto found = g_resume.find(resume);
  if (found == g_resume.end()) return;
  const auto run = std::move(found->second);
  g_resume.erase(found);
  run();
}
}

}  // namespace puna::page
