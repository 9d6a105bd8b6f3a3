// Which models there are where none is named, and how long they stay.
#include <fmt/format.h>

#include "cli/seconds.h"
#include "cli/serve/table.h"

namespace puna::cli::serve {
namespace {

using base::ErrorCode;
using base::Result;

constexpr uint32_t kMostModels = 1024;

// Notes that it was given: it means nothing where there is one model.
Flag noted(Flag flag) {
  flag.read = [read = std::move(flag.read), name = flag.name()](
                  ServeFlags& flags, std::string_view option,
                  std::string_view value) -> Result<void> {
    PUNA_TRY(read(flags, option, value));
    flags.many.given.push_back(name);
    return {};
  };
  return flag;
}

std::vector<Flag> many_rows() {
  std::vector<Flag> out;
  out.push_back(
      with(text("--models-dir", "PATH", "Models of this folder are served, too",
                [](ServeFlags& flags, std::string path) { flags.many.folder = std::move(path); }),
           "LLAMA_ARG_MODELS_DIR"));
  out.push_back(
      with(text("--models-preset", "PATH",
                "A file of flags for models: [NAME], then lines \"flag = value\"; those of [*] are "
                "for all",
                [](ServeFlags& flags, std::string path) { flags.many.presets = std::move(path); }),
           "LLAMA_ARG_MODELS_PRESET"));
  out.push_back(
      with(number<uint32_t>("--models-max", {0, kMostModels},
                            "Models that are loaded at once; 0, the default: as many as fit",
                            [](ServeFlags& flags, uint32_t n) { flags.many.most = n; }),
           "LLAMA_ARG_MODELS_MAX"));
  out.back().ollama = "OLLAMA_MAX_LOADED_MODELS";
  out.push_back(with(on_off("--models-autoload,!--no-models-autoload",
                            "A model is loaded when a request names it; the default",
                            [](ServeFlags& flags, bool on) { flags.many.autoload = on; }),
                     "LLAMA_ARG_MODELS_AUTOLOAD"));
  out.push_back(
      value("--keep-alive", "TIME",
            "How long a model stays that nobody uses: seconds or a duration; -1 = for "
            "ever; default: 5m",
            [](ServeFlags& flags, std::string_view option, std::string_view value) -> Result<void> {
              PUNA_TRY(flags.many.keep_alive, read_seconds(option, value));
              return {};
            }));
  out.back().ollama = "OLLAMA_KEEP_ALIVE";
  out.push_back(
      value("--sleep-idle-seconds", "TIME",
            "So long after its last request a model gives its memory back, and comes with the "
            "next; -1, the default: never",
            [](ServeFlags& flags, std::string_view option, std::string_view value) -> Result<void> {
              PUNA_TRY(const double seconds, read_seconds(option, value));
              flags.many.sleep_after.reset();
              if (seconds >= 0) flags.many.sleep_after = seconds;
              return {};
            }));
  out.push_back(value(
      "--load-timeout", "TIME",
      "A model that is being loaded is given up when it gets no further for so long; -1 = never; "
      "default: 5m",
      [](ServeFlags& flags, std::string_view option, std::string_view value) -> Result<void> {
        PUNA_TRY(flags.many.load_timeout, read_seconds(option, value));
        if (flags.many.load_timeout != 0) return {};
        return base::fail(
            ErrorCode::kUsage,
            fmt::format("{} is \"{}\", in which no model can be loaded.", option, value));
      }));
  out.back().ollama = "OLLAMA_LOAD_TIMEOUT";
  for (Flag& flag : out) flag = noted(std::move(flag));
  return out;
}

}  // namespace

std::span<const Flag> many_flags() {
  static const std::vector<Flag> kRows = many_rows();
  return kRows;
}

}  // namespace puna::cli::serve
