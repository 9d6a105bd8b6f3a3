// wgslpp: a preprocessor for WGSL in one header. Conditions, defines, includes and loops; errors
// with file and line.
//
//   wgslpp::Options options;
//   options.defines["TILE"] = "16";
//   options.include = [](std::string_view path) -> std::optional<std::string> {
//     return read_my_file(path);
//   };
//   wgslpp::Output out = wgslpp::expand(source, "matmul.wgsl", options);
//   if (!out.ok()) report(out.error);  // matmul.wgsl:12: ...
//
// It needs a C++20 compiler and nothing else: no exceptions, no globals, no file access of its own.
// Directives (first on a line):
//   #define NAME [value]     #define NAME(a, b) value     #undef NAME
//   #if EXPR   #ifdef NAME   #ifndef NAME   #elif EXPR   #else   #endif
//   #include "path"          once for each path; a cycle is an error
//   #for NAME in A..B        repeats the lines up to #endfor with NAME = A, A + 1 .. B - 1
//   #error text
// A directive line that ends in \ goes on in the next one.
//
// EXPR is made of integers (also 0x1f, 4u, true, false), defines, defined(NAME), parentheses and
// ! && || == != < <= > >= + - * / %. A name without a value in EXPR is an error, not 0.
// In the text, defines replace whole identifiers outside comments, and ## joins its neighbours
// after replacement (acc_##i). README.md beside this file says more.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace wgslpp {

struct Options {
  // Names defined before the first line; values are replaced in turn like those of #define.
  std::map<std::string, std::string, std::less<>> defines;
  // The text of an included path, or nothing when there is no such file.
  std::function<std::optional<std::string>(std::string_view path)> include;
  // Bounds, so that no input can run away.
  size_t max_include_depth = 32;
  size_t max_replacements = 1'000'000;  // of defines, and repeated or read lines
  size_t max_output_bytes = 16u << 20;
};

struct Output {
  std::string text;
  std::string error;  // empty, or "file:line: what is wrong and what to do"
  bool ok() const { return error.empty(); }
};

// Expands `source`; `file` is its name in messages and for the detection of include cycles.
Output expand(std::string_view source, std::string_view file, const Options& options);

