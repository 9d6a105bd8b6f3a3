// The flags of puna serve. They have the names of llama-server's where they mean the same, so that
// one can switch by renaming the program; what has a meaning there and none here is taken with a
// line, or refused, by name. Each also comes from the environment: PUNA_*, then LLAMA_ARG_*, then
// OLLAMA_*; a flag comes before all of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/model_flags.h"
#include "server/options.h"

namespace CLI {
class App;
}

namespace puna::cli {

struct ServeFlags {
  ModelFlags model;
  server::Options server;
  std::vector<std::string> hosts;  // to listen on
  std::optional<uint16_t> port;
  std::vector<std::string> aliases, tags;
  bool no_auth = false;
  uint32_t n_parallel = 16;             // texts that are written at once
  std::optional<uint64_t> pool_tokens;  // of the cache, of all texts together
  uint64_t cache_ram_mib = 8192;
  double step_ms = 100;
  std::chrono::seconds drain{30};
  std::string log_jsonl;  // a path; empty: none
};

// Declares them. `flags` outlives the parse.
void add_serve_flags(CLI::App& app, ServeFlags& flags);

// After the parse: what the environment says of flags that were not given, and lines for what has
// no effect. Errors: kUsage naming the variable.
base::Result<void> read_environment(const CLI::App& app, ServeFlags& flags);

// llama-server's short flags of several letters as the long ones that they stand for: "-np" is
// "--parallel".
std::string spell_serve_flag(std::string_view word);

}  // namespace puna::cli
