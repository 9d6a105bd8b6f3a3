#include "store/modelfile.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>

#include "store/modelfile_parameters.h"
#include "store/modelfile_syntax.h"

namespace puna::store {
namespace {

ParsedModelfile parsed(std::string_view text) {
  auto out = parse_modelfile(text);
  REQUIRE_MESSAGE(out.has_value(), out.error().text());
  return *std::move(out);
}

std::string refusal(std::string_view text) {
  const auto out = parse_modelfile(text);
  REQUIRE_FALSE(out.has_value());
  return out.error().message;
}

std::string system_of(std::string_view value) {
  return parsed(fmt::format("FROM x\nSYSTEM {}\n", value)).modelfile.system.value();
}

TEST_CASE("every command is read, in any order and case, among comments and empty lines") {
  const auto [file, warnings] = parsed(R"(# a comment
  system You are brief.

PaRaMeTeR temperature 0.7
PARAMETER	num_ctx   4096
parameter stop <|im_end|>
Parameter stop "two words "
PARAMETER use_mmap true
  # another
TEMPLATE """{{ .Prompt }}
# no comment
"x" {{ .Response }}"""
MESSAGE user Hello there
MESSAGE assistant """Hi.
How are you?"""
LICENSE MIT
license "Apache
2"
REQUIRES v0.14.0-rc1
RENDERER qwen3-coder
PARSER qwen3-coder
FROM ./model.gguf
FROM ./projector.gguf)");
  CHECK(warnings.empty());
  CHECK(file.from == std::vector<std::string>{"./model.gguf", "./projector.gguf"});
  CHECK(file.system == "You are brief.");
  CHECK(file.chat_template == "{{ .Prompt }}\n# no comment\n\"x\" {{ .Response }}");
  CHECK(file.parameters ==
        base::Json::parse(R"({"temperature": 0.7, "num_ctx": 4096, "stop": ["<|im_end|>",
                              "two words "], "use_mmap": true})")
            .value());
  CHECK(file.messages ==
        std::vector<ModelfileMessage>{{"user", "Hello there"}, {"assistant", "Hi.\nHow are you?"}});
  CHECK(file.licenses == std::vector<std::string>{"MIT", "Apache\n2"});
  CHECK(file.minimal_version == "0.14.0-rc1");
  CHECK(file.renderer == "qwen3-coder");
  CHECK(file.parser == "qwen3-coder");
}

TEST_CASE("values are plain, or between quotes, which may open again inside") {
  CHECK(system_of("a b  ") == "a b");
  CHECK(system_of("  a # b") == "a # b");
  CHECK(system_of("\" a \"") == " a ");
  CHECK(system_of("\"a\" and \"b\"") == "a\" and \"b");
  CHECK(system_of("\"a\n\nb\"") == "a\n\nb");
  CHECK(system_of("\"a\" b\nc\"") == "a\" b\nc");
  CHECK(system_of("\"\"\"a \"b\" \"\"c\"\"\"") == "a \"b\" \"\"c");
  CHECK(system_of("\"\"\"\n\n\"\"\"") == "\n\n");
  CHECK(system_of("\"\"") == "");
  CHECK(system_of("\"\"\"\"\"\"") == "");
  CHECK(system_of("a \"b") == "a \"b");
  CHECK(system_of("'a'") == "'a'");
  CHECK(system_of("") == "");
  CHECK(system_of("\"\"\"a\"\"\"   ") == "a");
}

