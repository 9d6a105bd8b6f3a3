// What /set knows.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/answer_form.h"
#include "cli/chat/commands.h"
#include "cli/line_reader.h"
#include "cli/output.h"
#include "cli/text_file.h"
#include "store/modelfile_parameters.h"

namespace puna::cli {
namespace {

using base::Json;
using service::Think;

void print_parameters() {
  print_out("/set parameter NAME VALUE, of:\n");
  for (const store::ModelfileParameter& parameter : store::modelfile_parameters()) {
    using Kind = store::ModelfileParameter::Kind;
    std::string range = "true or false";
    if (parameter.kind == Kind::kTexts) range = "texts that end an answer; none: no such text";
    if (parameter.kind == Kind::kInteger || parameter.kind == Kind::kNumber)
      range = fmt::format("{} to {}", parameter.lowest, parameter.highest);
    print_out("  {:<18} {}\n", parameter.name, range);
  }
}

// The words of a line; "..." keeps what is in it together.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) return out;
    const bool quoted = text.front() == '"' && text.find('"', 1) != std::string_view::npos;
    const size_t end = std::min(text.find(quoted ? '"' : ' ', 1), text.size());
    out.emplace_back(text.substr(quoted ? 1 : 0, quoted ? end - 1 : end));
    text.remove_prefix(std::min(end + (quoted ? 1 : 0), text.size()));
  }
}

void parameter(Chat& chat, std::string_view rest) {
  const auto [name, value] = first_word(rest);
  if (name.empty()) return print_parameters();
  ChatSettings changed = chat.options.settings;
  if (name == "stop") {
    Json stops = Json::array();
    for (const std::string& word : words_of(value)) stops.push(word);
    changed.options.set("stop", std::move(stops));
  } else {
    auto read = store::read_parameter(name, value);
    if (!read) return print_error(read.error().text());
    changed.options.set(std::string(name), *std::move(read));
  }
  if (chat.change(changed)) print_out("Set {} to {}.\n", name, base::printable(value));
}

void system(Chat& chat, std::string_view rest) {
  if (chat.options.raw && !rest.empty()) {
    return print_error("A text that is completed as it stands has no system message.");
  }
  chat.options.system = rest;
  print_out("{}\n", rest.empty() ? "No system message is set." : "The system message is set.");
}

void format(Chat& chat, std::string_view rest) {
  ChatSettings changed = chat.options.settings;
  changed.form = api::any_object();
  if (rest.empty()) return print_out("/set format json, or /set format FILE of a JSON schema\n");
  if (rest != "json") {
    auto schema = read_text_file("JSON schema", std::string(rest));
    if (!schema) return print_error(schema.error().text());
    changed.form->text = *std::move(schema);
  }
  if (chat.change(changed)) print_out("Answers are JSON.\n");
}

void think(Chat& chat, std::string_view rest) {
  constexpr std::pair<std::string_view, Think> kHow[] = {
      {"", Think::kOn}, {"low", Think::kLow}, {"medium", Think::kMedium}, {"high", Think::kHigh}};
  const auto* const found =
      std::ranges::find(kHow, rest, &std::pair<std::string_view, Think>::first);
  if (found == std::end(kHow))
    return print_out("Unknown setting think {}; low, medium and high are known.\n",
                     base::printable(rest));
  ChatSettings changed = chat.options.settings;
  changed.think = found->second;
  if (chat.change(changed)) print_out("The model thinks before it answers.\n");
}

// A switch of what is shown: no model has to meet it.
void show(Chat& chat, bool ChatOptions::* what, bool on, const char* said) {
  chat.options.*what = on;
  print_out("{}\n", said);
}

void keep_history(Chat& chat, bool on) {
  chat.reader().keep_history(on);
  print_out("{}\n", on ? "Lines are remembered." : "Lines are not remembered.");
}

constexpr ChatCommand kSettings[] = {
    {"parameter", "NAME VALUE",
     "How tokens are chosen and texts end; without a name: all there are", parameter},
    {"system", "[TEXT]", "The system message, or none", system},
    {"format", "json|FILE", "Answers are JSON, or what the schema in a file admits", format},
    {"noformat", "", "Answers are free",
     [](Chat& chat, std::string_view) {
       ChatSettings changed = chat.options.settings;
       changed.form.reset();
       if (chat.change(changed)) print_out("Answers are free.\n");
     }},
    {"think", "[low|medium|high]", "The model thinks before it answers", think},
    {"nothink", "", "It does not",
     [](Chat& chat, std::string_view) {
       ChatSettings changed = chat.options.settings;
       changed.think = Think::kOff;
       if (chat.change(changed)) print_out("The model does not think before it answers.\n");
     }},
    {"verbose", "", "Show figures after each answer",
     [](Chat& chat, std::string_view) {
       show(chat, &ChatOptions::verbose, true, "Figures are shown.");
     }},
    {"quiet", "", "Show none",
     [](Chat& chat, std::string_view) {
       show(chat, &ChatOptions::verbose, false, "Figures are not shown.");
     }},
    {"wordwrap", "", "Break lines between words",
     [](Chat& chat, std::string_view) {
       show(chat, &ChatOptions::wraps, true, "Lines are broken between words.");
     }},
    {"nowordwrap", "", "Leave that to the terminal",
     [](Chat& chat, std::string_view) {
       show(chat, &ChatOptions::wraps, false, "Lines are left to the terminal.");
     }},
    {"history", "", "Remember lines",
     [](Chat& chat, std::string_view) { keep_history(chat, true); }},
    {"nohistory", "", "Remember none from now on",
     [](Chat& chat, std::string_view) { keep_history(chat, false); }},
};

}  // namespace

std::span<const ChatCommand> set_commands() { return kSettings; }

}  // namespace puna::cli
