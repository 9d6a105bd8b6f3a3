// The pages docs/api/<dialect>.md are what the tables say: each is written again and compared.
// tools/renew_texts rewrites them after a change of the tables.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "api/answer_fields.h"
#include "api/ollama/asked.h"
#include "api/sampling.h"
#include "server/openapi.h"

namespace puna::server {
namespace {

using api::Description;
using api::Dialect;
using api::Field;
using api::FieldTable;
using api::Frames;

struct PageKind {
  Dialect dialect;
  const char* file;
  const char* title;
};
constexpr PageKind kPages[] = {
    {Dialect::kOpenAi, "openai.md", "OpenAI's dialect"},
    {Dialect::kAnthropic, "anthropic.md", "Anthropic's dialect"},
    {Dialect::kOllama, "ollama.md", "Ollama's dialect"},
    {Dialect::kLlama, "llama.md", "llama.cpp's dialect"},
};
// Tables that several endpoints share, which stand once on a page.
struct SharedTable {
  FieldTable table;
  const char* title;
};
constexpr SharedTable kShared[] = {
    {api::answer_fields, "Fields of answers"},
    {api::ollama::asked_fields, "Fields of chats and completions"},
    {api::sampling_fields, "Fields of sampling"},
};

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}
std::string code(std::string_view text) { return fmt::format("`{}`", text); }

// The lines of a shape, each with `indent` in front.
std::string lines_of(std::string_view shape, std::string_view indent) {
  std::string out;
  while (!shape.empty()) {
    const size_t end = std::min(shape.find('\n'), shape.size());
    const std::string_view line = shape.substr(0, end);
    const size_t begin = std::min(line.find_first_not_of(' '), line.size());
    out += fmt::format("{}{}\n", out.empty() ? "" : indent, line.substr(begin));
    shape.remove_prefix(std::min(end + 1, shape.size()));
  }
  return out;
}
std::string on_one_line(std::string_view shape) {
  std::string out = lines_of(shape, "");
  std::ranges::replace(out, '\n', ' ');
  out.pop_back();
  return out;
}

std::string limit(double value) { return fmt::format("{:.10g}", value); }

std::string type_of(const Field& field) {
  using Kind = Field::Kind;
  if (!field.shape.empty()) return code(on_one_line(field.shape));
  std::string range;
  const bool from = field.least > std::numeric_limits<double>::lowest();
  const bool to = field.most < std::numeric_limits<double>::max();
  if (from) range += " from " + limit(field.least);
  if (to) range += (from ? " to " : " up to ") + limit(field.most);
  switch (field.kind) {
    case Kind::kText:
      return field.values.empty() ? "text" : code(fmt::format("\"={}\"", field.values));
    case Kind::kFlag:
      return "true or false";
    case Kind::kNumber:
      return "number" + range;
    case Kind::kInteger:
      return "whole number" + range;
    case Kind::kTexts:
      return "text or list of texts";
    case Kind::kList:
      return field.inner ? "list of objects" : "list";
    case Kind::kObject:
      return "object";
    case Kind::kAny:
      return "any";
  }
  return "";
}

struct FieldRows {
  std::string meant, refused, passed_over;
};
void add_rows(std::span<const Field> fields, const std::string& prefix, FieldRows& out) {
  for (const Field& field : fields) {
    const std::string name = code(prefix + std::string(field.name));
    if (field.effect == Field::Effect::kNone) {
      out.passed_over += fmt::format("- {}: {}\n", name, field.about);
    } else if (field.effect == Field::Effect::kRefused) {
      const std::string harmless =
          field.harmless.empty() ? "" : fmt::format(" ({} is possible)", code(field.harmless));
      out.refused += fmt::format("- {}{}: {}\n", name, harmless, field.about);
    } else {
      const std::string initial = field.required          ? "required"
                                  : field.initial.empty() ? ""
                                                          : code(field.initial);
      out.meant += fmt::format("| {} | {} | {} | {} |\n", name, escaped(type_of(field)),
                               escaped(initial), escaped(field.about));
      const bool list = field.kind == Field::Kind::kList;
      if (field.inner)
        add_rows(field.inner(), fmt::format("{}{}{}.", prefix, field.name, list ? "[]" : ""), out);
    }
  }
}
std::string fields_text(std::span<const Field> fields) {
  FieldRows rows;
  add_rows(fields, "", rows);
  std::string out;
  if (!rows.meant.empty()) out += "\n| field | is | else | |\n|---|---|---|---|\n" + rows.meant;
  if (!rows.refused.empty()) out += "\nRefused by name:\n\n" + rows.refused;
  if (!rows.passed_over.empty()) out += "\nTaken without effect:\n\n" + rows.passed_over;
  return out;
}

// One page.
class DocsPage {
 public:
  explicit DocsPage(const PageKind& kind) {
    text_ = fmt::format(
        "# {}\nWritten by `tools/renew_texts` from the tables of routes and fields. Do not edit by "
        "hand. [README.md](README.md) says how to read it.\n",
        kind.title);
    std::vector<const Description*> known;
    for (const Route& route : routes()) {
      const Description* about = description_of(route);
      if (route.dialect != kind.dialect || !about) continue;
      if (std::ranges::find(known, about) != known.end()) continue;
      known.push_back(about);
      add(*about);
    }
    for (const SharedTable& shared : kShared) {
      if (used_.contains(shared.title))
        text_ += fmt::format("\n## {}\n{}", shared.title, fields_text(shared.table()));
    }
    add_shapes();
  }