namespace detail {

inline bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
inline bool is_name_char(char c) { return is_name_start(c) || is_digit(c); }

inline std::string_view trim(std::string_view s) {
  while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
  return s;
}
// Takes an identifier off the front of `s` (leading spaces skipped); empty when there is none.
inline std::string_view take_name(std::string_view& s) {
  while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
  size_t n = 0;
  if (!s.empty() && is_name_start(s[0])) {
    while (n < s.size() && is_name_char(s[n])) ++n;
  }
  std::string_view name = s.substr(0, n);
  s.remove_prefix(n);
  return name;
}

inline bool begins_with(std::string_view s, char a, char b) {
  return s.size() > 1 && s[0] == a && s[1] == b;
}

enum class TokenKind { kName, kNumber, kComment, kSpace, kPaste, kOther };
struct Token {
  TokenKind kind;
  std::string_view text;
};

// The length of what opens or closes a block comment at the front of `s`, where `depth` are open;
// 1 for any other character.
inline size_t pass_delimiter(std::string_view s, int& depth) {
  if (begins_with(s, '/', '*')) {
    ++depth;
  } else if (depth > 0 && begins_with(s, '*', '/')) {
    --depth;
  } else {
    return 1;
  }
  return 2;
}

// The token at the front of `s`, which is not empty. Block comments nest, as in WGSL. `depth` is
// how many block comments are open.
inline Token next_token(std::string_view s, int& depth) {
  auto block = [&](size_t at) {
    while (at < s.size() && depth > 0) at += pass_delimiter(s.substr(at), depth);
    return Token{TokenKind::kComment, s.substr(0, at)};
  };
  if (depth > 0) return block(0);
  size_t n = 1;
  if (is_name_start(s[0])) {
    while (n < s.size() && is_name_char(s[n])) ++n;
    return {TokenKind::kName, s.substr(0, n)};
  }
  if (begins_with(s, '/', '*')) {
    depth = 1;
    return block(2);
  }
  if (begins_with(s, '/', '/')) return {TokenKind::kComment, s.substr(0, s.find('\n'))};
  if (begins_with(s, '#', '#')) return {TokenKind::kPaste, s.substr(0, 2)};
  if (is_digit(s[0]) || (s[0] == '.' && s.size() > 1 && is_digit(s[1]))) {
    // Covers 1, 0x1f, 1.5e-3f, 4u; stops before "..".
    while (n < s.size()) {
      const bool hex = s.size() > 1 && (s[1] == 'x' || s[1] == 'X');
      const bool exponent =
          hex ? (s[n - 1] == 'p' || s[n - 1] == 'P') : (s[n - 1] == 'e' || s[n - 1] == 'E');
      const bool dot = s[n] == '.' && s.substr(n, 2) != "..";
      if (!is_name_char(s[n]) && !dot && !(exponent && (s[n] == '+' || s[n] == '-'))) break;
      ++n;
    }
    return {TokenKind::kNumber, s.substr(0, n)};
  }
  if (is_space(s[0])) {
    while (n < s.size() && is_space(s[n])) ++n;
    return {TokenKind::kSpace, s.substr(0, n)};
  }
  return {TokenKind::kOther, s.substr(0, 1)};
}

// Passes over a line; `depth` becomes how many block comments are open behind it.
inline void pass_comments(std::string_view line, int& depth) {
  while (!line.empty() && (depth > 0 || !begins_with(line, '/', '/')))
    line.remove_prefix(pass_delimiter(line, depth));
}

inline std::string without_comments(std::string_view s) {
  std::string out;
  for (int depth = 0; !s.empty();) {
    const Token t = next_token(s, depth);
    if (t.kind == TokenKind::kComment) {
      out += ' ';
    } else {
      out += t.text;
    }
    s.remove_prefix(t.text.size());
  }
  return out;
}

struct Macro {
  std::string body;
  std::vector<std::string> parameters;
  bool takes_arguments = false;
  bool operator==(const Macro&) const = default;
};

struct NameHash {
  using is_transparent = void;
  size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
};

struct Line {
  std::string_view text;  // without the newline
  int comment_depth = 0;  // block comments open at its start; inside one there are no directives
};

class Expander {
 public:
  explicit Expander(const Options& options) : options_(options) {}

  Output run(std::string_view source, std::string_view file) {
    Output out;
    for (const auto& [name, value] : options_.defines) {
      std::string_view rest = name;
      if (take_name(rest).empty() || !rest.empty()) {
        out.error =
            "options: define \"" + name + "\" is not an identifier; use letters, digits and _";
        return out;
      }
      macros_[name] = Macro{value, {}, false};
    }
    if (expand_file(source, file)) {
      out.text = std::move(text_);
    } else {
      out.error = std::move(error_);
    }
    return out;
  }

 private:
  // --- files and lines
  // -------------------------------------------------------------------------------------------------

  struct Frame {
    std::string file;
    size_t line = 0;  // 0-based
  };

  bool fail(const std::string& message) {
    if (!error_.empty()) return false;
    if (!frames_.empty())
      error_ = frames_.back().file + ":" + std::to_string(frames_.back().line + 1) + ": ";
    error_ += message;
    for (size_t i = frames_.size(); i-- > 1;) {
      error_ += " (included from " + frames_[i - 1].file + ":" +
                std::to_string(frames_[i - 1].line + 1) + ")";
    }
    return false;
  }
  bool fail_at(size_t line, const std::string& message) {
    frames_.back().line = line;
    return fail(message);
  }
  bool count() {
    if (++replacements_ <= options_.max_replacements) return true;
    return fail("more than " + std::to_string(options_.max_replacements) +
                " replacements and lines; shorten the loops or raise max_replacements");
  }

  bool expand_file(std::string_view source, std::string_view file) {
    std::vector<Line> lines;
    for (int depth = 0; !source.empty();) {
      const size_t end = std::min(source.find('\n'), source.size());
      Line line{source.substr(0, end), depth};
      if (line.text.ends_with('\r')) line.text.remove_suffix(1);
      pass_comments(line.text, depth);
      lines.push_back(line);
      source.remove_prefix(std::min(end + 1, source.size()));
    }
    frames_.push_back({std::string(file), 0});
    const bool ok = expand_lines(lines, 0, lines.size());
    frames_.pop_back();
    return ok;
  }

