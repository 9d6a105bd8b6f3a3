#include "chat/go_template/ast.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace puna::chat::go_template {
namespace {

bool mentions(const Pipeline* pipeline, std::string_view field);

bool mentions(const Operand& operand, std::string_view field) {
  const auto same = [&](const std::string& name) {
    return std::ranges::equal(name, field, [](char a, char b) {
      return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b;
    });
  };
  return std::ranges::any_of(operand.fields, same) || mentions(operand.pipeline.get(), field);
}

bool mentions(const Pipeline* pipeline, std::string_view field) {
  return pipeline && std::ranges::any_of(pipeline->commands, [&](const Command& command) {
           return std::ranges::any_of(
               command, [&](const Operand& operand) { return mentions(operand, field); });
         });
}

bool mentions(const Nodes& nodes, std::string_view field) {
  return std::ranges::any_of(nodes, [&](const Node& node) {
    return mentions(node.pipeline.get(), field) || mentions(node.body, field) ||
           mentions(node.otherwise, field);
  });
}

bool cut_pipeline(Pipeline& pipeline);

// Drops the words of a command behind .Response, as far as its function does without; false: it has
// no such word. $.Response is none, for ollama.
bool cut_command(Command& command) {
  const auto found = std::ranges::find_if(command, [](Operand& operand) {
    if (operand.kind == Operand::Kind::kPipeline) return cut_pipeline(*operand.pipeline);
    return operand.kind == Operand::Kind::kDot &&
           std::ranges::find(operand.fields, "Response") != operand.fields.end();
  });
  if (found == command.end()) return false;
  constexpr std::string_view kOfAnyNumber[] = {"print", "println", "and", "or"};
  if (std::ranges::find(kOfAnyNumber, command[0].text) != std::end(kOfAnyNumber))
    command.erase(found + 1, command.end());
  return true;
}

// The same for the commands of a pipeline.
bool cut_pipeline(Pipeline& pipeline) {
  const auto found = std::ranges::find_if(pipeline.commands, cut_command);
  if (found == pipeline.commands.end()) return false;
  pipeline.commands.erase(found + 1, pipeline.commands.end());
  return true;
}

}  // namespace

bool Source::mentions(std::string_view field) const {
  return go_template::mentions(main, field) || std::ranges::any_of(named, [&](const auto& each) {
           return go_template::mentions(each.second, field);
         });
}

bool cut_behind_response(Nodes& nodes) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    Node& node = nodes[i];
    bool cut = false;
    if (node.kind == Node::Kind::kAction) {
      cut = cut_pipeline(*node.pipeline);
    } else if (cut_behind_response(node.body)) {
      cut = true;
      node.otherwise.clear();
    } else {
      cut = cut_behind_response(node.otherwise);
    }
    if (!cut) continue;
    nodes.erase(nodes.begin() + static_cast<ptrdiff_t>(i) + 1, nodes.end());
    return true;
  }
  return false;
}

std::unexpected<base::Error> fail_at(int line, base::ErrorCode code, std::string_view what) {
  return base::fail(code, fmt::format("Line {}: {}.", line, what));
}

}  // namespace puna::chat::go_template
