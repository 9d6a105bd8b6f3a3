// The flags of puna serve. They have the names of llama-server's where they mean the same, so that
// one can switch by renaming the program; what has a meaning there and none here is taken with a
// line, or refused, by name. Each also comes from the environment: PUNA_ and its name, then
// llama-server's variable, then Ollama's; a flag comes before all of them. Read next: table.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/model_flags.h"
#include "server/options.h"
#include "service/defaults.h"

namespace CLI {
class App;
}

namespace puna::cli {

namespace serve {
struct Flag;
}

struct ServeFlags {
  // Listening:
  server::Options server;
  std::vector<std::string> hosts;  // to listen on
  std::optional<uint16_t> port;
  bool no_auth = false;
  std::string key_file;           // read again after SIGHUP; empty: none
  std::vector<std::string> keys;  // that did not come from it
  std::chrono::seconds drain{30};
  bool web = true;  // the page is served

  // The model, and the room for texts:
  ModelFlags model;
  service::MmprojOptions mmproj;
  bool finds_mmproj = true;  // false: no encoder is taken, whoever names one
  std::vector<std::string> aliases, tags;
  bool offline = false;
  bool embeddings = false;
  std::optional<models::Pooling> pooling;
  uint32_t n_parallel = 16;             // texts that are written at once
  std::optional<uint64_t> pool_tokens;  // of the cache, of all texts together
  bool splits_pool = false;             // a text may have no more than its share of them
  std::optional<uint32_t> share;        // that each text is promised; none: nothing is
  uint64_t cache_ram_mib = 8192;
  double step_ms = 100;
  bool one_gpu = false;                    // whatever it has room for
  std::optional<uint32_t> n_replicas = 1;  // of a model; none: one on each GPU with room
  engine::Fit fit;
  bool kv_on_cpu = false;  // is asked for
  bool check_weights = false;
  bool shifts = false;            // where the context of a text is full
  std::optional<int64_t> n_keep;  // of its first tokens then; below 0: the prompt
  std::optional<uint32_t> states_each, state_interval;  // of recurrent states

  // What requests mean where neither they nor the model say it; each changes Puna's own values, in
  // this order.
  std::vector<std::function<void(service::Defaults&)>> defaults;
  std::optional<service::Think> think;
  std::optional<service::Think> effort;
  std::string chat_template;  // Jinja, in place of the model's; empty: that

  std::string slot_folder;  // where texts of slots are saved; empty: nowhere

  // Where no model is named: all that there are, as they are asked for.
  struct Many {
    std::string folder;                 // of further models; empty: none
    std::string presets;                // a file of what is set for some alone; empty: none
    uint32_t most = 0;                  // that are loaded at once; 0: as many as fit
    bool autoload = true;               // when they are asked for
    std::optional<double> sleep_after;  // seconds without a request; none: never
    double keep_alive = 300;            // seconds; below 0: for ever
    double load_timeout = 300;          // seconds in which a load gets no further; below 0: any
    std::vector<std::string> given;     // which of these flags there were
  };
  Many many;

  // What is written:
  struct Log {
    int verbosity = 3;  // as llama-server has it: 1 errors, 2 warnings, 3 information, 4 all
    bool disabled = false;
    bool timestamps = false;
    bool prefix = false;                               // with the level
    enum class Colors : uint8_t { kAuto, kOn, kOff };  // kAuto: where stderr is a terminal
    Colors colors = Colors::kAuto;
    std::string file;  // a path besides stderr; empty: none
  };
  Log log;
  std::string log_jsonl;  // a path, or "-", which is stdout; empty: none
  bool lists_devices = false;
  std::string web_store;  // a file for the page's conversations; empty: none

  std::vector<std::string> notes;  // lines about flags without effect, and foreign variables
};

// What stands on a command line, values that were found to be fine.
using GivenFlags = std::vector<std::pair<const serve::Flag*, std::string>>;

// Declares them. `given` outlives the parse.
void add_serve_flags(CLI::App& app, GivenFlags& given);

// After the parse: what the environment says of flags that were not given, then those that were.
// Errors: kUsage naming the variable.
base::Result<ServeFlags> read_serve_flags(const GivenFlags& given);

// The flags of a model among several: what the environment says, then `preset`, which is in the
// order in which it counts, then `given`. Errors: as above.
base::Result<ServeFlags> read_model_flags(const GivenFlags& given, const GivenFlags& preset);

// The keys of a file, one a line; # begins a comment. Errors: kIo for a file that cannot be read,
// or has none.
base::Result<std::vector<std::string>> read_keys(const std::string& path);

// From now on what is logged goes where the flags say. Errors: kIo where a file cannot be written.
base::Result<void> open_log(const ServeFlags::Log& log);

}  // namespace puna::cli