  // The word after # when the line is a directive; `rest` is what follows it, comments removed,
  // continuations joined.
  static std::optional<std::string> directive(const std::vector<Line>& lines, size_t& i,
                                              size_t last, std::string& rest) {
    std::string_view text = trim(lines[i].text);
    if (lines[i].comment_depth > 0 || !text.starts_with('#') || text.starts_with("##"))
      return std::nullopt;
    std::string joined(text.substr(1));
    while (joined.ends_with('\\')) {
      joined.back() = ' ';
      if (i + 1 < last) joined += trim(lines[++i].text);
    }
    joined = without_comments(joined);
    std::string_view view = joined;
    std::string word(take_name(view));
    rest = view;
    return word;
  }

  struct Condition {
    size_t line;
    bool parent_active, taken, active, had_else;
  };

  bool expand_lines(const std::vector<Line>& lines, size_t first, size_t last) {
    std::vector<Condition> conditions;
    std::string rest;
    for (size_t i = first; i < last; ++i) {
      frames_.back().line = i;
      if (!count()) return false;
      const bool active = conditions.empty() || conditions.back().active;
      const size_t start = i;
      const auto word = directive(lines, i, last, rest);
      if (!word) {
        if (active && !expand_text_line(lines, i, last)) return false;
      } else if (*word == "if" || *word == "ifdef" || *word == "ifndef") {
        bool value = false;
        if (active && !condition(*word, rest, value)) return false;
        conditions.push_back({start, active, value, active && value, false});
      } else if (*word == "elif" || *word == "else") {
        if (conditions.empty())
          return fail("#" + *word + " has no #if before it; remove it or add the #if");
        Condition& c = conditions.back();
        if (c.had_else)
          return fail("#" + *word + " comes after #else; an #if has one #else, at its end");
        c.had_else = *word == "else";
        bool value = c.had_else;
        if (*word == "elif" && c.parent_active && !c.taken && !condition("if", rest, value))
          return false;
        c.active = c.parent_active && !c.taken && value;
        c.taken = c.taken || value;
      } else if (*word == "endif") {
        if (conditions.empty())
          return fail("#endif has no #if before it; remove it or add the #if");
        conditions.pop_back();
      } else if (*word == "for") {
        size_t end = i + 1;
        if (!find_endfor(lines, start, end, last)) return false;
        if (active && !repeat(rest, lines, i + 1, end)) return false;
        i = end;
      } else if (*word == "endfor") {
        return fail("#endfor has no #for before it; remove it or add the #for");
      } else if (active && !simple_directive(*word, rest)) {
        return false;
      }
    }
    if (!conditions.empty())
      return fail_at(conditions.back().line,
                     "#if has no #endif; add one in the same file and loop");
    return true;
  }

  bool simple_directive(const std::string& word, std::string_view rest) {
    if (word == "define") return define(rest);
    if (word == "include") return include(rest);
    if (word == "error") return fail(std::string(trim(rest)));
    if (word == "undef") {
      const std::string name(take_name(rest));
      if (name.empty() || !trim(rest).empty()) return fail("#undef takes one name");
      macros_.erase(name);
      return true;
    }
    return fail(
        "unknown directive #" + word +
        "; known are define undef if ifdef ifndef elif else endif include for endfor error");
  }

  bool condition(const std::string& word, std::string_view rest, bool& value) {
    if (word == "if") {
      int64_t number = 0;
      if (!evaluate(rest, number)) return false;
      value = number != 0;
      return true;
    }
    const std::string name(take_name(rest));
    if (name.empty() || !trim(rest).empty())
      return fail("#" + word + " takes one name; use #if for an expression");
    value = macros_.contains(name) == (word == "ifdef");
    return true;
  }

