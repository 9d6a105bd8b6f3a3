#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "grammar/json_schema/formats.h"
#include "grammar/json_schema/keywords.h"

namespace puna::grammar {
namespace {

// The text with `table` between the mark that begins so and the next end.
std::string with_table(std::string text, std::string_view name, std::string_view table) {
  const size_t mark = text.find(fmt::format("<!-- {}:", name));
  REQUIRE(mark != std::string::npos);
  const size_t begin = text.find('\n', mark) + 1;
  const size_t end = text.find("<!-- end -->", begin);
  REQUIRE(end != std::string::npos);
  return text.replace(begin, end - begin, table);
}

TEST_CASE("docs/structured-output.md says what the tables say") {
  const char* path = "docs/structured-output.md";
  std::string kept;
  {
    std::ifstream in(path, std::ios::binary);
    kept.assign(std::istreambuf_iterator<char>(in), {});
  }
  const std::string text = with_table(with_table(kept, "keywords", keywords_as_markdown()),
                                      "formats", formats_as_markdown());
  if (std::getenv("PUNA_RENEW_TEXTS")) {
    std::ofstream(path, std::ios::binary) << text;
    kept = text;
  }
  CHECK_MESSAGE(kept == text, path << " is not current; tools/renew_texts writes it");
}

}  // namespace
}  // namespace puna::grammar
