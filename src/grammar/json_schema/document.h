// A schema as it was written, with what its references name: `$id`, `$anchor`, JSON pointers.
// Nothing is ever fetched.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/json.h"
#include "base/result.h"

namespace puna::grammar {

class SchemaDocument {
 public:
  // `root` outlives this. Errors: kUnsupported for a `$schema` of another draft.
  static base::Result<SchemaDocument> read(const base::Json& root);

  const base::Json& root() const { return *root_; }
  // Whether `$ref` hides what stands beside it, as it does up to draft 7.
  bool ref_stands_alone() const { return old_; }
  // Whether all of the document is one resource: what `$dynamicRef` names is then known.
  bool is_one_resource() const { return roots_.size() <= 1; }

  // What `ref` in the schema `from` names. Errors, with the path of `from`: kInvalidArgument where
  // nothing is; kUnsupported for what is outside of the document.
  base::Result<const base::Json*> resolve(const base::Json& from, std::string_view ref);

  // Where a value of the document stands, as in "#/properties/a"; "#" for one of none.
  std::string path_of(const base::Json& value) const;

 private:
  explicit SchemaDocument(const base::Json& root) : root_(&root) {}
  void index(const base::Json& schema, const std::string& base);
  base::Result<const base::Json*> follow(const base::Json& from, const base::Json& resource,
                                         std::string_view base, std::string_view pointer,
                                         std::string_view ref);

  const base::Json* root_;
  bool old_ = false;
  std::map<std::string, const base::Json*, std::less<>> roots_;    // by absolute URI
  std::map<std::string, const base::Json*, std::less<>> anchors_;  // by URI#name
  std::unordered_map<const base::Json*, std::string> bases_;       // of the schemas that are known
};

// Where a relative URI leads from a base. Source: RFC 3986, section 5.2; without its fragment.
std::string resolve_uri(std::string_view base, std::string_view reference);

}  // namespace puna::grammar