  bool define(std::string_view rest) {
    const std::string name(take_name(rest));
    if (name.empty()) return fail("#define needs a name");
    if (name == "defined") return fail("\"defined\" cannot be a define; choose another name");
    Macro macro;
    if (rest.starts_with('(')) {
      macro.takes_arguments = true;
      const size_t close = rest.find(')');
      if (close == rest.npos)
        return fail("the parameters of #define " + name + " are not closed; add )");
      std::string_view list = rest.substr(1, close - 1);
      rest.remove_prefix(close + 1);
      while (!trim(list).empty()) {
        const std::string parameter(take_name(list));
        list = trim(list);
        if (parameter.empty() || (!list.empty() && list.front() != ',')) {
          return fail("the parameters of #define " + name + " are not names separated by commas");
        }
        if (!list.empty()) list.remove_prefix(1);
        macro.parameters.push_back(parameter);
      }
    } else if (!rest.empty() && !is_space(rest.front())) {
      return fail("#define " + name + " needs a space before its value");
    }
    macro.body = trim(rest);
    const auto old = macros_.find(name);
    if (old != macros_.end() && old->second != macro) {
      return fail(name + " is already defined as \"" + old->second.body +
                  "\"; #undef it first, or guard this with #ifndef");
    }
    macros_[name] = std::move(macro);
    return true;
  }

  bool include(std::string_view rest) {
    rest = trim(rest);
    if (rest.size() < 3 || rest.front() != '"' || rest.find('"', 1) != rest.size() - 1) {
      return fail("#include takes one path in double quotes");
    }
    const std::string path(rest.substr(1, rest.size() - 2));
    for (const Frame& frame : frames_) {
      if (frame.file == path)
        return fail("\"" + path + "\" includes itself; move what both need into a third file");
    }
    if (!included_.insert(path).second) return true;
    if (frames_.size() >= options_.max_include_depth) {
      return fail("includes are nested deeper than " + std::to_string(options_.max_include_depth) +
                  " files");
    }
    const std::optional<std::string> text =
        options_.include ? options_.include(path) : std::nullopt;
    if (!text) return fail("there is no file \"" + path + "\" to include; check the path");
    return expand_file(*text, path);
  }

  // --- loops
  // -----------------------------------------------------------------------------------------------------------

  bool find_endfor(const std::vector<Line>& lines, size_t start, size_t& i, size_t last) {
    std::string rest;
    for (int open = 1; i < last; ++i) {
      const auto word = directive(lines, i, last, rest);
      if (word == "for") ++open;
      if (word == "endfor" && --open == 0) return true;
    }
    return fail_at(start, "#for has no #endfor; add one in the same file and condition");
  }

  bool repeat(std::string_view rest, const std::vector<Line>& lines, size_t first, size_t last) {
    const std::string name(take_name(rest));
    const bool has_in = take_name(rest) == "in";
    const size_t dots = rest.find("..");
    if (name.empty() || !has_in || dots == rest.npos)
      return fail("a loop is written #for NAME in FIRST..END (END left out)");
    int64_t begin = 0, end = 0;
    if (!evaluate(rest.substr(0, dots), begin) || !evaluate(rest.substr(dots + 2), end))
      return false;
    if (macros_.contains(name))
      return fail("the loop name " + name + " is already defined; choose another");
    if (++loop_depth_ > 16) return fail("loops are nested deeper than 16");
    for (int64_t i = begin; i < end; ++i) {
      macros_[name] = Macro{std::to_string(i), {}, false};
      if (!count() || !expand_lines(lines, first, last)) return false;
    }
    macros_.erase(name);
    --loop_depth_;
    return true;
  }

  // --- text
  // ------------------------------------------------------------------------------------------------------------

  // Expands line i; a call of a define whose parentheses are open takes the following lines in too.
  bool expand_text_line(const std::vector<Line>& lines, size_t& i, size_t last) {
    if (stays(lines[i])) {
      emit(lines[i].text);
      return fits();
    }
    std::string input(lines[i].text);
    std::string out;
    const int depth = lines[i].comment_depth;
    for (;;) {
      bool open_call = false;
      out.clear();
      if (!replace(input, out, {}, depth, &open_call)) return false;
      if (!open_call) break;
      size_t next = i + 1;
      std::string rest;
      if (next >= last || directive(lines, next, last, rest))
        return fail("the arguments of a define are not closed; add )");
      input += '\n';
      input += lines[++i].text;
    }
    emit(out);
    return fits();
  }

