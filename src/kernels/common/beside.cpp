// Joins WGSL modules by their declarations: those of a further text that differ from the first
// text's get names of their own, and one entry point calls the entry point of each.
#include "kernels/common/beside.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace puna::kernels {

using base::Result;

namespace {

constexpr size_t kMostBindings = 8;  // maxStorageBuffersPerShaderStage of WebGPU's baseline

bool is_one(const GridDim& dim) {
  return dim.extent == Extent::kOne && dim.mul == 1 && dim.div == 1 && dim.add == 0;
}
bool is_constant(const GridDim& dim) {
  return dim.extent == Extent::kOne && dim.div == 1 && dim.add == 0;
}
bool same_grid(const GridDim& a, const GridDim& b) {
  return a.extent == b.extent && a.mul == b.mul && a.div == b.div && a.add == b.add;
}

std::string_view define(const KernelCall& call, const std::string& name) {
  const auto found = call.defines.find(name);
  return found == call.defines.end() ? std::string_view() : found->second;
}

bool begins_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)); }

struct Word {
  std::string_view text;
  size_t begin = 0;
  char before = ' ', after = ' ';  // the nearest characters that are not spaces
};

// The identifiers and keywords of a text without comments; numbers with their suffixes are none.
std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  char before = ' ';
  for (size_t i = 0; i < text.size();) {
    if (!in_word(text[i])) {
      if (!is_space(text[i])) before = text[i];
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && in_word(text[end])) ++end;
    size_t next = end;
    while (next < text.size() && is_space(text[next])) ++next;
    if (begins_word(text[i]))
      words.push_back({text.substr(i, end - i), i, before, next < text.size() ? text[next] : ' '});
    before = text[end - 1];
    i = end;
  }
  return words;
}

std::string without_comments(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("//")) {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else {
      out += text[i];
    }
  }
  return out;
}

struct Declaration {
  std::string name;
  std::string text;
  std::optional<uint32_t> binding;
};

Declaration declaration(std::string text) {
  Declaration out;
  const std::vector<Word> words = words_of(text);
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string_view kind = words[i].text;
    if (words[i].before == '@') continue;
    if (kind == "fn" || kind == "struct" || kind == "const" || kind == "alias") {
      out.name = words[i + 1].text;
      break;
    }
    if (kind == "var") {
      // Behind the address space, var<storage, read>.
      const size_t close = words[i].after == '<' ? text.find('>', words[i].begin) : words[i].begin;
      const auto named = std::find_if(words.begin() + static_cast<ptrdiff_t>(i) + 1, words.end(),
                                      [&](const Word& word) { return word.begin > close; });
      if (named != words.end()) out.name = named->text;
      break;
    }
  }
  constexpr std::string_view kBinding = "@binding(";
  if (const size_t at = text.find(kBinding); at != std::string::npos) {
    uint32_t number = 0;
    std::from_chars(text.data() + at + kBinding.size(), text.data() + text.size(), number);
    out.binding = number;
  }
  out.text = std::move(text);
  return out;
}

// Declarations end with a semicolon, functions and structs with a brace.
std::vector<Declaration> declarations(std::string_view commented) {
  const std::string text = without_comments(commented);
  std::vector<Declaration> out;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    if (depth > 0 || (text[i] != ';' && text[i] != '}')) continue;
    while (begin < i && is_space(text[begin])) ++begin;
    if (begin < i) out.push_back(declaration(text.substr(begin, i + 1 - begin)));
    begin = i + 1;
  }
  return out;
}

const Declaration* find(const std::vector<Declaration>& all, std::string_view name) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Declaration& d) { return d.name == name; });
  return found == all.end() ? nullptr : &*found;
}

