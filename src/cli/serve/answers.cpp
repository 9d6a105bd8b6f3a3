// Which routes are on, and what is written of what happens.
#include <limits>

#include "cli/serve/table.h"

namespace puna::cli::serve {
namespace {

using base::Result;
using server::Options;

constexpr int kAll = std::numeric_limits<int>::max();

std::function<void(ServeFlags&, bool)> route(bool Options::* to) {
  return [to](ServeFlags& flags, bool on) { flags.server.*to = on; };
}

// llama-server's is a switch; its log of JSON is all there is on standard output.
Result<void> read_jsonl(ServeFlags& flags, std::string_view, std::string_view value) {
  const auto is_on = truth("", value);
  flags.log_jsonl = is_on ? (*is_on ? "-" : "") : std::string(value);
  return {};
}

std::vector<Flag> answers_rows() {
  std::vector<Flag> out;
  out.push_back(with(on_off("--metrics,!--no-metrics", "GET /metrics is answered; the default",
                            route(&Options::metrics)),
                     "LLAMA_ARG_ENDPOINT_METRICS"));
  out.push_back(
      with(on_off("--slots,!--no-slots", "/slots is answered; the default", route(&Options::slots)),
           "LLAMA_ARG_ENDPOINT_SLOTS"));
  out.push_back(
      with(text("--slot-save-path", "PATH", "The folder where texts of slots are saved",
                [](ServeFlags& flags, std::string path) { flags.slot_folder = std::move(path); }),
           "LLAMA_ARG_SLOT_SAVE_PATH"));
  out.push_back(with(on_off("--props", "POST /props is answered; nothing can be changed by it",
                            route(&Options::props)),
                     "LLAMA_ARG_ENDPOINT_PROPS"));
  out.push_back(with(on_off("--web,!--no-web", "The web page is answered at /; the default",
                            [](ServeFlags& flags, bool on) { flags.web = on; }),
                     "LLAMA_ARG_UI",
                     "--ui=--web,--no-ui=--no-web,--webui=--web,--no-webui=--no-web"));
  out.push_back(
      text("--web-store", "PATH",
           "A file (SQLite) that keeps conversations of the page for the devices of each "
           "API key, where the page is told to",
           [](ServeFlags& flags, std::string path) { flags.web_store = std::move(path); }));
  Flag jsonl = value("--log-jsonl", "PATH",
                     "A line of JSON for each request goes there; without a path, or -: to "
                     "standard output",
                     read_jsonl);
  jsonl.bare = "-";
  out.push_back(with(std::move(jsonl), "LLAMA_ARG_LOG_JSONL", "--no-log-jsonl=--log-jsonl=off"));
  out.push_back(with(on_off("-v,--verbose",
                            "Logs all that there is, and requests are verbose unless they say "
                            "otherwise",
                            [](ServeFlags& flags, bool on) {
                              if (!on) return;
                              flags.log.verbosity = kAll;
                              flags.defaults.emplace_back(
                                  [](service::Defaults& defaults) { defaults.verbose = true; });
                            }),
                     nullptr, "--log-verbose"));
  out.push_back(with(number<int>("--verbosity", {0, kAll},
                                 "What is logged: 1 = errors, 2 = warnings too, 3, the default: "
                                 "requests too, 4 = all",
                                 [](ServeFlags& flags, int n) { flags.log.verbosity = n; }),
                     "LLAMA_ARG_LOG_VERBOSITY", "-lv,--log-verbosity"));
  out.push_back(
      with(text("--log-file", "PATH", "The log goes there too",
                [](ServeFlags& flags, std::string path) { flags.log.file = std::move(path); }),
           "LLAMA_ARG_LOG_FILE"));
  out.push_back(on_off("--log-disable", "Nothing is logged",
                       [](ServeFlags& flags, bool on) { flags.log.disabled = on; }));
  out.push_back(
      with(on_off("--log-timestamps,!--no-log-timestamps", "Lines of the log begin with the time",
                  [](ServeFlags& flags, bool on) { flags.log.timestamps = on; }),
           "LLAMA_ARG_LOG_TIMESTAMPS"));
  out.push_back(with(
      on_off("--log-prefix,!--no-log-prefix", "Lines of the log begin with a letter of their level",
             [](ServeFlags& flags, bool on) { flags.log.prefix = on; }),
      "LLAMA_ARG_LOG_PREFIX"));
  Flag colors = choice("--log-colors", {"on", "off", "auto"},
                       "Lines of the log have colours: on, off or auto; default: auto, on a "
                       "terminal",
                       [](ServeFlags& flags, std::string_view value) {
                         using Colors = ServeFlags::Log::Colors;
                         flags.log.colors = value == "on"    ? Colors::kOn
                                            : value == "off" ? Colors::kOff
                                                             : Colors::kAuto;
                       });
  colors.bare = "on";
  out.push_back(with(std::move(colors), "LLAMA_ARG_LOG_COLORS"));
  out.push_back(on_off("--list-devices", "Prints the devices and ends",
                       [](ServeFlags& flags, bool on) { flags.lists_devices = on; }));
  return out;
}

}  // namespace

std::span<const Flag> answer_flags() {
  static const std::vector<Flag> kRows = answers_rows();
  return kRows;
}

}  // namespace puna::cli::serve