TEST_CASE("what is wrong is told with its line, in ollama's words") {
  struct Row {
    std::string_view text, part;
  };
  constexpr Row kRows[] = {
      {"", "no FROM line"},
      {"# FROM x\n", "no FROM line"},
      {"SYSTEM x", "no FROM line"},
      {"FROM x\n\nFOO y",
       "(line 3): command must be one of \"from\", \"license\", \"template\", "
       "\"system\", \"adapter\", \"draft\", \"renderer\", \"parser\", "
       "\"parameter\", \"message\", or \"requires\""},
      {"FROM x\n= y", "(line 2): command must be one of"},
      {"FROM", "(line 1): from has no value; command must be one of"},
      {"FROM x\nSYSTEM\nPARSER y", "(line 2): system has no value"},
      {"FROM \n", "(line 1): from names no model"},
      {"FROM x\nMESSAGE tool x",
       "(line 2): message role must be one of \"system\", \"user\", or "
       "\"assistant\""},
      {"FROM x\nMESSAGE User x", "message role must be one of"},
      {"FROM x\nMESSAGE user", "(line 2): a message is a role and a text"},
      {"FROM x\nSYSTEM \"\"\"a\n\nb\"\n", "(line 2): unexpected EOF"},
      {"FROM x\n\nTEMPLATE \"a", "(line 3): unexpected EOF"},
      {"FROM x\nPARAMETER foo 1", "(line 2): unknown parameter 'foo'"},
      {"FROM x\nPARAMETER Temperature 1", "(line 2): unknown parameter 'Temperature'"},
      {"FROM x\nPARAMETER temperature", "(line 2): a parameter is a name and a value"},
      {"FROM x\nPARAMETER temperature hot", "(line 2): invalid float value [hot]"},
      {"FROM x\nPARAMETER temperature inf", "invalid float value [inf]"},
      {"FROM x\nPARAMETER top_k 1.5", "(line 2): invalid int value [1.5]"},
      {"FROM x\nPARAMETER top_k 99999999999999999999", "invalid int value"},
      {"FROM x\nPARAMETER num_ctx 0", "parameter 'num_ctx' is 0, but 1 to 4294967295 is what it"},
      {"FROM x\nPARAMETER top_p 1.1", "parameter 'top_p' is 1.1, but 0 to 1 is what it takes"},
      {"FROM x\nPARAMETER use_mmap maybe", "invalid bool value [maybe]"},
      {"FROM x\nPARAMETER stop \"\"", "parameter 'stop' is empty"},
      {"FROM x\nREQUIRES new", "(line 2): requires must be a valid semver (e.g. 0.14.0)"},
      {"FROM x\nADAPTER ./a.gguf", "(line 2): adapter is not supported yet"},
      {"FROM x\nDRAFT ./a.gguf", "(line 2): draft is not supported yet"},
      {"FROM x\nRENDERER harmony",
       "(line 2): there is no renderer \"harmony\"; there are deepseek"},
      {"FROM x\nPARSER cogito", "(line 2): there is no parser \"cogito\"; there are deepseek3,"},
      {"FROM x\n\xFF", "(line 2): the text is no UTF-8"},
      {std::string_view("FROM x\nSYSTEM a\0", 16), "(line 2): a NUL character stands in the text"},
      {"\xFF\xFE"
       "F",
       "(line 1): the text is no UTF-16"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.text);
    const std::string message = refusal(row.text);
    CAPTURE(message);
    CHECK(message.find(row.part) != std::string::npos);
  }
}

TEST_CASE(
    "what is given again takes the place of the one before, and what ollama dropped is told") {
  const auto [file, warnings] = parsed(
      "FROM x\nSYSTEM a\nSYSTEM b\nPARAMETER seed 1\nPARAMETER seed -2\nPARAMETER f16_kv true\n");
  CHECK(file.system == "b");
  CHECK(file.parameters == base::Json::object().set("seed", -2));
  CHECK(warnings ==
        std::vector<std::string>{"(line 3): system takes the place of the one before",
                                 "(line 5): parameter seed takes the place of the one before",
                                 "(line 6): parameter f16_kv is deprecated"});
}

TEST_CASE("files of Windows and in UTF-16 are read as others") {
  CHECK(parsed("\xEF\xBB\xBF"
               "FROM x\r\nSYSTEM \"a\r\nb\"\r\n")
            .modelfile.system == "a\nb");
  // Some line ends otherwise: then the text is as it is.
  CHECK(parsed("FROM x\nSYSTEM \"a\r\nb\"\r\n").modelfile.system == "a\r\nb");
  for (const bool big_endian : {false, true}) {
    std::string text = big_endian ? "\xFE\xFF" : "\xFF\xFE";
    const auto put = [&](char16_t unit) {
      const char high = static_cast<char>(unit >> 8);
      const char low = static_cast<char>(unit & 0xFF);
      text += big_endian ? high : low;
      text += big_endian ? low : high;
    };
    for (const char16_t unit : std::u16string_view(u"FROM x\r\nSYSTEM é😀")) put(unit);
    CHECK(parsed(text).modelfile.system == "é😀");
    CHECK(refusal(text + "\x41").find("no UTF-16") != std::string::npos);
  }
}

