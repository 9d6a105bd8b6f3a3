#include "cli/serve_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>

#include "base/log.h"
#include "cli/options.h"
#include "cli/output.h"

namespace puna::cli {

using base::ErrorCode;
using base::Result;

namespace {

using Read = Result<void> (*)(ServeFlags& flags, std::string_view option, std::string_view value);

// A flag with a value; without a type, a switch, which is read as "true".
struct Flag {
  const char* names;  // "-c,--ctx-size": the last is its name
  const char* type;   // of --help
  const char* help;
  Read read;
  const char* environment = nullptr;  // behind PUNA_ and LLAMA_ARG_
  const char* other = nullptr;        // a whole further variable
};

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    if (end > 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

Result<bool> truth(std::string_view option, std::string_view value) {
  for (const std::string_view yes : {"true", "1", "on", "enabled"}) {
    if (value == yes) return true;
  }
  for (const std::string_view no : {"false", "0", "off", "disabled"}) {
    if (value == no) return false;
  }
  return base::fail(ErrorCode::kUsage,
                    fmt::format("{} is \"{}\", but on or off is expected.", option, value));
}

// Where a flag's value goes.
template <auto kMember>
Result<void> text(ServeFlags& flags, std::string_view, std::string_view value) {
  std::invoke(kMember, flags) = value;
  return {};
}
template <auto kMember>
Result<void> server_text(ServeFlags& flags, std::string_view, std::string_view value) {
  std::invoke(kMember, flags.server) = value;
  return {};
}
template <auto kMember>
Result<void> model_text(ServeFlags& flags, std::string_view, std::string_view value) {
  std::invoke(kMember, flags.model) = value;
  return {};
}
template <auto kMember>
Result<void> texts(ServeFlags& flags, std::string_view, std::string_view value) {
  std::invoke(kMember, flags) = parts_of(value);
  return {};
}
template <auto kMember>
Result<void> server_texts(ServeFlags& flags, std::string_view, std::string_view value) {
  std::invoke(kMember, flags.server) = parts_of(value);
  return {};
}
template <auto kMember, bool kIs = true>
Result<void> server_switch(ServeFlags& flags, std::string_view option, std::string_view value) {
  PUNA_TRY(const bool on, truth(option, value));
  std::invoke(kMember, flags.server) = on == kIs;
  return {};
}
template <auto kMember>
Result<void> model_switch(ServeFlags& flags, std::string_view option, std::string_view value) {
  PUNA_TRY(std::invoke(kMember, flags.model), truth(option, value));
  return {};
}

Result<void> read_port(ServeFlags& flags, std::string_view option, std::string_view value) {
  PUNA_TRY(const int port, parse_number<int>(option, value, {0, 65535}));
  flags.port = static_cast<uint16_t>(port);
  return {};
}

// "127.0.0.1:11434" or "0.0.0.0", with a scheme or without.
Result<void> read_ollama_host(ServeFlags& flags, std::string_view option, std::string_view value) {
  if (const size_t scheme = value.find("://"); scheme != std::string_view::npos)
    value.remove_prefix(scheme + 3);
  while (value.ends_with('/')) value.remove_suffix(1);
  const size_t colon = value.rfind(':');
  const bool has_port = colon != std::string_view::npos && value.find(']', colon) == value.npos &&
                        (value.starts_with('[') || value.find(':') == colon);
  if (has_port) PUNA_TRY(read_port(flags, option, value.substr(colon + 1)));
  std::string_view host = has_port ? value.substr(0, colon) : value;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (!host.empty()) flags.hosts = {std::string(host)};
  return {};
}

Result<void> read_keys(ServeFlags& flags, std::string_view, std::string_view value) {
  for (std::string& key : parts_of(value)) flags.server.api_keys.push_back(std::move(key));
  return {};
}

Result<void> read_key_file(ServeFlags& flags, std::string_view option, std::string_view value) {
  std::ifstream file{std::string(value)};
  if (!file) {
    return base::fail(ErrorCode::kUsage,
                      fmt::format("{}: the file \"{}\" cannot be read.", option, value));
  }
  for (std::string line; std::getline(file, line);) {
    while (line.ends_with('\r') || line.ends_with(' ')) line.pop_back();
    if (!line.empty()) flags.server.api_keys.push_back(line);
  }
  return {};
}

Result<void> read_parallel(ServeFlags& flags, std::string_view option, std::string_view value) {
  constexpr uint32_t kUsual = 16;
  PUNA_TRY(const int n, parse_number<int>(option, value, {-1, 256}));
  if (n == 0) return base::fail(ErrorCode::kUsage, fmt::format("{} is 0.", option));
  flags.n_parallel = n < 0 ? kUsual : static_cast<uint32_t>(n);
  return {};
}

Result<void> read_pool(ServeFlags& flags, std::string_view option, std::string_view value) {
  PUNA_TRY(const uint32_t n, parse_number<uint32_t>(option, value, kCounts));
  flags.pool_tokens.reset();
  if (n > 0) flags.pool_tokens = n;
  return {};
}

Result<void> read_context(ServeFlags& flags, std::string_view option, std::string_view value) {
  PUNA_TRY(flags.model.context, parse_number<uint32_t>(option, value, kCounts));
  return {};
}

Result<void> read_cache_ram(ServeFlags& flags, std::string_view option, std::string_view value) {
  constexpr uint64_t kNoLimit = uint64_t{1} << 40;
  PUNA_TRY(const int64_t mib, parse_number<int64_t>(option, value, {-1, int64_t{1} << 40}));
  flags.cache_ram_mib = mib < 0 ? kNoLimit : static_cast<uint64_t>(mib);
  return {};
}

Result<void> read_layers(ServeFlags& flags, std::string_view option, std::string_view value) {
  flags.model.gpu_layers.reset();
  if (value == "auto" || value == "all" || value == "-1") return {};
  PUNA_TRY(flags.model.gpu_layers, parse_number<uint32_t>(option, value, kCounts));
  return {};
}

Result<void> read_device(ServeFlags& flags, std::string_view, std::string_view value) {
  flags.model.device = value == "none" ? "cpu" : value;
  return {};
}

Result<void> read_threads(ServeFlags& flags, std::string_view option, std::string_view value) {
  flags.model.threads.reset();
  PUNA_TRY(const int n, parse_number<int>(option, value, {-1, 1024}));
  if (n > 0) flags.model.threads = n;
  return {};
}

// Keys and values are of one type.
Result<void> read_kv_type(ServeFlags& flags, std::string_view option, std::string_view value) {
  if (!kernels::kv_type_named(value)) {
    return base::fail(
        ErrorCode::kUsage,
        fmt::format("{} is \"{}\"; f32, f16, q8_0 and q4_0 are possible.", option, value));
  }
  if (!flags.model.kv_type.empty() && flags.model.kv_type != value) {
    return base::fail(
        ErrorCode::kUsage,
        fmt::format("{} is {}, but keys and values have one type, and the other is {}.", option,
                    value, flags.model.kv_type));
  }
  flags.model.kv_type = value;
  return {};
}

Result<void> read_numerics(ServeFlags& flags, std::string_view option, std::string_view value) {
  if (value != "exact" && value != "fast") {
    return base::fail(ErrorCode::kUsage,
                      fmt::format("{} is \"{}\"; exact and fast are possible.", option, value));
  }
  flags.model.numerics = value;
  return {};
}

template <class T>
Result<void> read_seconds(T& to, std::string_view option, std::string_view value) {
  PUNA_TRY(const uint32_t n, parse_number<uint32_t>(option, value, {0, 31'536'000}));
  to = std::chrono::seconds(n);
  return {};
}

Result<void> read_max_body(ServeFlags& flags, std::string_view option, std::string_view value) {
  PUNA_TRY(const uint32_t mib, parse_number<uint32_t>(option, value, {1, 4096}));
  flags.server.limits.body_bytes = size_t{mib} << 20;
  return {};
}

constexpr Flag kFlags[] = {
    {"-m,--model", "TEXT", "A name in the store or catalogue, a .gguf path or a folder",
     model_text<&ModelFlags::model>, "MODEL"},
    {"-a,--alias", "NAME,...", "Names that the model answers to beside its own",
     texts<&ServeFlags::aliases>, "ALIAS"},
    {"--tags", "TEXT,...", "What /v1/models says of the model", texts<&ServeFlags::tags>, "TAGS"},
    {"--host", "ADDRESS,...", "Addresses to listen on, or paths of Unix sockets (*.sock)",
     texts<&ServeFlags::hosts>, "HOST"},
    {"--port", "INT", "Port (0 = any that is free; default: 8080, and 11434 where both are free)",
     read_port, "PORT"},
    {"--reuse-port", nullptr, "Others may listen on the port too",
     server_switch<&server::Options::reuse_port>, "REUSE_PORT"},
    {"--api-prefix", "PATH", "Stands before all paths", server_text<&server::Options::api_prefix>,
     "API_PREFIX"},
    {"--api-key", "KEY,...", "Keys, one of which a client has to give", read_keys, "API_KEY",
     "LLAMA_API_KEY"},
    {"--api-key-file", "PATH", "A file of keys, one a line", read_key_file, "API_KEY_FILE"},
    {"--no-auth", nullptr, "Listens beyond this machine without asking for a key",
     [](ServeFlags& flags, std::string_view option, std::string_view value) -> Result<void> {
       PUNA_TRY(flags.no_auth, truth(option, value));
       return {};
     },
     "NO_AUTH"},
    {"--hosts", "NAME,...", "Further names that clients may call the server by",
     server_texts<&server::Options::hosts>, "HOSTS"},
    {"--ssl-key-file", "PATH", "Private key of TLS (PEM)", server_text<&server::Options::key_file>,
     "SSL_KEY_FILE"},
    {"--ssl-cert-file", "PATH", "Certificate of TLS (PEM)",
     server_text<&server::Options::certificate_file>, "SSL_CERT_FILE"},
    {"--cors-origins", "ORIGIN,...", "Whose pages may use the server (default: localhost)",
     server_texts<&server::Options::origins>, "CORS_ORIGINS", "OLLAMA_ORIGINS"},
    {"--cors-methods", "TEXT", "Methods that pages may use",
     server_text<&server::Options::cors_methods>, "CORS_METHODS"},
    {"--cors-headers", "TEXT", "Headers that pages may send",
     server_text<&server::Options::cors_headers>, "CORS_HEADERS"},
    {"--cors-credentials", nullptr, "Pages may send credentials",
     server_switch<&server::Options::cors_credentials>, "CORS_CREDENTIALS"},
    {"--timeout", "SECONDS", "For a body to come, and for a write that stands still (3600)",
     [](ServeFlags& flags, std::string_view option, std::string_view value) {
       return read_seconds(flags.server.limits.timeout, option, value);
     },
     "TIMEOUT"},
    {"--sse-ping-interval", "SECONDS", "Streams show that they live so often (30; 0 = never)",
     [](ServeFlags& flags, std::string_view option, std::string_view value) {
       return read_seconds(flags.server.ping, option, value);
     },
     "SSE_PING_INTERVAL"},
    {"--threads-http", "INT", "Threads that read requests (default: one per core)",
     [](ServeFlags& flags, std::string_view option, std::string_view value) -> Result<void> {
       PUNA_TRY(const int n, parse_number<int>(option, value, {-1, 1024}));
       flags.server.n_threads = n > 0 ? static_cast<uint32_t>(n) : 0;
       return {};
     },
     "THREADS_HTTP"},
    {"--queue", "INT", "Texts that may wait; beyond them requests are refused (512)",
     [](ServeFlags& flags, std::string_view option, std::string_view value) -> Result<void> {
       PUNA_TRY(flags.server.queue, parse_number<uint32_t>(option, value, {1, 1'000'000}));
       return {};
     },
     "QUEUE", "OLLAMA_MAX_QUEUE"},
    {"--max-body", "MIB", "Largest body of a request (64)", read_max_body, "MAX_BODY"},
    {"--drain", "SECONDS", "What is under way has so long to end after SIGTERM (30)",
     [](ServeFlags& flags, std::string_view option, std::string_view value) {
       return read_seconds(flags.drain, option, value);
     },
     "DRAIN"},
    {"-c,--ctx-size", "INT", "Tokens of all texts together (0 = a context for each)", read_pool,
     "CTX_SIZE"},
    {"--ctx", "INT", kAboutContext, read_context, "CTX", "OLLAMA_CONTEXT_LENGTH"},
    {"--parallel", "INT", "Texts that are written at once (16; -1 = that)", read_parallel,
     "N_PARALLEL", "OLLAMA_NUM_PARALLEL"},
    {"--cache-ram", "MIB", "Host memory for what leaves the cache (8192; 0 = none, -1 = no limit)",
     read_cache_ram, "CACHE_RAM"},
    {"--step-ms", "MS", "What a step with prompts may take while texts are written (100)",
     [](ServeFlags& flags, std::string_view option, std::string_view value) -> Result<void> {
       PUNA_TRY(flags.step_ms, parse_number<double>(option, value, {1, 60'000}));
       return {};
     },
     "STEP_MS"},
    {"--gpu-layers,--n-gpu-layers", "INT", "Layers that go to the GPU (auto = as many as fit)",
     read_layers, "N_GPU_LAYERS"},
    {"--device", "TEXT", "auto, gpu, gpu:N or cpu", read_device, "DEVICE"},
    {"-t,--threads", "INT", "Threads to compute with on the CPU", read_threads, "THREADS"},
    {"--kv-type", "TEXT", "Type of the KV cache: f32, f16, q8_0 or q4_0", read_kv_type, "KV_TYPE",
     "OLLAMA_KV_CACHE_TYPE"},
    {"--cache-type-k", "TEXT", "The same", read_kv_type, "CACHE_TYPE_K"},
    {"--cache-type-v", "TEXT", "The same", read_kv_type, "CACHE_TYPE_V"},
    {"--numerics", "TEXT", "exact or fast", read_numerics, "NUMERICS"},
    {"--mlock", nullptr, "Keeps the weights from being swapped out (CPU)",
     model_switch<&ModelFlags::lock_memory>, "MLOCK"},
    {"--no-mmap", nullptr, "Reads all weights into memory (CPU)", model_switch<&ModelFlags::no_map>,
     "NO_MMAP"},
    {"--metrics", nullptr, "Serves /metrics (on)", server_switch<&server::Options::metrics>,
     "ENDPOINT_METRICS"},
    {"--no-metrics", nullptr, "Does not", server_switch<&server::Options::metrics, false>,
     "NO_METRICS"},
    {"--log-jsonl", "PATH", "A line of JSON for each request goes there",
     text<&ServeFlags::log_jsonl>, "LOG_JSONL"},
    {"-v,--verbose", nullptr, "Logs what happens on stderr", model_switch<&ModelFlags::verbose>,
     "VERBOSE"},
};

// llama-server's flags that say what is always so here, or nothing here; a value is taken and
// passed over.
struct NoEffect {
  const char* name;
  bool has_value;
};
constexpr NoEffect kNoEffect[] = {
    {"--flash-attn", true},
    {"--batch-size", true},
    {"--ubatch-size", true},
    {"--cont-batching", false},
    {"--kv-unified", false},
    {"--cache-prompt", false},
    {"--cache-reuse", true},
    {"--swa-full", false},
    {"--warmup", false},
    {"--no-warmup", false},
    {"--repack", false},
    {"--numa", true},
    {"--threads-batch", true},
    {"--poll", true},
    {"--prio", true},
    {"--jinja", false},
    {"--no-webui", false},
    {"--no-ui", false},
    {"--slot-prompt-similarity", true},
    {"--main-gpu", true},
};
// Those whose effect nobody should miss without knowing; with an issue of their own or against
// what Puna is.
constexpr const char* kRefused[] = {
    "--lora",
    "--lora-scaled",
    "--model-draft",
    "--spec-type",
    "--mmproj",
    "--grammar",
    "--grammar-file",
    "--json-schema",
    "--rpc",
    "--override-tensor",
    "--cpu-moe",
    "--override-kv",
    "--control-vector",
    "--rope-scaling",
    "--rope-freq-base",
    "--yarn-ext-factor",
    "--split-mode",
    "--tensor-split",
    "--embedding",
    "--reranking",
    "--pooling",
    "--chat-template",
    "--chat-template-file",
    "--reasoning-budget",
    "--slot-save-path",
    "--models-dir",
    "--models-max",
    "--context-shift",
    "--n-predict",
    "--temp",
    "--top-k",
    "--top-p",
    "--min-p",
    "--seed",
    "--path",
    "--tools",
    "--hf-repo",
    "--model-url",
};

constexpr std::pair<std::string_view, std::string_view> kShort[] = {
    {"-np", "--parallel"},        {"-cram", "--cache-ram"},
    {"-ngl", "--gpu-layers"},     {"-dev", "--device"},
    {"-ctk", "--cache-type-k"},   {"-ctv", "--cache-type-v"},
    {"-to", "--timeout"},         {"-fa", "--flash-attn"},
    {"-b", "--batch-size"},       {"-ub", "--ubatch-size"},
    {"-cb", "--cont-batching"},   {"-kvu", "--kv-unified"},
    {"-tb", "--threads-batch"},   {"-sps", "--slot-prompt-similarity"},
    {"-mg", "--main-gpu"},        {"-hf", "--hf-repo"},
    {"-mu", "--model-url"},       {"-md", "--model-draft"},
    {"-ot", "--override-tensor"}, {"-cmoe", "--cpu-moe"},
    {"-sm", "--split-mode"},      {"-ts", "--tensor-split"},
    {"-mm", "--mmproj"},
};

std::string name_of(const Flag& flag) {
  const std::string_view names = flag.names;
  return std::string(names.substr(names.rfind(',') + 1));
}

}  // namespace

std::string spell_serve_flag(std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  for (const auto& [shorter, longer] : kShort) {
    if (name == shorter) return std::string(longer) + std::string(word.substr(name.size()));
  }
  return std::string(word);
}

void add_serve_flags(CLI::App& app, ServeFlags& flags) {
  for (const Flag& flag : kFlags) {
    if (flag.type) {
      add_value(app,
                {.names = flag.names, .type = flag.type, .help = flag.help, .given_default = {}},
                [&flags, &flag](std::string_view option, std::string_view value) {
                  return flag.read(flags, option, value);
                });
    } else {
      app.add_flag_callback(
          flag.names, [&flags, &flag] { (void)flag.read(flags, flag.names, "true"); }, flag.help);
    }
  }
  for (const NoEffect& flag : kNoEffect) {
    const auto say = [name = flag.name] {
      base::log_info("{} has no effect here: it is always so, or never needed.", name);
    };
    if (flag.has_value) {
      app.add_option_function<std::string>(
             flag.name, [say](const std::string&) { say(); }, "")
          ->group("");
    } else {
      app.add_flag_callback(flag.name, say, "")->group("");
    }
  }
  for (const char* name : kRefused) {
    app.add_option_function<std::vector<std::string>>(
           name,
           [name](const std::vector<std::string>&) {
             throw CLI::ValidationError(fmt::format("{} is not supported", name));
           },
           "")
        ->group("")
        ->expected(0, 1);
  }
}

Result<void> read_environment(const CLI::App& app, ServeFlags& flags) {
  for (const Flag& flag : kFlags) {
    if (!flag.environment || app.get_option(name_of(flag))->count() > 0) continue;
    const std::string names[] = {fmt::format("PUNA_{}", flag.environment),
                                 fmt::format("LLAMA_ARG_{}", flag.environment),
                                 flag.other ? flag.other : ""};
    for (const std::string& name : names) {
      const char* value = name.empty() ? nullptr : std::getenv(name.c_str());
      if (!value) continue;
      PUNA_TRY(flag.read(flags, name, value));
      if (!name.starts_with("PUNA_")) print_err("{} is taken from {}.\n", name_of(flag), name);
      break;
    }
  }
  const bool asked = app.get_option("--host")->count() + app.get_option("--port")->count() > 0;
  if (const char* value = std::getenv("OLLAMA_HOST"); value && !asked && flags.hosts.empty()) {
    PUNA_TRY(read_ollama_host(flags, "OLLAMA_HOST", value));
    print_err("--host is taken from OLLAMA_HOST.\n");
  }
  return {};
}

}  // namespace puna::cli