  // Whether there is nothing to replace or to join in a line; most are so.
  bool stays(const Line& line) const {
    int depth = line.comment_depth;
    for (std::string_view rest = line.text; !rest.empty();) {
      const Token t = next_token(rest, depth);
      rest.remove_prefix(t.text.size());
      if (t.kind == TokenKind::kPaste) return false;
      if (t.kind == TokenKind::kName && macros_.contains(t.text)) return false;
    }
    return true;
  }

  bool fits() {
    if (text_.size() <= options_.max_output_bytes) return true;
    return fail("the output is longer than " + std::to_string(options_.max_output_bytes) +
                " bytes");
  }

  // Appends a line without trailing spaces; of several blank lines one is kept.
  void emit(std::string_view line) {
    while (!line.empty() && is_space(line.back())) line.remove_suffix(1);
    if (line.empty() && (text_.empty() || text_.ends_with("\n\n"))) return;
    text_ += line;
    text_ += '\n';
  }

  // Replaces defines in `in`, then joins at ## and looks again when something was joined. `busy`
  // are the defines being replaced. With `open_call`, an unclosed argument list sets it instead of
  // failing.
  bool replace(std::string_view in, std::string& out, const std::vector<std::string_view>& busy,
               int depth, bool* open_call) {
    std::string current(in);
    for (int round = 0; round < 16; ++round) {
      std::string next;
      int d = depth;
      bool joined = false;
      if (!replace_once(current, next, busy, d, open_call)) return false;
      if (open_call && *open_call) return true;
      if (next.find("##") == next.npos) {
        out += next;
        return true;
      }
      std::string result = join(next, depth, joined);
      if (!joined) {
        out += result;
        return true;
      }
      current = std::move(result);
    }
    return fail("## joins again and again; a define uses its own result");
  }

  static std::string join(std::string_view in, int depth, bool& joined) {
    std::string out;
    bool pasting = false;
    while (!in.empty()) {
      const Token t = next_token(in, depth);
      in.remove_prefix(t.text.size());
      if (t.kind == TokenKind::kPaste) {
        while (!out.empty() && is_space(out.back())) out.pop_back();
        pasting = joined = true;
      } else if (!(pasting && t.kind == TokenKind::kSpace)) {
        pasting = false;
        out += t.text;
      }
    }
    return out;
  }

  bool replace_once(std::string_view in, std::string& out,
                    const std::vector<std::string_view>& busy, int& depth, bool* open_call) {
    while (!in.empty()) {
      const Token t = next_token(in, depth);
      in.remove_prefix(t.text.size());
      const auto found = t.kind == TokenKind::kName ? macros_.find(t.text) : macros_.end();
      bool is_busy = false;
      for (std::string_view name : busy) is_busy = is_busy || name == t.text;
      if (found == macros_.end() || is_busy) {
        out += t.text;
        continue;
      }
      const Macro macro = found->second;
      std::string body = macro.body;
      if (macro.takes_arguments) {
        std::string_view after = in;
        while (!after.empty() && is_space(after.front())) after.remove_prefix(1);
        if (!after.starts_with('(')) {  // the bare name: not a call
          out += t.text;
          continue;
        }
        std::vector<std::string> arguments;
        if (!take_arguments(after, arguments)) {
          if (!open_call)
            return fail("the arguments of " + found->first + " are not closed; add )");
          *open_call = true;
          return true;
        }
        in = after;
        if (!substitute(found->first, macro, arguments, busy, body)) return false;
      }
      if (!count()) return false;
      if (busy.size() >= 64) return fail("defines are nested deeper than 64 at " + found->first);
      std::vector<std::string_view> inner = busy;
      inner.push_back(found->first);
      int inner_depth = 0;
      if (!replace_once(body, out, inner, inner_depth, nullptr)) return false;
      if (out.size() > options_.max_output_bytes)
        return fail("a line grows beyond the output limit");
    }
    return true;
  }

