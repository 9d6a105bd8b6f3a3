// Which model, where it runs, and how much room texts have.
#include <fmt/format.h>

#include <algorithm>

#include "api/answer_fields.h"
#include "cli/prompt_media.h"
#include "cli/serve/table.h"
#include "cli/usage.h"
#include "gpu/devices.h"

namespace puna::cli::serve {
namespace {

using base::ErrorCode;
using base::Result;
using models::Pooling;

constexpr Pooling kPoolings[] = {Pooling::kNone, Pooling::kMean, Pooling::kCls, Pooling::kLast,
                                 Pooling::kRank};

std::function<void(ServeFlags&, bool)> model_switch(bool ModelFlags::* to, bool on_is = true) {
  return [to, on_is](ServeFlags& flags, bool on) { flags.model.*to = on == on_is; };
}

Result<void> read_parallel(ServeFlags& flags, std::string_view option, std::string_view value) {
  constexpr uint32_t kUsual = 16;
  PUNA_TRY(const int n, parse_number<int>(option, value, {-1, api::kMostSlots}));
  if (n == 0) {
    return base::fail(
        ErrorCode::kUsage,
        fmt::format("{} is \"0\", but a server that writes no text serves none.", option));
  }
  flags.n_parallel = n < 0 ? kUsual : static_cast<uint32_t>(n);
  return {};
}

Result<void> read_layers(ServeFlags& flags, std::string_view option, std::string_view value) {
  flags.model.gpu_layers.reset();
  if (value == "auto" || value == "all" || value == "-1") return {};
  PUNA_TRY_CONTEXT(flags.model.gpu_layers, parse_number<uint32_t>(option, value, kCounts),
                   "auto, all or a number may be given");
  return {};
}

Result<void> read_experts(ServeFlags& flags, std::string_view option, std::string_view value) {
  PUNA_TRY(flags.model.cpu_experts, parse_cpu_experts(option, value));
  return {};
}

Result<void> read_device(ServeFlags& flags, std::string_view option, std::string_view value) {
  flags.model.device = value == "none" ? "cpu" : value;
  PUNA_TRY_CONTEXT(as_usage(gpu::check_device_name(flags.model.device)),
                   fmt::format("While reading {} \"{}\"", option, value));
  return {};
}

Result<void> read_replicas(ServeFlags& flags, std::string_view option, std::string_view value) {
  if (value == "auto") {
    flags.n_replicas.reset();
    return {};
  }
  PUNA_TRY(flags.n_replicas, parse_number<uint32_t>(option, value, {1, 64}));
  return {};
}

Result<void> read_shares(ServeFlags& flags, std::string_view option, std::string_view value) {
  PUNA_TRY(flags.model.gpu_shares, parse_shares(option, value));
  return {};
}

// Keys and values are of one type.
Result<void> read_kv_type(ServeFlags& flags, std::string_view option, std::string_view value) {
  static const std::vector<std::string> kTypes = {"f32", "f16", "q8_0", "q4_0"};
  if (std::ranges::find(kTypes, value) == kTypes.end()) return not_one_of(option, value, kTypes);
  if (!flags.model.kv_type.empty() && flags.model.kv_type != value) {
    return base::fail(
        ErrorCode::kUsage,
        fmt::format("{} is \"{}\", but keys and values have one type, and the other is {}.", option,
                    value, flags.model.kv_type));
  }
  flags.model.kv_type = value;
  return {};
}

// As llama-server calls the ways of loading; what lies in a mapped file is read when it is needed.
void set_load_mode(ServeFlags& flags, std::string_view mode) {
  flags.model.no_map = mode == "none";
  flags.model.lock_memory = mode.ends_with("mlock");
}

void set_pooling(ServeFlags& flags, std::string_view wanted) {
  for (const Pooling pooling : kPoolings) {
    if (name(pooling) == wanted) flags.pooling = pooling;
  }
}

std::vector<Flag> model_rows() {
  std::vector<Flag> out;
  out.push_back(
      with(text("-m,--model", "TEXT", "A name in the store or catalogue, a .gguf path or a folder",
                [](ServeFlags& flags, std::string value) { flags.model.model = std::move(value); }),
           "LLAMA_ARG_MODEL"));
  out.push_back(
      with(text("--mmproj", "FILE",
                "The model's encoder of pictures and sounds, an mmproj file; a path, or a name as "
                "the model's",
                [](ServeFlags& flags, std::string value) { flags.mmproj.path = std::move(value); }),
           "LLAMA_ARG_MMPROJ", "-mm"));
  out.push_back(with(on_off("--mmproj-auto,!--no-mmproj-auto",
                            "Takes the encoder that --mmproj names, or its variable; the "
                            "default",
                            [](ServeFlags& flags, bool on) { flags.finds_mmproj = on; }),
                     "LLAMA_ARG_MMPROJ_AUTO", "--no-mmproj=--no-mmproj-auto"));
  out.push_back(with(on_off("--mmproj-offload,!--no-mmproj-offload",
                            "The encoder is on the GPU, where there is one; the default",
                            [](ServeFlags& flags, bool on) { flags.mmproj.on_cpu = !on; }),
                     "LLAMA_ARG_MMPROJ_OFFLOAD"));
  out.push_back(on_off("--media-url",
                       "Fetches pictures and sounds that requests name by http and https "
                       "addresses, from public networks alone",
                       [](ServeFlags& flags, bool on) { flags.server.media_url = on; }));
  out.push_back(with(number<uint32_t>("--image-min-tokens", kPictureTokens,
                                      "At least this many tokens a picture, where its encoder "
                                      "can choose",
                                      [](ServeFlags& flags, uint32_t n) {
                                        flags.mmproj.picture_tokens.least = n;
                                      }),
                     "LLAMA_ARG_IMAGE_MIN_TOKENS"));
  out.push_back(with(
      number<uint32_t>("--image-max-tokens", kPictureTokens,
                       "At most this many tokens a picture, where its encoder can "
                       "choose; memory is planned for them",
                       [](ServeFlags& flags, uint32_t n) { flags.mmproj.picture_tokens.most = n; }),
      "LLAMA_ARG_IMAGE_MAX_TOKENS"));
  out.push_back(with(texts("-a,--alias", "NAME", "Names that the model answers to beside its own",
                           [](ServeFlags& flags, auto value) { flags.aliases = std::move(value); }),
                     "LLAMA_ARG_ALIAS"));
  out.push_back(with(texts("--tags", "TEXT", "What /v1/models says of the model",
                           [](ServeFlags& flags, auto value) { flags.tags = std::move(value); }),
                     "LLAMA_ARG_TAGS"));
  out.push_back(with(on_off("--offline", "Fetches nothing: the model has to be here",
                            [](ServeFlags& flags, bool on) { flags.offline = on; }),
                     "LLAMA_ARG_OFFLINE"));
  out.push_back(
      with(value("--device", "TEXT", kAboutDevice, read_device), "LLAMA_ARG_DEVICE", "-dev"));
  out.push_back(with(
      number<uint32_t>("--main-gpu", {0, 1024}, "The GPU by its number; 0 = the one that is chosen",
                       [](ServeFlags& flags, uint32_t n) {
                         if (n > 0) flags.model.device = fmt::format("gpu:{}", n);
                       }),
      "LLAMA_ARG_MAIN_GPU", "-mg"));
  out.push_back(with(value("--tensor-split", "SHARES", kAboutShares, read_shares),
                     "LLAMA_ARG_TENSOR_SPLIT", "-ts"));
  out.push_back(
      with(choice("--split-mode", {"layer", "none"},
                  "layer: a model that one GPU has no room for goes to several, layer by "
                  "layer; none: never",
                  [](ServeFlags& flags, std::string_view mode) { flags.one_gpu = mode == "none"; }),
           "LLAMA_ARG_SPLIT_MODE", "-sm"));
  out.push_back(value("--replicas", "N",
                      "Copies of a model, each whole on a GPU of its own, with --parallel texts "
                      "each; auto = one on every GPU of --device that has room",
                      read_replicas));
  out.push_back(with(value("--gpu-layers", "LAYERS",
                           "How many layers go to the GPU, the last ones; auto and all = as many "
                           "as fit",
                           read_layers),
                     "LLAMA_ARG_N_GPU_LAYERS", "-ngl,--n-gpu-layers"));
  out.push_back(with(value("--cpu-experts", "LAYERS", kAboutCpuExperts, read_experts),
                     "LLAMA_ARG_N_CPU_MOE", "-ncmoe,--n-cpu-moe"));
  out.push_back(with(on_off("--cpu-moe", "All experts are computed on the CPU: --cpu-experts all",
                            [](ServeFlags& flags, bool on) {
                              if (on) flags.model.cpu_experts = engine::kAllLayers;
                            }),
                     "LLAMA_ARG_CPU_MOE", "-cmoe"));
  out.push_back(
      with(number<int>("-t,--threads", {-1, 1024},
                       "Threads to compute with on the CPU; -1 and 0, the default: one per "
                       "physical core",
                       [](ServeFlags& flags, int n) {
                         flags.model.threads.reset();
                         if (n > 0) flags.model.threads = n;
                       }),
           "LLAMA_ARG_THREADS"));
  out.push_back(choice(
      "--numerics", {"exact", "fast"}, "exact (f32 activations) or fast (int8 activations allowed)",
      [](ServeFlags& flags, std::string_view value) { flags.model.numerics = value; }));
  out.push_back(with(on_off("--mlock", "Keeps the weights from being swapped out (CPU)",
                            model_switch(&ModelFlags::lock_memory)),
                     "LLAMA_ARG_MLOCK"));
  out.push_back(with(on_off("--mmap,!--no-mmap",
                            "Uses tables that are only looked up in where the file is mapped "
                            "(CPU); the default",
                            model_switch(&ModelFlags::no_map, /*on_is=*/false)),
                     "LLAMA_ARG_MMAP"));
  out.push_back(
      with(choice("--load-mode", {"auto", "none", "mmap", "mlock", "mmap+mlock"},
                  "The two above as one: auto, none, mmap, mlock or mmap+mlock", set_load_mode),
           "LLAMA_ARG_LOAD_MODE", "-lm"));
  out.push_back(with(number<uint32_t>("-c,--ctx-size", kCounts,
                                      "Tokens of all texts together; 0 = a context for each",
                                      [](ServeFlags& flags, uint32_t n) {
                                        flags.pool_tokens.reset();
                                        if (n > 0) flags.pool_tokens = n;
                                      }),
                     "LLAMA_ARG_CTX_SIZE"));
  out.push_back(number<uint32_t>(
      "--ctx", kCounts,
      "Tokens of one text at most; 0 = as trained; default: up to 8192, or --ctx-size",
      [](ServeFlags& flags, uint32_t n) { flags.model.context = n; }));
  out.back().ollama = "OLLAMA_CONTEXT_LENGTH";
  Flag parallel = number<int>("--parallel", {-1, 256},
                              "Texts that are written at once, at least 1; -1, the default: 16",
                              [](ServeFlags&, int) {});
  parallel.read = read_parallel;
  out.push_back(with(std::move(parallel), "LLAMA_ARG_N_PARALLEL", "-np"));
  out.back().ollama = "OLLAMA_NUM_PARALLEL";
  out.push_back(with(on_off("--kv-unified,!--no-kv-unified",
                            "A text may have all tokens of --ctx-size, or its share of them",
                            [](ServeFlags& flags, bool on) { flags.splits_pool = !on; }),
                     "LLAMA_ARG_KV_UNIFIED", "-kvu,-no-kvu=--no-kv-unified"));
  out.push_back(with(number<uint32_t>("--kv-unified-per-slot", kCounts,
                                      "Tokens of one text at most; without --ctx-size there is "
                                      "room for as many of each; 0, the default: not said",
                                      [](ServeFlags& flags, uint32_t n) {
                                        flags.share.reset();
                                        if (n > 0) flags.share = n;
                                      }),
                     "LLAMA_ARG_KV_UNIFIED_PER_SLOT"));
  out.push_back(
      with(number<int64_t>("--cache-ram", {-1, int64_t{1} << 40},
                           "MiB of host memory for what leaves the cache; 0 = none, -1 = no "
                           "limit; default: 8192",
                           [](ServeFlags& flags, int64_t mib) {
                             constexpr uint64_t kNoLimit = uint64_t{1} << 40;
                             flags.cache_ram_mib = mib < 0 ? kNoLimit : static_cast<uint64_t>(mib);
                           }),
           "LLAMA_ARG_CACHE_RAM", "-cram"));
  out.push_back(
      value("--kv-type", "TEXT", "Type of the KV cache: f32, f16, q8_0 or q4_0", read_kv_type));
  out.back().ollama = "OLLAMA_KV_CACHE_TYPE";
  out.push_back(with(value("--cache-type-k", "TEXT", "The same", read_kv_type),
                     "LLAMA_ARG_CACHE_TYPE_K", "-ctk"));
  out.push_back(with(value("--cache-type-v", "TEXT", "The same", read_kv_type),
                     "LLAMA_ARG_CACHE_TYPE_V", "-ctv"));
  out.push_back(number<double>("--step-ms", {1, 60'000},
                               "Milliseconds that a step with prompts may take at most while texts "
                               "are written; default: 100",
                               [](ServeFlags& flags, double ms) { flags.step_ms = ms; }));
  out.push_back(with(on_off("--embedding", "Loads the model for embeddings; it writes no text",
                            [](ServeFlags& flags, bool on) { flags.embeddings = on; }),
                     "LLAMA_ARG_EMBEDDINGS", "--embeddings"));
  out.push_back(with(on_off("--reranking", "The same for scores of texts beside a question",
                            [](ServeFlags& flags, bool on) {
                              if (!on) return;
                              flags.embeddings = true;
                              flags.pooling = Pooling::kRank;
                            }),
                     "LLAMA_ARG_RERANKING", "--rerank"));
  out.push_back(with(choice("--pooling", {"none", "mean", "cls", "last", "rank"},
                            "How tokens become one embedding: none, mean, cls, last or rank; "
                            "default: as the model says",
                            set_pooling),
                     "LLAMA_ARG_POOLING"));
  return out;
}

}  // namespace

std::span<const Flag> model_flags() {
  static const std::vector<Flag> kRows = model_rows();
  return kRows;
}

}  // namespace puna::cli::serve