  const std::string& text() const { return text_; }

 private:
  void add(const Description& about) {
    std::vector<std::string> paths;
    for (const Route& route : routes()) {
      if (description_of(route) == &about)
        paths.push_back(fmt::format("{} {}", route.method, route.path));
    }
    text_ += fmt::format("\n## {}\n{}", paths.front(), about.summary);
    for (size_t i = 1; i < paths.size(); ++i)
      text_ += fmt::format("{}`{}`{}", i == 1 ? " Also " : ", ", paths[i],
                           i + 1 == paths.size() ? "." : "");
    text_ += "\n";
    if (about.query) text_ += "\nIn the query:\n" + fields_text(about.query());
    add_body(about);
    if (!about.answer.empty()) add_shape("Answer", about.answer);
    if (about.frames == Frames::kSse) add_shape("As a stream, the data of each event", about.frame);
    if (about.frames == Frames::kNdjson) add_shape("As a stream, each line", about.frame);
    if (about.may_lack) text_ += "\nStatus 501 where the model, or this server, cannot do it.\n";
  }

  void add_body(const Description& about) {
    if (!about.body.front()) return;
    std::vector<FieldTable> own;
    std::string shared;
    for (const FieldTable table : about.body) {
      const auto found = std::ranges::find(kShared, table, &SharedTable::table);
      if (table && found != std::end(kShared)) {
        used_.insert(found->title);
        shared += fmt::format("{}\"{}\"", shared.empty() ? "" : ", ", found->title);
      } else if (table) {
        own.push_back(table);
      }
    }
    text_ += fields_text(api::rows_of(own));
    if (!shared.empty()) text_ += fmt::format("\nBeside these: {} below.\n", shared);
  }

  void add_shape(std::string_view what, std::string_view shape) {
    text_ += fmt::format("\n{}:\n\n```\n{}```\n", what, lines_of(shape, "  "));
    for (size_t at = shape.find("\"#"); at != std::string_view::npos;
         at = shape.find("\"#", at + 1)) {
      const size_t end = shape.find('"', at + 1);
      const std::string name(shape.substr(at + 2, end - at - 2));
      if (std::ranges::find(shapes_, name) == shapes_.end()) shapes_.push_back(name);
    }
  }
  void add_shapes() {
    if (!shapes_.empty()) text_ += "\n## Shapes\n";
    for (size_t i = 0; i < shapes_.size(); ++i) {
      const std::string name = shapes_[i];  // more may be added
      for (const api::Descriptions& dialect : api::descriptions()) {
        const auto found = std::ranges::find(dialect.shapes, name, &api::NamedShape::name);
        if (found != dialect.shapes.end()) add_shape(code(name), found->shape);
      }
    }
  }

  std::string text_;
  std::set<std::string> used_;       // titles of shared tables
  std::vector<std::string> shapes_;  // names, in the order in which they are met
};

}  // namespace

TEST_CASE("docs/api says what the tables say") {
  const std::filesystem::path folder = "docs/api";
  for (const PageKind& kind : kPages) {
    const std::string text = DocsPage(kind).text();
    const std::filesystem::path path = folder / kind.file;
    if (std::getenv("PUNA_RENEW_TEXTS")) std::ofstream(path, std::ios::binary) << text;
    std::ifstream in(path, std::ios::binary);
    const std::string kept{std::istreambuf_iterator<char>(in), {}};
    CHECK_MESSAGE(kept == text, path.string() << " is not current; tools/renew_texts writes it");
  }
}

}  // namespace puna::server
