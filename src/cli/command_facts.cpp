#include "cli/command_facts.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "cli/command.h"

namespace puna::cli {
namespace {

// Of a type like "TEXT:{all,baseline}".
std::vector<std::string> choices_of(std::string_view type) {
  const size_t open = type.find('{');
  if (open == std::string_view::npos || !type.ends_with('}')) return {};
  std::string_view list = type.substr(open + 1, type.size() - open - 2);
  std::vector<std::string> out;
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    out.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return out;
}

OptionFacts facts_of(const CLI::Option& option) {
  OptionFacts out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  if (option.get_positional()) out.argument = option.get_name(true);
  if (option.get_items_expected_max() > 0 && option.get_type_size_max() > 0) {
    const std::string type = option.get_type_name();
    out.choices = choices_of(type);
    out.type = type.substr(0, type.find(':'));
    if (out.type.empty()) out.type = "TEXT";
  }
  out.initial = option.get_default_str();
  out.about = option.get_description();
  out.required = option.get_required();
  out.repeats = option.get_items_expected_max() > 1 || option.get_allow_extra_args();
  return out;
}

}  // namespace

std::vector<CommandFacts> command_facts(const CLI::App& app) {
  const CLI::App* root = &app;
  while (root->get_parent()) root = root->get_parent();
  std::vector<CommandFacts> out;
  for (const Command& command : commands()) {
    const CLI::App* sub = root->get_subcommand(std::string(command.name));
    CommandFacts facts{.name = std::string(command.name),
                       .summary = std::string(command.summary),
                       .example = std::string(command.example),
                       .options = {}};
    for (const bool arguments : {true, false}) {
      for (const CLI::Option* option : sub->get_options()) {
        if (!option->get_group().empty() && option->get_positional() == arguments)
          facts.options.push_back(facts_of(*option));
      }
    }
    out.push_back(std::move(facts));
  }
  return out;
}

}  // namespace puna::cli
