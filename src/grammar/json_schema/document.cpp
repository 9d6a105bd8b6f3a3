#include "grammar/json_schema/document.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "base/hex.h"
#include "grammar/json_schema/keywords.h"

namespace puna::grammar {

using base::ErrorCode;
using base::fail;
using base::Json;
using base::Result;

namespace {

// A URI in its parts; what follows "#" is left out.
struct Uri {
  std::string_view scheme;     // with ":"
  std::string_view authority;  // with "//"
  std::string_view path;
  std::string_view query;  // with "?"
};

Uri split_uri(std::string_view text) {
  Uri out;
  text = text.substr(0, text.find('#'));
  if (const size_t end = text.find_first_of(":/?");
      end != std::string_view::npos && end > 0 && text[end] == ':') {
    out.scheme = text.substr(0, end + 1);
    text.remove_prefix(end + 1);
  }
  if (text.starts_with("//")) {
    const size_t end = text.find_first_of("/?", 2);
    out.authority = text.substr(0, end);
    text.remove_prefix(out.authority.size());
  }
  out.path = text.substr(0, text.find('?'));
  out.query = text.substr(out.path.size());
  return out;
}

std::string without_dot_segments(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    // One segment with the slash before it.
    const size_t end = path.find('/', 1);
    const std::string_view segment = path.substr(0, end);
    const bool last = end == std::string_view::npos;
    path.remove_prefix(segment.size());
    const std::string_view name = segment.starts_with('/') ? segment.substr(1) : segment;
    if (name == ".." || name == ".") {
      if (name == "..") out.resize(out.rfind('/') == std::string::npos ? 0 : out.rfind('/'));
      if (last) out += '/';
    } else {
      out += segment;
    }
  }
  return out;
}

// A part of a JSON pointer as the key that it means. Source: RFC 6901, section 4.
std::string unescaped(std::string_view part) {
  std::string out;
  for (size_t i = 0; i < part.size(); ++i) {
    const bool escape = part[i] == '~' && i + 1 < part.size();
    if (escape && part[i + 1] == '1') {
      out += '/';
      ++i;
    } else if (escape && part[i + 1] == '0') {
      out += '~';
      ++i;
    } else {
      out += part[i];
    }
  }
  return out;
}

std::string escaped(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

const Json* child_of(const Json& value, std::string_view key) {
  if (!value.is_array()) return value.find(key);
  size_t index = 0;
  if (key.empty() || key.size() > 9) return nullptr;
  for (const char c : key) {
    if (c < '0' || c > '9') return nullptr;
    index = index * 10 + static_cast<size_t>(c - '0');
  }
  return index < value.items().size() ? &value.items()[index] : nullptr;
}

// Nothing where `wanted` does not stand in `value`.
std::optional<std::string> path_below(const Json& value, const Json& wanted) {
  if (&value == &wanted) return std::string();
  if (value.is_object()) {
    for (const auto& [key, inner] : value.members()) {
      if (auto path = path_below(inner, wanted)) return fmt::format("/{}{}", escaped(key), *path);
    }
  } else if (value.is_array()) {
    for (size_t i = 0; i < value.items().size(); ++i) {
      if (auto path = path_below(value.items()[i], wanted)) return fmt::format("/{}{}", i, *path);
    }
  }
  return std::nullopt;
}

// The text of a member, where it is one.
std::optional<std::string_view> text_of(const Json& schema, std::string_view key) {
  const Json* value = schema.find(key);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return value->string();
}

struct Draft {
  std::string_view in_uri;
  bool ref_stands_alone;
};
constexpr std::array kDrafts = {Draft{"draft-06", true}, Draft{"draft-07", true},
                                Draft{"2019-09", false}, Draft{"2020-12", false}};

}  // namespace

std::string resolve_uri(std::string_view base, std::string_view reference) {
  const Uri to = split_uri(reference);
  const Uri from = split_uri(base);
  const auto join = [](std::string_view scheme, std::string_view authority, std::string_view path,
                       std::string_view query) {
    return fmt::format("{}{}{}{}", scheme, authority, without_dot_segments(path), query);
  };
  if (!to.scheme.empty()) return join(to.scheme, to.authority, to.path, to.query);
  if (!to.authority.empty()) return join(from.scheme, to.authority, to.path, to.query);
  if (to.path.empty()) {
    return join(from.scheme, from.authority, from.path, to.query.empty() ? from.query : to.query);
  }
  if (to.path.starts_with('/')) return join(from.scheme, from.authority, to.path, to.query);
  const bool bare = !from.authority.empty() && from.path.empty();
  const std::string_view folder = from.path.substr(0, from.path.rfind('/') + 1);
  return join(from.scheme, from.authority, fmt::format("{}{}", bare ? "/" : folder, to.path),
              to.query);
}

Result<SchemaDocument> SchemaDocument::read(const Json& root) {
  SchemaDocument out(root);
  if (const auto name = text_of(root, "$schema")) {
    const Draft* draft = nullptr;
    for (const Draft& row : kDrafts) {
      if (name->find("json-schema.org") != std::string_view::npos &&
          name->find(row.in_uri) != std::string_view::npos) {
        draft = &row;
      }
    }
    const bool any = name->find("json-schema.org/schema") != std::string_view::npos;
    if (draft == nullptr && !any) {
      return fail(ErrorCode::kUnsupported,
                  fmt::format("\"$schema\" is \"{}\", but only JSON Schema 2020-12, 2019-09 and "
                              "drafts 7 and 6 are known.",
                              *name));
    }
    out.old_ = draft != nullptr && draft->ref_stands_alone;
  }
  out.roots_.emplace("", &root);
  out.index(root, "");
  return out;
}

void SchemaDocument::index(const Json& schema, const std::string& outer) {
  if (!schema.is_object() || bases_.contains(&schema)) return;
  std::string base = outer;
  const bool hidden = old_ && schema.find("$ref") != nullptr;
  if (const auto id = text_of(schema, "$id"); id && !hidden) {
    if (id->starts_with('#')) {
      anchors_.emplace(fmt::format("{}{}", base, *id), &schema);
    } else {
      base = resolve_uri(base, *id);
      // The root stays reachable by the URI it has without this.
      if (&schema == root_) roots_.clear();
      roots_.emplace(base, &schema);
    }
  }
  for (const std::string_view key : {"$anchor", "$dynamicAnchor"}) {
    if (const auto name = text_of(schema, key)) {
      anchors_.emplace(fmt::format("{}#{}", base, *name), &schema);
    }
  }
  bases_.emplace(&schema, base);
  for (const auto& [key, value] : schema.members()) {
    const Keyword* row = find_keyword(key);
    if (row == nullptr || row->holds == Keyword::Holds::kNothing) continue;
    const bool list = row->holds == Keyword::Holds::kList ||
                      (row->holds == Keyword::Holds::kSchemaOrList && value.is_array());
    if (list && value.is_array()) {
      for (const Json& inner : value.items()) index(inner, base);
    } else if (row->holds == Keyword::Holds::kMap && value.is_object()) {
      for (const auto& [name, inner] : value.members()) index(inner, base);
    } else {
      index(value, base);
    }
  }
}

Result<const Json*> SchemaDocument::follow(const Json& from, const Json& resource,
                                           std::string_view base, std::string_view pointer,
                                           std::string_view ref) {
  const Json* at = &resource;
  std::string inner(base);
  while (!pointer.empty()) {
    const size_t end = pointer.find('/', 1);
    const std::string key =
        unescaped(pointer.substr(1, end == std::string_view::npos ? end : end - 1));
    pointer.remove_prefix(end == std::string_view::npos ? pointer.size() : end);
    at = child_of(*at, key);
    if (at == nullptr) {
      return fail(
          ErrorCode::kInvalidArgument,
          fmt::format("{}: \"$ref\" is \"{}\", but \"{}\" is not there.", path_of(from), ref, key));
    }
    if (const auto known = bases_.find(at); known != bases_.end()) inner = known->second;
  }
  // It may stand where no keyword is known to hold a schema.
  index(*at, inner);
  return at;
}

Result<const Json*> SchemaDocument::resolve(const Json& from, std::string_view ref) {
  const auto known = bases_.find(&from);
  const std::string base = known == bases_.end() ? std::string() : known->second;
  const size_t hash = ref.find('#');
  const std::string uri = hash == 0 ? base : resolve_uri(base, ref);
  const std::string fragment =
      hash == std::string_view::npos ? std::string() : base::percent_decoded(ref.substr(hash + 1));
  if (!fragment.empty() && !fragment.starts_with('/')) {
    if (const auto found = anchors_.find(fmt::format("{}#{}", uri, fragment));
        found != anchors_.end()) {
      return found->second;
    }
  }
  const auto resource = roots_.find(uri);
  if (resource == roots_.end()) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: \"$ref\" is \"{}\", which is outside of the schema; nothing is "
                            "fetched.",
                            path_of(from), ref));
  }
  if (fragment.empty() || fragment.starts_with('/')) {
    return follow(from, *resource->second, uri, fragment, ref);
  }
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("{}: \"$ref\" is \"{}\", but no schema has this anchor.", path_of(from), ref));
}

std::string SchemaDocument::path_of(const Json& value) const {
  return fmt::format("#{}", path_below(*root_, value).value_or(""));
}

}  // namespace puna::grammar