TEST_CASE("versions are those of semver, of which the ends may be missing") {
  for (const char* version : {"1", "1.2", "v0.14.0", "1.2.3-rc.1", "1.2.3+b.01", "1.2.3-a-b+c"})
    CHECK(parse_modelfile(fmt::format("FROM x\nREQUIRES {}", version)).has_value());
  for (const char* version : {"\"\"", "v", "1.", "01.2", "1.2.3.4", "1-rc", "1.2.3-", "1.2.3-01",
                              "1.2.3+", "1.2.3-a..b", "1.2.3-a_b", "latest", "1.2.3+a+b"})
    CHECK_FALSE(parse_modelfile(fmt::format("FROM x\nREQUIRES {}", version)).has_value());
}

TEST_CASE("what is written is read as it was") {
  std::mt19937 random(7);
  const std::string_view letters[] = {"a", " ", "\n", "\"", "\"\"\"", "#", "\r", "\r\n", "é", "\t"};
  const auto text = [&] {
    std::string out;
    for (uint32_t n = random() % 8; n > 0; --n) out += letters[random() % std::size(letters)];
    return out;
  };
  int n_written = 0;
  constexpr int kFiles = 3000;
  for (int i = 0; i < kFiles; ++i) {
    Modelfile file{.from = {"a" + text()}};
    if (random() % 2) file.chat_template = text();
    if (random() % 2) file.system = text();
    if (random() % 2) file.licenses = {text(), "MIT"};
    if (random() % 2) file.messages = {{"user", text()}, {"assistant", text()}};
    if (random() % 2) file.minimal_version = "0.14.0";
    if (random() % 2) file.renderer = file.parser = "lfm2";
    if (random() % 2)
      file.parameters.set("stop", base::Json::array().push("\n" + text()).push("x"));
    if (random() % 2)
      file.parameters.set("temperature", 0.1).set("seed", -1).set("use_mmap", false);
    const auto written = write_modelfile(file);
    if (!written) {
      CHECK(written.error().message.find("quotes end one of its lines") != std::string::npos);
      continue;
    }
    ++n_written;
    CAPTURE(*written);
    const ParsedModelfile again = parsed(*written);
    REQUIRE(again.modelfile == file);
    REQUIRE(again.warnings.empty());
  }
  CHECK(n_written > kFiles / 2);
}

TEST_CASE("a value is quoted only where it has to be, as ollama does") {
  CHECK(write_modelfile({.from = {"x"},
                         .chat_template = "a\n\"b\"",
                         .system = "a\nb",
                         .messages = {{"user", " a"}},
                         .licenses = {"plain \"text\" #", ""}})
            .value() ==
        "FROM x\nTEMPLATE \"\"\"a\n\"b\"\"\"\"\nSYSTEM \"a\nb\"\nLICENSE plain \"text\" #\n"
        "LICENSE \"\"\nMESSAGE user \" a\"\n");
  CHECK_FALSE(write_modelfile({.from = {"x"}, .system = "\"\"\"\n\"\"\"\n"}).has_value());
}

