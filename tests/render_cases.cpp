// Renders chat templates for tools/compare_templates.py.
// usage: puna_render_cases CASES.json    ([{"template": name, "context": {...}}, ...] beside the
//   templates' sources: {"templates": {name: source}, "cases": [...], "now_s": Unix time}; with
//   "go": true the sources are Go templates, and are translated first)
// Writes one JSON array: {"expected": text} or {"fails": true, "error": message} for each case.
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include "chat/go_template.h"
#include "chat/template.h"

namespace puna {
namespace {

base::Json failure(const base::Error& error) {
  return base::Json::object().set("fails", true).set("error", error.text());
}

base::Result<chat::Template> parse(const std::string& source, bool is_go) {
  if (!is_go) return chat::Template::parse(source);
  PUNA_TRY(std::string jinja, chat::from_go_template(source));
  return chat::Template::parse(std::move(jinja));
}

base::Json outcome(const base::Result<chat::Template>& parsed, const base::Json& context,
                   int64_t now_s) {
  if (!parsed) return failure(parsed.error());
  const auto text = parsed->render(context, {.now_s = now_s});
  if (!text) return failure(text.error());
  return base::Json::object().set("expected", *text);
}

int run(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  const auto input = base::Json::parse(text.str());
  if (!input) {
    std::fprintf(stderr, "error: %s: %s\n", path, input.error().text().c_str());
    return 1;
  }
  const base::Json* go = input->find("go");
  const bool is_go = go && *go == base::Json(true);
  std::map<std::string, base::Result<chat::Template>> templates;
  for (const auto& [name, source] : input->find("templates")->members())
    templates.emplace(name, parse(source.string(), is_go));
  base::Json out = base::Json::array();
  for (const base::Json& each : input->find("cases")->items()) {
    out.push(outcome(templates.at(each.find("template")->string()), *each.find("context"),
                     input->find("now_s")->integer()));
  }
  std::printf("%s\n", out.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace puna

int main(int argc, char** argv) {
  if (argc == 2) return puna::run(argv[1]);
  std::fprintf(stderr, "usage: puna_render_cases CASES.json\n");
  return 2;
}
