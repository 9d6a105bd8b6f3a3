#include "gpu/wgsl/wgsl_preprocessor.h"

#include <doctest/doctest.h>

namespace {

std::map<std::string, std::string, std::less<>> g_files;

wgslpp::Output run(std::string_view source,
                   std::map<std::string, std::string, std::less<>> defines = {}) {
  wgslpp::Options options;
  options.defines = std::move(defines);
  options.include = [](std::string_view path) -> std::optional<std::string> {
    const auto it = g_files.find(path);
    return it == g_files.end() ? std::nullopt : std::optional(it->second);
  };
  return wgslpp::expand(source, "main.wgsl", options);
}
std::string text(std::string_view source,
                 std::map<std::string, std::string, std::less<>> defines = {}) {
  const auto out = run(source, std::move(defines));
  CHECK(out.error == "");
  return out.text;
}
std::string error(std::string_view source) {
  const auto out = run(source);
  CHECK(out.text == "");
  return out.error;
}
bool holds(const std::string& expression,
           std::map<std::string, std::string, std::less<>> defines = {}) {
  return text("#if " + expression + "\nyes\n#endif\n", std::move(defines)) == "yes\n";
}

}  // namespace

TEST_CASE(
    "text without directives passes unchanged but for trailing spaces and repeated blank lines") {
  CHECK(text("") == "");
  CHECK(text("a  \n\n\n\nb // c") == "a\n\nb // c\n");
  CHECK(text("let x = 0x1fu + 1.5e-3f;\r\n") == "let x = 0x1fu + 1.5e-3f;\n");
}

TEST_CASE("defines replace whole identifiers and nothing in comments") {
  CHECK(text("#define N 4\nN NN N_ _N xN N4 vecN.N // N\n/* N /* N */ N */ N") ==
        "4 NN N_ _N xN N4 vecN.4 // N\n/* N /* N */ N */ 4\n");
  CHECK(text("/*\n#define N 4\nN */ N\n#define N 5\n/* a\n N */N") ==
        "/*\n#define N 4\nN */ N\n/* a\n N */5\n");
  CHECK(text("N M", {{"N", "M"}, {"M", "7"}}) == "7 7\n");
  CHECK(text("#define N\n[N]\n#undef N\n[N]") == "[]\n[N]\n");
}

TEST_CASE("a define that names itself is not replaced again") {
  CHECK(text("#define x x + 1\nx") == "x + 1\n");
  CHECK(text("#define a b\n#define b a\na b") == "a b\n");
}

TEST_CASE("defines with arguments nest, may span lines and are left alone without parentheses") {
  CHECK(text("#define ADD(a, b) (a + b)\nADD(1, ADD(2, f(3, 4))) ADD") ==
        "(1 + (2 + f(3, 4))) ADD\n");
  CHECK(text("#define F() 1\nF() F( )") == "1 1\n");
  CHECK(text("#define ADD(a, b) a + b\nlet x = ADD(1, // one\n  y[2, 3]);\nnext") ==
        "let x = 1 + y[2, 3];\nnext\n");
  CHECK(text("#define SUM(a) a + \\\n   a\nSUM(2)") == "2 +  2\n");
  CHECK(text("#define F(x) x // comment\nF(1);") == "1;\n");
}

TEST_CASE("joining looks up the new name") {
  CHECK(text("#define i 3\nacc_##i acc_ ## i") == "acc_3 acc_3\n");
  CHECK(text("#define load_q4(x) q4[x]\n#define TYPE q4\nload_##TYPE(7)") == "q4[7]\n");
  CHECK(text("#define NAME(t) load_##t\nNAME(q8)(1)") == "load_q8(1)\n");
}

TEST_CASE("expressions follow C's precedence") {
  CHECK(holds("1 + 2 * 3 == 7 && !0"));
  CHECK(holds("(1 + 2) * 3 == 9 || 1 / 0"));
  CHECK(holds("10 - 4 - 3 == 3"));
  CHECK(holds("-3 % 2 == -1 && 7 / 2 == 3"));
  CHECK(holds("0x1F == 31u && true && !false"));
  CHECK(holds("2 < 3 && 3 <= 3 && 4 > 3 && 4 >= 4 && 1 != 2"));
  CHECK(holds("A * 2 == 8", {{"A", "B"}, {"B", "4"}}));
  CHECK(holds("defined(A) && !defined(B) && defined A", {{"A", ""}}));
  CHECK_FALSE(holds("defined(B) && B > 3"));
  CHECK_FALSE(holds("1 - 1"));
}

TEST_CASE("conditions choose one branch, also nested and in skipped text") {
  const std::string source =
      "#if N == 1\none\n#elif N == 2\ntwo\n#else\n#ifdef N\nmany\n#endif\n#endif\n";
  CHECK(text(source, {{"N", "1"}}) == "one\n");
  CHECK(text(source, {{"N", "2"}}) == "two\n");
  CHECK(text(source, {{"N", "9"}}) == "many\n");
  CHECK(text("#if 0\n#if UNKNOWN\n#bogus\n#for i in x\n#endfor\n#else\n#endif\n/* #endif\n#endif "
             "*/\n#endif\nend") == "end\n");
  CHECK(text("#if 1\na\n#elif UNKNOWN\nb\n#endif") == "a\n");
  CHECK(text("#ifndef N\n#define N 3\n#endif\nN") == "3\n");
}

