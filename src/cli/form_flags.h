// The flags that bind an answer to a form: --format, --grammar, --regex.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "base/result.h"
#include "service/model.h"
#include "service/request.h"

namespace puna::cli {

struct FormFlags {
  std::optional<std::string> format;   // "json" or a file with a schema
  std::optional<std::string> grammar;  // a file
  std::optional<std::string> regex;
};

void add_form_flags(CLI::App& app, FormFlags& flags);

// None: the answer is free. Errors: kUsage where two are given; those of read_text_file().
base::Result<std::optional<service::AnswerForm>> read_form(const FormFlags& flags);

// Whether answers of the model can be bound to it. Errors: those of service::AnswerForms and of
// service::tokenizer_of().
base::Result<void> check_form(const service::LoadedModel& model, const service::AnswerForm& form);

}  // namespace puna::cli