  // Splits "(a, b(c, d))" at its commas and moves `s` past it. False when it is not closed.
  static bool take_arguments(std::string_view& s, std::vector<std::string>& arguments) {
    s.remove_prefix(1);
    std::string argument;
    int open = 1;
    int depth = 0;
    while (!s.empty()) {
      const Token t = next_token(s, depth);
      s.remove_prefix(t.text.size());
      const char c = t.kind == TokenKind::kOther ? t.text[0] : '\0';
      if (c == '(' || c == '[' || c == '{') ++open;
      if (c == ')' || c == ']' || c == '}') --open;
      if (open == 0 || (c == ',' && open == 1)) {
        arguments.emplace_back(trim(argument));
        argument.clear();
        if (open == 0) return true;
      } else if (t.kind == TokenKind::kComment) {
        argument += ' ';
      } else {
        argument += t.text;
      }
    }
    return false;
  }

  bool substitute(const std::string& name, const Macro& macro, std::vector<std::string>& arguments,
                  const std::vector<std::string_view>& busy, std::string& body) {
    if (macro.parameters.empty() && arguments.size() == 1 && arguments[0].empty())
      arguments.clear();
    if (arguments.size() != macro.parameters.size()) {
      return fail(name + " takes " + std::to_string(macro.parameters.size()) +
                  " arguments and is given " + std::to_string(arguments.size()));
    }
    for (std::string& argument : arguments) {
      std::string value;
      int depth = 0;
      if (!replace_once(argument, value, busy, depth, nullptr)) return false;
      argument = std::move(value);
    }
    std::string out;
    int depth = 0;
    for (std::string_view in = macro.body; !in.empty();) {
      const Token t = next_token(in, depth);
      in.remove_prefix(t.text.size());
      std::string_view text = t.text;
      for (size_t i = 0; i < macro.parameters.size() && t.kind == TokenKind::kName; ++i) {
        if (t.text == macro.parameters[i]) text = arguments[i];
      }
      out += text;
      if (out.size() > options_.max_output_bytes)
        return fail("a line grows beyond the output limit");
    }
    body = std::move(out);
    return true;
  }

  // --- expressions
  // -----------------------------------------------------------------------------------------------------

  // Precedence climbing over 64-bit integers. `live` is false in the unused half of && and ||,
  // where names need no value.
  struct Cursor {
    std::string_view rest;
    int nesting = 0;
  };

  bool evaluate(std::string_view text, int64_t& value) {
    // defined(NAME) is answered before names are replaced.
    std::string answered;
    for (std::string_view rest = text; !rest.empty();) {
      int depth = 0;
      const Token t = next_token(rest, depth);
      rest.remove_prefix(t.text.size());
      if (t.text != "defined") {
        answered += t.text;
        continue;
      }
      rest = trim(rest);
      const bool parenthesis = rest.starts_with('(');
      if (parenthesis) rest.remove_prefix(1);
      const std::string name(take_name(rest));
      rest = trim(rest);
      if (name.empty() || (parenthesis && !rest.starts_with(')')))
        return fail("defined takes one name: defined(NAME)");
      if (parenthesis) rest.remove_prefix(1);
      answered += macros_.contains(name) ? "1 " : "0 ";
    }
    std::string replaced;
    if (!replace(answered, replaced, {}, 0, nullptr)) return false;
    Cursor cursor{trim(replaced)};
    if (cursor.rest.empty()) return fail("an expression is missing");
    if (!binary(cursor, 1, true, value)) return false;
    cursor.rest = trim(cursor.rest);
    if (cursor.rest.empty()) return true;
    return fail("\"" + std::string(cursor.rest) + "\" is left over after the expression \"" +
                std::string(trim(text)) + "\"");
  }

  struct Operator {
    std::string_view text;
    int precedence;
  };
  static Operator peek_operator(std::string_view s) {
    static constexpr Operator kOperators[] = {{"||", 1}, {"&&", 2}, {"==", 3}, {"!=", 3}, {"<=", 4},
                                              {">=", 4}, {"<", 4},  {">", 4},  {"+", 5},  {"-", 5},
                                              {"*", 6},  {"/", 6},  {"%", 6}};
    for (const Operator& op : kOperators) {
      if (s.starts_with(op.text)) return op;
    }
    return {"", 0};
  }

  bool binary(Cursor& cursor, int lowest, bool live, int64_t& left) {
    if (!unary(cursor, live, left)) return false;
    for (;;) {
      cursor.rest = trim(cursor.rest);
      const Operator op = peek_operator(cursor.rest);
      if (op.precedence < lowest || op.precedence == 0) return true;
      cursor.rest.remove_prefix(op.text.size());
      const bool needed =
          live && !(op.text == "&&" && left == 0) && !(op.text == "||" && left != 0);
      int64_t right = 0;
      if (!binary(cursor, op.precedence + 1, needed, right)) return false;
      if (live && !apply(op.text, left, right)) return false;
    }
  }

