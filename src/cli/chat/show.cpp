// What /show knows.

#include <fmt/format.h>

#include "cli/chat/commands.h"
#include "cli/output.h"

namespace puna::cli {
namespace {

using base::Json;

std::string text_of(const Json& value) {
  if (value.is_string()) return value.string();
  return value.is_null() ? "" : value.dump();
}

void print_text(std::string_view text, const char* none) {
  if (text.empty()) return print_out("{}\n", none);
  write_text(stdout, text);
  print_out("{}", text.ends_with('\n') ? "" : "\n");
}

// A member of what the server, or this process, says of the model.
void print_member(Chat& chat, const char* member, const char* none) {
  const auto shown = chat.model().show();
  if (!shown) return print_error(shown.error().text());
  const Json* value = shown->find(member);
  print_text(value ? text_of(*value) : "", none);
}

void info(Chat& chat, std::string_view) {
  constexpr std::pair<const char*, const char*> kRows[] = {{"architecture", "family"},
                                                           {"parameters", "parameter_size"},
                                                           {"context length", "context_length"},
                                                           {"embedding length", "embedding_length"},
                                                           {"quantization", "quantization_level"}};
  const auto shown = chat.model().show();
  if (!shown) return print_error(shown.error().text());
  print_out("{:<18} {}\n", "model", base::printable(chat.model().name()));
  print_out("{:<18} {}\n", "answered by", base::printable(chat.model().where()));
  if (const Json* details = shown->find("details")) {
    for (const auto& [name, member] : kRows) {
      const Json* value = details->find(member);
      if (value && !text_of(*value).empty())
        print_out("{:<18} {}\n", name, base::printable(text_of(*value)));
    }
  }
  const Json* abilities = shown->find("capabilities");
  if (!abilities || !abilities->is_array()) return;
  std::string list;
  for (const Json& each : abilities->items())
    list += fmt::format("{}{}", list.empty() ? "" : ", ", text_of(each));
  print_out("{:<18} {}\n", "can do", base::printable(list));
}

void parameters(Chat& chat, std::string_view) {
  print_member(chat, "parameters", "The model brings no parameters.");
  const Json& set = chat.options.settings.options;
  if (set.members().empty()) return;
  print_out("Set in this chat:\n");
  for (const auto& [name, value] : set.members())
    print_out("  {:<18} {}\n", name, base::printable(text_of(value)));
}

void system(Chat& chat, std::string_view) {
  if (!chat.options.system.empty()) return print_text(chat.options.system, "");
  print_member(chat, "system", "There is no system message.");
}

constexpr ChatCommand kSubjects[] = {
    {"info", "", "What it is", info},
    {"license", "", "Its licence",
     [](Chat& chat, std::string_view) {
       print_member(chat, "license", "The model says nothing of its licence.");
     }},
    {"modelfile", "", "What it is made of",
     [](Chat& chat, std::string_view) { print_member(chat, "modelfile", "There is none."); }},
    {"parameters", "", "Its parameters, and those that are set in this chat", parameters},
    {"system", "", "The system message", system},
    {"template", "", "How prompts are made",
     [](Chat& chat, std::string_view) {
       print_member(chat, "template", "The model has no chat template.");
     }},
};

}  // namespace

std::span<const ChatCommand> show_commands() { return kSubjects; }

}  // namespace puna::cli
