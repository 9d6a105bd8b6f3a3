#include "cli/launch/programs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace puna::cli {
namespace {

using base::Json;

std::string number(uint64_t n) { return fmt::to_string(n); }

// Source: Claude Code's documentation, "Environment variables" and "Model configuration". All that
// it calls models by means the one there is.
Variables claude_variables(const LaunchSetup& setup) {
  Variables out = {{"ANTHROPIC_BASE_URL", setup.url},
                   {"ANTHROPIC_AUTH_TOKEN", setup.key},
                   // One that is set elsewhere would come before the token.
                   {"ANTHROPIC_API_KEY", ""},
                   {"ANTHROPIC_MODEL", setup.model},
                   {"ANTHROPIC_DEFAULT_OPUS_MODEL", setup.model},
                   {"ANTHROPIC_DEFAULT_SONNET_MODEL", setup.model},
                   {"ANTHROPIC_DEFAULT_HAIKU_MODEL", setup.model},
                   {"CLAUDE_CODE_SUBAGENT_MODEL", setup.model},
                   {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"}};
  if (setup.context > 0) out.emplace_back("CLAUDE_CODE_AUTO_COMPACT_WINDOW", number(setup.context));
  return out;
}

constexpr const char* kCodexKey = "PUNA_LAUNCH_KEY";

Variables codex_variables(const LaunchSetup& setup) { return {{kCodexKey, setup.key}}; }

// Codex takes providers from its configuration alone, parts of which -c gives for one run. Source:
// its documentation, "Advanced configuration".
std::vector<std::string> codex_arguments(const LaunchSetup& setup) {
  const auto text = [](std::string_view value) { return Json(value).dump(); };  // TOML's, too
  std::vector<std::string> settings = {
      "model=" + text(setup.model),
      "model_provider=" + text("puna"),
      "model_providers.puna.name=" + text("Puna"),
      "model_providers.puna.base_url=" + text(setup.url + "/v1"),
      "model_providers.puna.env_key=" + text(kCodexKey),
      "model_providers.puna.wire_api=" + text("responses"),
  };
  if (setup.context > 0) settings.push_back("model_context_window=" + number(setup.context));
  std::vector<std::string> out;
  for (std::string& setting : settings) {
    out.emplace_back("-c");
    out.push_back(std::move(setting));
  }
  return out;
}

// Source: opencode's documentation, "Config" and "Providers": a configuration may be the value of a
// variable.
Variables opencode_variables(const LaunchSetup& setup) {
  Json model = Json::object().set("name", setup.model);
  if (setup.context > 0) {
    constexpr uint64_t kAnswerShare = 4;  // of the context, at most
    model.set("limit", Json::object()
                           .set("context", setup.context)
                           .set("output", std::max<uint64_t>(setup.context / kAnswerShare, 1)));
  }
  Json provider = Json::object().set("npm", "@ai-sdk/openai-compatible").set("name", "Puna");
  provider.set("options",
               Json::object().set("baseURL", setup.url + "/v1").set("apiKey", setup.key));
  provider.set("models", Json::object().set(setup.model, std::move(model)));
  Json config = Json::object().set("$schema", "https://opencode.ai/config.json");
  config.set("model", "puna/" + setup.model).set("small_model", "puna/" + setup.model);
  config.set("provider", Json::object().set("puna", std::move(provider)));
  return {{"OPENCODE_CONFIG_CONTENT", config.dump()}};
}

// Source: aider's documentation, "Ollama": by this interface it asks the server for the context of
// a model itself.
Variables aider_variables(const LaunchSetup& setup) {
  return {{"OLLAMA_API_BASE", setup.url},
          {"OLLAMA_API_KEY", setup.key},
          {"AIDER_MODEL", "ollama_chat/" + setup.model},
          {"AIDER_WEAK_MODEL", "ollama_chat/" + setup.model},
          {"AIDER_SHOW_MODEL_WARNINGS", "false"}};
}

constexpr LaunchedProgram kPrograms[] = {
    {"claude", "Claude Code", "npm install -g @anthropic-ai/claude-code", claude_variables},
    {"codex", "Codex", "npm install -g @openai/codex", codex_variables, codex_arguments},
    {"opencode", "opencode", "npm install -g opencode-ai", opencode_variables},
    {"aider", "aider", "python3 -m pip install aider-install && aider-install", aider_variables},
};

}  // namespace

std::span<const LaunchedProgram> launched_programs() { return kPrograms; }

}  // namespace puna::cli
