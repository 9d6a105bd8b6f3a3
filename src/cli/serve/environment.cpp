// The flags of puna serve from the environment.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>

#include "cli/serve/table.h"

namespace puna::cli {

using base::ErrorCode;
using base::Result;

namespace serve {
namespace {

// One that is empty counts as not set.
const char* variable(const std::string& name) {
  const char* value = name.empty() ? nullptr : std::getenv(name.c_str());
  return value && *value ? value : nullptr;
}

// "--ctx-size" is PUNA_CTX_SIZE.
std::string variable_of(const std::string& name) {
  std::string out = "PUNA_" + name.substr(2);
  for (char& c : out) c = c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return out;
}

// Of a switch that can be negated: "--metrics,!--no-metrics" has PUNA_NO_METRICS too.
std::string own_negated_variable(const Flag& flag) {
  const size_t negated = flag.names.find(",!--");
  if (negated == std::string::npos) return {};
  const std::string name = flag.names.substr(negated + 2);
  return variable_of(name.substr(0, name.find(',')));
}

// llama-server knows LLAMA_ARG_NO_X, whatever its value is.
std::string negated_variable(const Flag& flag) {
  constexpr std::string_view kPrefix = "LLAMA_ARG_";
  const std::string_view name = flag.llama ? flag.llama : "";
  if (!flag.names.contains(",!") || !name.starts_with(kPrefix)) return {};
  return fmt::format("{}NO_{}", kPrefix, name.substr(kPrefix.size()));
}

// "127.0.0.1:11434" or "0.0.0.0", with a scheme or without, as clients have it too.
Result<void> read_address(ServeFlags& flags, std::string_view name, std::string_view value) {
  const std::string_view whole = value;
  if (const size_t scheme = value.find("://"); scheme != std::string_view::npos)
    value.remove_prefix(scheme + 3);
  while (value.ends_with('/')) value.remove_suffix(1);
  const size_t colon = value.rfind(':');
  const bool has_port = colon != std::string_view::npos && value.find(']', colon) == value.npos &&
                        (value.starts_with('[') || value.find(':') == colon);
  if (has_port) {
    PUNA_TRY_CONTEXT(const int port, parse_number<int>(name, value.substr(colon + 1), {0, 65535}),
                     fmt::format("While reading the port of \"{}\"", whole));
    flags.port = static_cast<uint16_t>(port);
  }
  std::string_view host = has_port ? value.substr(0, colon) : value;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (!host.empty()) flags.hosts = {std::string(host)};
  return {};
}

bool is_no_path(std::string_view host) {
  return !host.starts_with('/') && !host.ends_with(".sock");
}

// What is known of the environment, and what is not.
class Environment {
 public:
  explicit Environment(const GivenFlags& given) {
    for (const auto& each : given) given_.insert(each.first);
  }

  Result<void> read(ServeFlags& flags) {
    for (const Group& group : groups()) {
      const bool effectless = group.title == std::string_view();
      for (const Flag& flag : group.flags) PUNA_TRY(read_one(flag, flags, effectless));
    }
    known_.insert("OLLAMA_HOST");
    if (const char* host = variable("OLLAMA_HOST");
        host && flags.hosts.empty() && !flags.port && !is_given("--host") && !is_given("--port")) {
      PUNA_TRY(read_address(flags, "OLLAMA_HOST", host));
      flags.notes.emplace_back("--host is taken from OLLAMA_HOST.");
    }
    // One that clients ask is an address to listen on, too.
    if (flags.hosts.size() == 1 && !is_given("--host") && is_no_path(flags.hosts.front())) {
      const std::string host = std::exchange(flags.hosts, {}).front();
      const auto port = flags.port;
      PUNA_TRY(read_address(flags, "PUNA_HOST", host));
      if (port) flags.port = port;
    }
    return read_others(flags);
  }

 private:
  bool is_given(std::string_view name) const {
    return std::ranges::any_of(given_, [&](const Flag* flag) { return flag->name() == name; });
  }

  Result<void> read_one(const Flag& flag, ServeFlags& flags, bool effectless) {
    const std::string own = variable_of(flag.name()), own_negated = own_negated_variable(flag),
                      negated = negated_variable(flag);
    const std::string names[] = {own, own_negated, flag.llama ? flag.llama : "", negated,
                                 flag.ollama ? flag.ollama : ""};
    for (const std::string& name : names) known_.insert(name);
    if (given_.contains(&flag)) return {};
    for (const std::string& name : names) {
      const char* value = variable(name);
      if (!value) continue;
      std::string_view read = value;
      if (name == negated) read = "off";
      if (name == own_negated) {
        PUNA_TRY(const bool on, truth(name, value));
        read = on ? "off" : "on";
      }
      PUNA_TRY(flag.read(flags, name, read));
      if (name != own && name != own_negated && !effectless)
        flags.notes.push_back(fmt::format("{} is taken from {}.", flag.name(), name));
      return {};
    }
    return {};
  }

  // Variables of the two programs that no flag has.
  Result<void> read_others(ServeFlags& flags) const {
    std::set<std::string> others;
    for (char** each = environ; each && *each; ++each) {
      const std::string_view pair = *each;
      const size_t end = std::min(pair.find('='), pair.size());
      const std::string name(pair.substr(0, end));
      if (end + 1 >= pair.size() || known_.contains(name)) continue;
      if (name.starts_with("LLAMA_ARG_")) {
        const std::string refused = refusal_of_variable(name);
        if (!refused.empty()) return base::fail(ErrorCode::kUsage, refused + ".");
      }
      if (name.starts_with("LLAMA_ARG_") || name.starts_with("OLLAMA_")) others.insert(name);
    }
    if (!others.empty()) {
      flags.notes.push_back(fmt::format("{} {} no effect here.", fmt::join(others, ", "),
                                        others.size() == 1 ? "has" : "have"));
    }
    return {};
  }

  std::set<const Flag*> given_;
  std::set<std::string> known_;
};

}  // namespace
}  // namespace serve

Result<ServeFlags> read_serve_flags(const GivenFlags& given) {
  ServeFlags out;
  PUNA_TRY(serve::Environment(given).read(out));
  for (const auto& [flag, value] : given) PUNA_TRY(flag->read(out, flag->name(), value));
  return out;
}

Result<ServeFlags> read_model_flags(const GivenFlags& given, const GivenFlags& preset) {
  GivenFlags all = preset;
  all.insert(all.end(), given.begin(), given.end());
  PUNA_TRY(ServeFlags out, read_serve_flags(all));
  out.notes.clear();  // they were said at the start
  return out;
}

}  // namespace puna::cli
