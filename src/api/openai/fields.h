// Checked reads of a request's fields, with messages that name them.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace puna::api::openai {

// Reads each field at most once, and knows in the end which nobody asked for. A field that is null
// counts as not given.
class Fields {
 public:
  // Errors: kInvalidArgument when the body is no object.
  static base::Result<Fields> of(const base::Json& body);

  const base::Json* find(std::string_view name);
  // Errors: kInvalidArgument naming the field, what it has to be and what it is.
  base::Result<std::optional<std::string>> text(std::string_view name);
  base::Result<std::optional<bool>> flag(std::string_view name);
  base::Result<std::optional<double>> number(std::string_view name, double least, double most);
  base::Result<std::optional<int64_t>> integer(std::string_view name, int64_t least, int64_t most);
  // A list of texts; a single text is a list of one.
  base::Result<std::vector<std::string>> texts(std::string_view name);

  // Fields that have no say in what Puna does, such as who asks.
  void pass_over(std::string_view name) { known_.emplace(name); }
  // Logs a line for each field that nobody asked for.
  void log_unknown() const;

 private:
  explicit Fields(const base::Json& body) : body_(&body) {}

  const base::Json* body_;
  std::set<std::string, std::less<>> known_;
};

// "The field "seed" is "x" (string), but ...".
std::unexpected<base::Error> refuse_field(std::string_view name, const base::Json& value,
                                          std::string_view wanted);
// Token ids. Errors: kInvalidArgument naming `field`.
base::Result<std::vector<int32_t>> token_ids(std::string_view field, const base::Json& value);

}  // namespace puna::api::openai