// Names that a text declares as the first text does, and that mean the same there.
std::set<std::string, std::less<>> alike(
    const std::vector<Declaration>& first, const std::vector<Declaration>& other,
    const std::function<bool(const Declaration&)>& is_bound_alike) {
  std::set<std::string, std::less<>> same;
  for (const Declaration& d : other) {
    const Declaration* before = find(first, d.name);
    if (before == nullptr || d.name == "main") continue;
    if (d.binding ? is_bound_alike(d) : before->text == d.text) same.insert(d.name);
  }
  // What uses something else differs too.
  const auto differs = [&](const Declaration& d) {
    const std::vector<Word> words = words_of(d.text);
    return std::any_of(words.begin(), words.end(), [&](const Word& word) {
      return word.before != '.' && !same.contains(word.text) && find(other, word.text) != nullptr;
    });
  };
  for (bool changed = true; changed;) {
    changed = std::erase_if(
                  same, [&](const std::string& name) { return differs(*find(other, name)); }) > 0;
  }
  return same;
}

// Members keep their names, which others may share.
std::string renamed(const Declaration& d, const std::vector<Declaration>& all,
                    const std::set<std::string, std::less<>>& same, std::string_view suffix) {
  const bool is_struct = d.text.starts_with("struct");
  std::string out;
  size_t done = 0;
  for (const Word& word : words_of(d.text)) {
    const bool is_member = word.before == '.' || (is_struct && word.after == ':');
    if (is_member || word.before == '@' || same.contains(word.text) || !find(all, word.text))
      continue;
    out += d.text.substr(done, word.begin + word.text.size() - done);
    out += suffix;
    done = word.begin + word.text.size();
  }
  return out + d.text.substr(done);
}

// The entry point of a text: "@compute @workgroup_size(64) fn main(@builtin(..) a: u32, ..) {..".
struct Entry {
  std::string attributes;
  std::vector<std::pair<std::string, std::string>> parameters;  // name, whole text
  std::string body;                                             // with its braces
};

Entry entry_of(const std::string& main) {
  Entry entry;
  const size_t fn = main.find("fn main"), open = main.find('{');
  entry.attributes = main.substr(0, fn);
  entry.body = main.substr(open);
  const size_t first = main.find('(', fn) + 1;
  const std::string list = main.substr(first, main.rfind(')', open) - first);
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    std::string text = list.substr(begin, end - begin);
    const std::vector<Word> words = words_of(text);
    const auto named = std::find_if(words.begin(), words.end(),
                                    [](const Word& word) { return word.after == ':'; });
    if (named != words.end()) entry.parameters.emplace_back(named->text, std::move(text));
    begin = end + 1;
  }
  return entry;
}

// "wid: vec3<u32>" of "@builtin(workgroup_id) wid: vec3<u32>".
std::string without_builtin(const std::string& parameter) {
  return parameter.substr(parameter.find(')') + 1);
}

class Joiner {
 public:
  explicit Joiner(const KernelCall& call) : call_(call) {}

  Result<void> add(std::string_view text, size_t part) {
    const std::vector<Declaration> all = declarations(text);
    const auto number = [&](const Declaration& d) {
      return part == 0 ? *d.binding : call_.beside[part - 1].bindings.at(*d.binding);
    };
    std::set<std::string, std::less<>> same;
    if (part == 0) {
      first_ = all;
      for (const Declaration& d : all) same.insert(d.name);
    } else {
      same = alike(first_, all, [&](const Declaration& d) {
        const Declaration* before = find(first_, d.name);
        return before->binding == number(d) && type_of(*before) == type_of(d);
      });
    }
    std::optional<Entry> entry;
    for (const Declaration& d : all) {
      std::string own = renamed(d, all, same, fmt::format("_{}", part));
      if (d.name == "main") {
        entry = entry_of(own);
        continue;
      }
      if (part > 0 && same.contains(d.name)) continue;
      if (d.binding) {
        if (!bound_.insert(number(d)).second)
          return fail(fmt::format("binds a buffer once more as {}", d.name));
        const size_t at = own.find("@binding(");
        own = own.substr(0, at) + fmt::format("@binding({})", number(d)) +
              own.substr(own.find(')', at) + 1);
      }
      text_ += own + "\n";
    }
    if (!entry) return fail("has no entry point");
    return add_entry(*entry, part);
  }