TEST_CASE("a model's parts give its Modelfile, which is read again") {
  const ModelParts parts{.name = "smollm2:latest",
                         .model_paths = {"/models/blobs/sha256-aa"},
                         .chat_template = "{{ .Prompt }}",
                         .system = "Be brief.",
                         .parameters = R"({"stop": ["a", "b"], "temperature": 1, "num_ctx": 10})",
                         .messages = R"([{"role": "user", "content": "x\ny"}])",
                         .licenses = {"MIT"},
                         .minimal_version = "0.1.0",
                         .renderer = "lfm2",
                         .parser = "lfm2"};
  const std::string text = show_modelfile(parts).value();
  CHECK(text ==
        "# Modelfile generated by \"puna show\"\n"
        "# To build a new Modelfile based on this, replace FROM with:\n# FROM smollm2:latest\n\n"
        "FROM /models/blobs/sha256-aa\nTEMPLATE {{ .Prompt }}\nSYSTEM Be brief.\nRENDERER lfm2\n"
        "PARSER lfm2\nREQUIRES 0.1.0\nPARAMETER stop a\nPARAMETER stop b\nPARAMETER temperature 1\n"
        "PARAMETER num_ctx 10\nLICENSE MIT\nMESSAGE user \"x\ny\"\n");
  CHECK(parsed(text).modelfile.messages[0].content == "x\ny");

  ModelParts wrong = parts;
  wrong.parameters = "[]";
  CHECK_FALSE(show_modelfile(wrong).has_value());
  wrong = parts;
  wrong.messages = "[{\"role\": 1}]";
  CHECK_FALSE(show_modelfile(wrong).has_value());
  wrong = parts;
  wrong.name = "a\nFROM evil";
  CHECK(parsed(show_modelfile(wrong).value()).modelfile.from.size() == 1);
}

TEST_CASE("names and roles that no Modelfile has are left out, and add no commands") {
  const ModelParts parts{
      .name = "a",
      .model_paths = {"/blob"},
      .parameters =
          R"({"stop x\nFROM /secret\nPARAMETER stop": ["y", "z"], "": 1, "a b": 2, "top_k": 3})",
      .messages = R"([{"role": "user hi\nFROM /etc/passwd\nMESSAGE user", "content": "x"},
                      {"role": "tool", "content": "y"}, {"role": "user", "content": "z"}])"};
  const std::string text = show_modelfile(parts).value();
  CAPTURE(text);
  const ParsedModelfile again = parsed(text);
  CHECK(again.modelfile.from == std::vector<std::string>{"/blob"});
  CHECK(again.modelfile.parameters.dump() == R"({"top_k":3})");
  CHECK(again.modelfile.messages == std::vector<ModelfileMessage>{{"user", "z"}});
  CHECK(text.contains("# Left out, as a Modelfile has no such role of a message: \"tool\"\n"));
  CHECK(text.contains(R"(name of a parameter: "stop x\u000aFROM /secret\u000a)"));

  Modelfile file{.from = {"x"}, .messages = {{"tool", "y"}}};
  CHECK(write_modelfile(file).error().code == base::ErrorCode::kUnsupported);
  file.messages.clear();
  file.parameters.set("a\nFROM", 1);
  CHECK(write_modelfile(file).error().message.contains("name of PARAMETER"));
}

TEST_CASE("parameters take what their rows say, at both ends") {
  for (const ModelfileParameter& row : modelfile_parameters()) {
    CAPTURE(row.name);
    if (row.kind == ModelfileParameter::Kind::kTexts || row.kind == ModelfileParameter::Kind::kFlag)
      continue;
    CHECK(read_parameter(row.name, fmt::format("{}", row.lowest)).has_value());
    CHECK(read_parameter(row.name, fmt::format("{}", row.highest)).has_value());
    CHECK_FALSE(read_parameter(row.name, fmt::format("{}", row.lowest - 2)).has_value());
    CHECK_FALSE(read_parameter(row.name, fmt::format("{}", row.highest + 2)).has_value());
    for (const char* bad : {"", "x", "1x", " 1", "++1", "+-1", "0x1", "nan", "1,5", "1_0"})
      CHECK_FALSE(read_parameter(row.name, bad).has_value());
  }
}

TEST_CASE("a long file is read in a time that grows with its length") {
  std::string text = "FROM x\nSYSTEM \"\"\"";
  text.append(4'000'000, '\n');
  CHECK(parsed(text + "a\"\"\"").modelfile.system->size() == 4'000'001);
  CHECK(refusal(text).find("(line 2): unexpected EOF") != std::string::npos);
}

}  // namespace
}  // namespace puna::store