  bool apply(std::string_view op, int64_t& a, int64_t b) {
    constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
    bool overflow = false;
    if (op == "||")
      a = a != 0 || b != 0;
    else if (op == "&&")
      a = a != 0 && b != 0;
    else if (op == "==")
      a = a == b;
    else if (op == "!=")
      a = a != b;
    else if (op == "<=")
      a = a <= b;
    else if (op == ">=")
      a = a >= b;
    else if (op == "<")
      a = a < b;
    else if (op == ">")
      a = a > b;
    else if (op == "/" || op == "%") {
      if (b == 0) return fail("the expression divides by zero");
      overflow = a == kMin && b == -1;
      if (!overflow) a = op == "/" ? a / b : a % b;
    } else {
      // + - * stay within 2^62 by checking in floating point first: plenty for sizes.
      const double x = static_cast<double>(a), y = static_cast<double>(b);
      const double r = op == "+" ? x + y : op == "-" ? x - y : x * y;
      overflow = r > 4.6e18 || r < -4.6e18;
      if (!overflow) a = op == "+" ? a + b : op == "-" ? a - b : a * b;
    }
    if (overflow) return fail("the expression overflows 62 bits");
    return true;
  }

  bool unary(Cursor& cursor, bool live, int64_t& value) {
    if (++cursor.nesting > 64) return fail("the expression is nested deeper than 64");
    cursor.rest = trim(cursor.rest);
    std::string_view& s = cursor.rest;
    bool ok = true;
    if (s.empty()) {
      ok = fail("the expression ends too early");
    } else if (s[0] == '!' || s[0] == '-' || s[0] == '+') {
      const char op = s[0];
      s.remove_prefix(1);
      ok = unary(cursor, live, value);
      if (ok && op == '!') value = value == 0;
      if (ok && op == '-') value = -value;
    } else if (s[0] == '(') {
      s.remove_prefix(1);
      ok = binary(cursor, 1, live, value);
      s = trim(s);
      if (ok && !s.starts_with(')')) ok = fail("a parenthesis is not closed in the expression");
      if (ok) s.remove_prefix(1);
    } else if (is_digit(s[0])) {
      ok = number(s, value);
    } else if (is_name_start(s[0])) {
      const std::string name(take_name(s));
      value = name == "true";
      if (live && name != "true" && name != "false") {
        ok =
            fail(name + " has no value in the expression; define it, or ask defined(" + name + ")");
      }
    } else {
      ok = fail("\"" + std::string(s) + "\" is not understood in the expression");
    }
    --cursor.nesting;
    return ok;
  }

  bool number(std::string_view& s, int64_t& value) {
    int depth = 0;
    const std::string_view text = next_token(s, depth).text;
    std::string_view digits = text;
    const bool hex = digits.starts_with("0x") || digits.starts_with("0X");
    if (hex) digits.remove_prefix(2);
    if (digits.ends_with('u') || digits.ends_with('i')) digits.remove_suffix(1);
    bool ok = !digits.empty() && digits.size() <= (hex ? 15u : 18u);
    value = 0;
    for (char c : digits) {
      const int d = is_digit(c)            ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : 99;
      ok = ok && d < (hex ? 16 : 10);
      if (!ok) break;
      value = value * (hex ? 16 : 10) + d;
    }
    if (!ok)
      return fail("\"" + std::string(text) + "\" is not an integer that an expression can hold");
    s.remove_prefix(text.size());
    return true;
  }

  const Options& options_;
  std::unordered_map<std::string, Macro, NameHash, std::equal_to<>> macros_;
  std::set<std::string, std::less<>> included_;
  std::vector<Frame> frames_;
  std::string text_;
  std::string error_;
  size_t replacements_ = 0;
  int loop_depth_ = 0;
};

}  // namespace detail

inline Output expand(std::string_view source, std::string_view file, const Options& options) {
  return detail::Expander(options).run(source, file);
}

}  // namespace wgslpp