  std::string finish() && {
    std::string parameters;
    for (const auto& [name, parameter] : parameters_) parameters += parameter + ", ";
    return fmt::format("{}\n{}fn main({}) {{\n{}}}\n", text_, attributes_, parameters, calls_);
  }

 private:
  static std::string type_of(const Declaration& d) { return d.text.substr(d.text.find("var")); }

  std::unexpected<base::Error> fail(std::string_view why) const {
    return base::fail(base::ErrorCode::kInternal,
                      fmt::format("A kernel of \"{}\" {}.", call_.label, why));
  }

  Result<void> add_entry(const Entry& entry, size_t part) {
    if (part == 0) attributes_ = entry.attributes;
    if (entry.attributes != attributes_) return fail("has workgroups of another size");
    std::string parameters, arguments;
    for (const auto& [name, parameter] : entry.parameters) {
      parameters_.try_emplace(name, parameter);
      parameters += without_builtin(parameter) + ", ";
      // Workgroups are counted from the first of each part.
      const bool is_workgroup = parameter.find("workgroup_id") != std::string::npos;
      arguments += is_workgroup
                       ? fmt::format("vec3<u32>({0}.x - {1}u, {0}.y, {0}.z), ", name, first_x_)
                       : name + ", ";
      if (is_workgroup) workgroup_ = name;
    }
    text_ += fmt::format("fn main_{}({}) {}\n", part, parameters, entry.body);
    if (part < call_.beside.size()) {
      const uint32_t next = call_.beside[part].first_x;
      calls_ += fmt::format("  if ({}.x < {}u) {{ main_{}({}); }}\n  else ", workgroup_, next, part,
                            arguments);
      first_x_ = next;
    } else {
      calls_ += fmt::format("{{ main_{}({}); }}\n", part, arguments);
    }
    return {};
  }

  const KernelCall& call_;
  std::vector<Declaration> first_;
  std::set<uint32_t> bound_;
  std::map<std::string, std::string> parameters_;
  std::string text_, attributes_, calls_, workgroup_;
  uint32_t first_x_ = 0;
};

}  // namespace

std::optional<KernelCall> beside(const gpu::DeviceInfo& device, const KernelCall& first,
                                 const KernelCall& second) {
  const bool fit =
      first.kernel == second.kernel && is_constant(first.x) && is_constant(second.x) &&
      is_one(first.y) && is_one(second.y) && same_grid(first.z, second.z) &&
      second.beside.empty() && !define(first, "WG").empty() &&
      define(first, "WG") == define(second, "WG") &&
      uint64_t{first.x.mul} + second.x.mul <= device.limits.max_workgroups_per_dimension;
  if (!fit) return std::nullopt;
  KernelCall both = first;
  Beside part{second.defines, {}, first.x.mul};
  for (const BoundSlice& bound : second.bindings) {
    const auto known = std::find_if(
        both.bindings.begin(), both.bindings.end(),
        [&](const BoundSlice& b) { return b.slice == bound.slice && b.access == bound.access; });
    part.bindings.push_back(static_cast<uint32_t>(known - both.bindings.begin()));
    if (known == both.bindings.end()) both.bindings.push_back(bound);
  }
  if (both.bindings.size() > kMostBindings) return std::nullopt;
  both.label += "+" + second.label;
  both.x.mul += second.x.mul;
  both.beside.push_back(std::move(part));
  return both;
}

Result<std::string> join(const KernelCall& call, std::span<const std::string> texts) {
  Joiner joiner(call);
  for (size_t i = 0; i < texts.size(); ++i) PUNA_TRY(joiner.add(texts[i], i));
  return std::move(joiner).finish();
}

}  // namespace puna::kernels
