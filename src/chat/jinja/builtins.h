// What built-in filters, tests, methods and functions share: reading arguments and walking values.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/jinja/evaluator.h"
#include "chat/jinja/value.h"

namespace puna::chat::jinja {

// An error without a place; the evaluator adds it.
std::unexpected<base::Error> refuse(std::string what);

// The arguments in the order of `parameters`, null where none is given. A parameter that may be
// left out ends with "="; those before "/" are not given by name. Errors: kInvalidArgument for too
// many, unknown, repeated or missing ones.
base::Result<std::vector<const Value*>> bind(const Arguments& arguments,
                                             std::initializer_list<std::string_view> parameters);

// Typed reads of an argument that may be missing. Errors: kInvalidArgument naming `what`.
base::Result<int64_t> integer_or(const Value* value, int64_t fallback, std::string_view what);
base::Result<std::string> string_or(const Value* value, std::string_view fallback,
                                    std::string_view what);

// What a loop over `value` gives: items, characters, keys, or nothing for undefined.
base::Result<std::shared_ptr<const ListData>> items_of(Evaluator& evaluator, const Value& value);

// value.name and value[key]; undefined when there is no such thing.
// Errors: kInvalidArgument when `value` is undefined itself.
base::Result<Value> get_attribute(const Value& value, const std::string& name);
base::Result<Value> get_item(const Value& value, const Value& key);
base::Result<Value> get_slice(Evaluator& evaluator, const Value& value, const Value& first,
                              const Value& last, const Value& step);
// The method of a string, list, dict or number, or undefined.
Value find_method(const Value& self, std::string_view name);
// Whether it is a method that would change a list or dict, which templates may not.
bool is_change(const Value& self, std::string_view name);
// self.name(arguments), of a method that there is.
base::Result<Value> call_method(Evaluator& evaluator, const Value& self, std::string_view name,
                                const Arguments& arguments);
// dict.fromkeys(keys, value)
base::Result<Value> dict_from_keys(Evaluator& evaluator, const Arguments& arguments);
// A global function, or undefined.
Value find_global(std::string_view name);

// left op right for + - * / // % **.
base::Result<Value> arithmetic(Evaluator& evaluator, std::string_view op, const Value& left,
                               const Value& right);
// left op right for == != < <= > >= in "not in".
base::Result<bool> compare(Evaluator& evaluator, std::string_view op, const Value& left,
                           const Value& right);

// Text of a value, its size paid for.
base::Result<std::string> text_of(Evaluator& evaluator, const Value& value);
// The value if it is a string (markup stays so), else its text.
base::Result<Value> string_of(Evaluator& evaluator, const Value& value);
// `text` as markup if `self` is, else as a plain string; its size paid for.
base::Result<Value> text_like(Evaluator& evaluator, const Value& self, std::string text);
// What a string or markup adds to markup: the text, escaped unless it is markup.
std::string escaped_text(const Value& value);

// Filters and tests by name, as select() and map() need them.
base::Result<Value> apply_filter(Evaluator& evaluator, const std::string& name, const Value& input,
                                 const Arguments& arguments);
base::Result<bool> apply_test(Evaluator& evaluator, const std::string& name, const Value& input,
                              const Arguments& arguments);

}  // namespace puna::chat::jinja
