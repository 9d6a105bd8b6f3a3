// The fields that bind an answer to a form, of every dialect.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/fields.h"
#include "base/json.h"
#include "base/result.h"
#include "service/model.h"
#include "service/request.h"

namespace puna::api {

// An answer that is a JSON object of any kind, and one that a schema admits.
service::AnswerForm any_object();
service::AnswerForm of_schema(const base::Json& schema, bool strict);

// The fields grammar, with its triggers, json_schema and response_format of answer_fields(). None:
// the answer is free. preserved: see read_preserved(). Errors: those of the fields;
// kInvalidArgument where two of them are given, for a response_format without its schema, and where
// triggers and a grammar do not come together.
base::Result<std::optional<service::AnswerForm>> read_form(const Body& body,
                                                           const service::LoadedModel& model,
                                                           std::span<const std::string> preserved);
// The members of a trigger.
std::span<const Field> trigger_fields();

// The marks of the field preserved_tokens that are control tokens of the model.
base::Result<std::vector<std::string>> read_preserved(const Body& body,
                                                      const service::LoadedModel& model);

// A format as OpenAI's dialects have it: {type: text}, {type: json_object, schema?}, {type:
// json_schema, NAME: {schema, strict}}, or with these members beside the type. `field`: its name.
// Errors: kInvalidArgument naming the field.
base::Result<std::optional<service::AnswerForm>> read_format(std::string_view field,
                                                             const base::Json& format);
// The members of a format.
std::span<const Field> format_fields();

}  // namespace puna::api