TEST_CASE("loops repeat their lines with the counter replaced") {
  CHECK(text("#for i in 0..3\nv##i = i;\n#endfor") == "v0 = 0;\nv1 = 1;\nv2 = 2;\n");
  CHECK(text("#for i in 1..N + 1\n#for j in 0..i\na[i][j]\n#endfor\n#endfor\ni", {{"N", "2"}}) ==
        "a[1][0]\na[2][0]\na[2][1]\ni\n");
  CHECK(text("#for i in 0..4\n#if i % 2 == 1\ni\n#endif\n#endfor") == "1\n3\n");
  CHECK(text("#for i in 2..2\nnever\n#endfor") == "");
}

TEST_CASE("an include is read once and sees the defines before it") {
  g_files = {{"a.wgsl", "#include \"b.wgsl\"\na N\n#define FROM_A 1\n"}, {"b.wgsl", "b"}};
  CHECK(
      text("#define N 2\n#include \"a.wgsl\"\n#include \"b.wgsl\"\n#include \"a.wgsl\"\nFROM_A") ==
      "b\na 2\n1\n");
}

TEST_CASE("errors name file, line and the way there") {
  g_files = {{"a.wgsl", "\n#include \"b.wgsl\"\n"},
             {"b.wgsl", "// \n\n#error too small\n"},
             {"c.wgsl", "#include \"main.wgsl\""}};
  CHECK(error("\n#include \"a.wgsl\"") ==
        "b.wgsl:3: too small (included from a.wgsl:2) (included from main.wgsl:2)");
  CHECK(error("#include \"c.wgsl\"") ==
        "c.wgsl:1: \"main.wgsl\" includes itself; move what both need into a third file (included "
        "from main.wgsl:1)");
  CHECK(error("#include \"d.wgsl\"") ==
        "main.wgsl:1: there is no file \"d.wgsl\" to include; check the path");
  CHECK(error("x\n#bogus").starts_with("main.wgsl:2: unknown directive #bogus; known are define"));
  CHECK(error("#if 1\n\n#if 1\n#endif\n") ==
        "main.wgsl:1: #if has no #endif; add one in the same file and loop");
  CHECK(error("#endif") == "main.wgsl:1: #endif has no #if before it; remove it or add the #if");
  CHECK(error("#if 1\n#else\n#else\n#endif").starts_with("main.wgsl:3: #else comes after #else"));
  CHECK(error("#for i in 0..3\n").starts_with("main.wgsl:1: #for has no #endfor"));
  CHECK(error("#for i 0..3\n#endfor")
            .starts_with("main.wgsl:1: a loop is written #for NAME in FIRST..END"));
  CHECK(error("#define N 1\n#define N 2") ==
        "main.wgsl:2: N is already defined as \"1\"; #undef it first, or guard this with #ifndef");
  CHECK(error("#define F(a) a\nF(1, 2)") == "main.wgsl:2: F takes 1 arguments and is given 2");
  CHECK(error("#define F(a) a\nF(1\n") ==
        "main.wgsl:2: the arguments of a define are not closed; add )");
  CHECK(error("#if TILE > 3\n#endif") ==
        "main.wgsl:1: TILE has no value in the expression; define it, or ask defined(TILE)");
  CHECK(error("#if 1 / 0\n#endif") == "main.wgsl:1: the expression divides by zero");
  CHECK(error("#if (1\n#endif") == "main.wgsl:1: a parenthesis is not closed in the expression");
  CHECK(error("#if 1 2\n#endif") == "main.wgsl:1: \"2\" is left over after the expression \"1 2\"");
  CHECK(error("#if 1.5\n#endif") ==
        "main.wgsl:1: \"1.5\" is not an integer that an expression can hold");
  CHECK(error("#if 999999999999999999 * 999999999999999999\n#endif") ==
        "main.wgsl:1: the expression overflows 62 bits");
  CHECK(error("#if\n#endif") == "main.wgsl:1: an expression is missing");
  wgslpp::Options options;
  options.defines["a b"] = "1";
  CHECK(wgslpp::expand("", "f", options).error ==
        "options: define \"a b\" is not an identifier; use letters, digits and _");
}

TEST_CASE("hostile input ends soon with an error") {
  std::string doubling = "#define A0 x\n";
  for (int i = 1; i < 60; ++i) {
    const std::string before = "A" + std::to_string(i - 1);
    doubling += "#define A" + std::to_string(i) + " " + before + " " + before + "\n";
  }
  CHECK(error(doubling + "A59").find("replacements") != std::string::npos);
  CHECK(error("#for i in 0..1000000000\n#endfor").find("replacements") != std::string::npos);
  CHECK(error("#if " + std::string(100000, '(')).find("deeper than 64") != std::string::npos);
  CHECK(error("#define g(x) f##x(x)\n#define f1(x) g(x)\ng(1)").find("again and again") !=
        std::string::npos);
  std::string loops;
  for (int i = 0; i < 40; ++i) loops += "#for i" + std::to_string(i) + " in 0..1\n";
  for (int i = 0; i < 40; ++i) loops += "#endfor\n";
  CHECK(error(loops).find("deeper than 16") != std::string::npos);
  g_files.clear();
  for (int i = 0; i < 100; ++i)
    g_files[std::to_string(i)] = "#include \"" + std::to_string(i + 1) + "\"";
  CHECK(error("#include \"0\"").find("nested deeper than 32 files") != std::string::npos);
}
