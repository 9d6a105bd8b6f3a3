#include "cli/template_file.h"

#include <fmt/format.h>

#include "cli/text_file.h"

namespace puna::cli {

base::Result<chat::Template> read_template(const std::string& path) {
  if (path.empty()) return base::fail(base::ErrorCode::kUsage, "--template has no file.");
  PUNA_TRY(std::string source, read_text_file("chat template", path));
  PUNA_TRY_CONTEXT(chat::Template parsed, chat::Template::parse(std::move(source)),
                   fmt::format("While reading {}", path));
  return parsed;
}

}  // namespace puna::cli
