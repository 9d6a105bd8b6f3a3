#include "api/openai/response_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "api/answer_fields.h"
#include "api/fields.h"
#include "api/media.h"

namespace puna::api::openai {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

using Kind = Field::Kind;

constexpr Field kId = passed_over("id", "Nothing is stored that it could name.");
constexpr Field kStatus = passed_over("status", "Items are read as far as they go.");
constexpr Field kCaller = passed_over("caller", "The model calls.");

constexpr Field kMessage[] = {
    {"type", Kind::kText, "message, or none."},
    {"role", Kind::kText, "user, assistant, system or developer."},
    {"content", Kind::kAny, "A text or a list of parts."},
    passed_over("phase", "Templates have no place for it."),
    kId,
    kStatus,
};
constexpr Field kCall[] = {
    {"type", Kind::kText, "function_call"},
    {"call_id", Kind::kText, "Of the call; its output has it too."},
    {"name", Kind::kText, "Of the function."},
    {"arguments", Kind::kText, "A JSON object, as text."},
    refused("namespace", "functions have names only."),
    kCaller,
    kId,
    kStatus,
};
constexpr Field kOutput[] = {
    {"type", Kind::kText, "function_call_output"},
    {"call_id", Kind::kText, "The call that this is the output of."},
    {"output", Kind::kAny, "A text or a list of parts."},
    passed_over("name", "The call has it."),
    passed_over("namespace", "The call has it."),
    kCaller,
    kId,
    kStatus,
};
constexpr Field kReasoning[] = {
    {"type", Kind::kText, "reasoning"},
    {"content", Kind::kList, "{type: reasoning_text, text}: what the model thought."},
    {"summary", Kind::kList, "{type: summary_text, text}: read where there is no content."},
    passed_over("encrypted_content", "It is no model's here."),
    kId,
    kStatus,
};

constexpr Field kText[] = {
    {"type", Kind::kText, "What the part is."},
    {"text", Kind::kText, "The text."},
    passed_over("annotations", "Where the text comes from."),
    passed_over("logprobs", "How probable the text was."),
    passed_over("prompt_cache_breakpoint", "What is known of a prompt is never evaluated again."),
};
constexpr Field kRefusal[] = {
    {"type", Kind::kText, "refusal"},
    {"refusal", Kind::kText, "The text."},
};

constexpr Field kImage[] = {
    {"type", Kind::kText, "input_image"},
    {"image_url", Kind::kText, "A data: URL, or an address."},
    Field{"detail", Kind::kText, "Pictures are read in the size that the model was trained with."}
        .one_of("auto|low|high|original"),
    refused("file_id", "no files are kept."),
};
constexpr Field kSound[] = {
    {"type", Kind::kText, "input_audio"},
    {"input_audio", Kind::kObject, "{data, format}: the file in base64."},
};
constexpr Field kFile[] = {
    {"type", Kind::kText, "input_file"},
    {"file_data", Kind::kText, "A data: URL of a picture."},
    passed_over("filename", "What a file is its bytes say."),
    passed_over("detail", "Pictures are read in the size that the model was trained with."),
    refused("file_id", "no files are kept."),
    refused("file_url", "input_image takes addresses."),
};

// Parts that can be read, and the field with their text; none: they are media.
struct PartKind {
  std::string_view type, field;
  std::span<const Field> fields;
};
constexpr PartKind kMessageParts[] = {
    {"input_text", "text", kText}, {"output_text", "text", kText}, {"refusal", "refusal", kRefusal},
    {"input_image", "", kImage},   {"input_audio", "", kSound},    {"input_file", "", kFile},
};
constexpr PartKind kThoughtParts[] = {{"reasoning_text", "text", kText}};
constexpr PartKind kSummaryParts[] = {{"summary_text", "text", kText}};

Result<std::string> required(const Body& body, std::string_view name) {
  auto text = body.text(name);
  if (!text) return refuse_field(name, Json(), "a text");
  return *std::move(text);
}
Result<std::string> required_name(const Body& body, std::string_view name) {
  PUNA_TRY(std::string text, required(body, name));
  if (text.empty()) return refuse_field(name, text, "a text that is not empty");
  return text;
}

template <class Kinds>
std::string names_of(const Kinds& kinds) {
  std::string out;
  for (const auto& kind : kinds) out.append(out.empty() ? "" : ", ").append(kind.type);
  return out;
}

// A picture or sound.
Result<Content> read_media_part(const Json& part, const Body& body) {
  Content out;
  PUNA_TRY(const std::string type, required(body, "type"));
  if (type == "input_audio") {
    PUNA_TRY(MediaFile sound, media_of_part(part));
    out.add(std::move(sound));
    return out;
  }
  const std::string_view field = type == "input_image" ? "image_url" : "file_data";
  PUNA_TRY(const std::string url, required(body, field));
  // A file of another kind has a name for it; pictures are told by their bytes.
  if (type == "input_file" && url.starts_with("data:") && !url.starts_with("data:image/")) {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("The field \"file_data\" is of the type \"{}\"; only pictures "
                    "can be read.",
                    url.substr(5, std::min<size_t>(url.find_first_of(";,"), 60) - 5)));
  }
  PUNA_TRY(MediaFile picture, media_of_url(field, url, models::Sense::kPictures));
  out.add(std::move(picture));
  return out;
}

Result<Content> read_part(std::string_view field, const Json& part,
                          std::span<const PartKind> kinds) {
  if (!part.is_object()) return refuse_field(field, part, "a list of objects");
  const Json* type = part.find("type");
  if (!type || !type->is_string()) return refuse_field("type", type ? *type : Json(), "a text");
  const auto kind = std::ranges::find(kinds, type->string(), &PartKind::type);
  if (kind == kinds.end()) {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("A part of type \"{}\" is not supported in \"{}\"; possible are {}.",
                    type->string(), field, names_of(kinds)));
  }
  PUNA_TRY(const Body body, Body::read(part, {kind->fields}));
  if (kind->field.empty()) return read_media_part(part, body);
  PUNA_TRY(std::string text, required(body, kind->field));
  return Content(std::move(text));
}

// A text, or parts that stand one behind the other.
Result<Content> read_content(std::string_view field, const Json* value,
                             std::span<const PartKind> kinds) {
  if (value && value->is_string()) return Content(value->string());
  if (!value || !value->is_array())
    return refuse_field(field, value ? *value : Json(), "a text or a list of parts");
  Content out;
  for (const Json& part : value->items()) {
    PUNA_TRY(Content content, read_part(field, part, kinds));
    out.join(std::move(content));
  }
  return out;
}

// Of parts that are texts.
Result<std::string> read_text(std::string_view field, const Json* value,
                              std::span<const PartKind> kinds) {
  PUNA_TRY(Content content, read_content(field, value, kinds));
  return std::move(content.text);
}

void join(std::string& text, std::string_view more, std::string_view between) {
  if (!text.empty() && !more.empty()) text += between;
  text += more;
}

// Templates of some families take back ids of nine characters only.
std::string own_id(const std::string& id) {
  constexpr std::string_view kPrefix = "call_";
  constexpr size_t kShort = 9;
  const bool ours = id.size() == kPrefix.size() + kShort && id.starts_with(kPrefix);
  return ours ? id.substr(kPrefix.size()) : id;
}

class Input {
 public:
  explicit Input(const TemplateNames& names) : names_(names) {}

  void add_text(std::string_view role, std::string text) {
    messages_.push_back({.role = std::string(role), .content = std::move(text)});
  }
  // Behind what the last message has.
  void join_last(Content content, std::string_view between) {
    api::join(messages_.back().content, media_, messages_.size() - 1, std::move(content), between);
  }
  void add_instructions(std::string text) {
    instructed_ = !text.empty();
    if (instructed_) add_text("system", std::move(text));
  }
  Result<void> add(const Json& item);

  Result<Conversation> take() {
    if (messages_.empty()) {
      return base::fail(ErrorCode::kInvalidArgument,
                        "The field \"input\" has no text that could be answered.");
    }
    return Conversation{std::move(messages_), std::move(media_)};
  }

 private:
  Result<void> add_message(const Json& item);
  Result<void> add_call(const Json& item);
  Result<void> add_output(const Json& item);
  Result<void> add_reasoning(const Json& item);

  // The message at the end, which is the assistant's.
  chat::Message& assistant() {
    if (messages_.empty() || messages_.back().role != "assistant") add_text("assistant", "");
    return messages_.back();
  }

  const TemplateNames names_;
  std::vector<chat::Message> messages_;
  std::vector<service::PlacedMedia> media_;
  bool instructed_ = false;                             // the first are the instructions
  std::unordered_map<std::string, std::string> calls_;  // names of functions, by ids of calls

  struct ItemKind {
    std::string_view type;
    Result<void> (Input::*read)(const Json& item);
  };
  static const ItemKind kItems[4];
};

constexpr Input::ItemKind Input::kItems[] = {
    {"message", &Input::add_message},
    {"function_call", &Input::add_call},
    {"function_call_output", &Input::add_output},
    {"reasoning", &Input::add_reasoning},
};

Result<void> Input::add(const Json& item) {
  if (!item.is_object()) return refuse_field("input", item, "a text or a list of objects");
  const Json* type = item.find("type");
  if (!type || type->is_null()) return add_message(item);
  if (!type->is_string()) return refuse_field("type", *type, "a text");
  if (*type == Json("item_reference"))
    return cannot("input", "nothing is stored that an item_reference could name");
  for (const ItemKind& kind : kItems) {
    if (type->string() == kind.type) return (this->*kind.read)(item);
  }
  return base::fail(ErrorCode::kUnsupported,
                    fmt::format("An item of type \"{}\" is not supported; possible are {}.",
                                type->string(), names_of(kItems)));
}

Result<void> Input::add_message(const Json& item) {
  PUNA_TRY(const Body body, Body::read(item, {kMessage}));
  PUNA_TRY(std::string role, required(body, "role"));
  const bool assistant_said = role == "assistant";
  if (!assistant_said && role != "user" && role != "system" && role != "developer")
    return refuse_field("role", role, "user, assistant, system or developer");
  const Json* content = body.find("content");
  // An answer may have been empty.
  if (!assistant_said && content && *content == Json::array())
    return refuse_field("content", *content, "a text or a list of at least one part");
  PUNA_TRY(Content parts, read_content("content", content, kMessageParts));
  if (assistant_said) {
    assistant();
    join_last(std::move(parts), "\n");
    return {};
  }
  if (role == "developer") role = names_.developer;
  // Most templates take one text of the system.
  const bool joins = role == "system" && instructed_ && messages_.size() == 1;
  if (!joins) add_text(role, "");
  join_last(std::move(parts), "\n\n");
  return {};
}

Result<void> Input::add_call(const Json& item) {
  PUNA_TRY(const Body body, Body::read(item, {kCall}));
  PUNA_TRY(const std::string call_id, required_name(body, "call_id"));
  PUNA_TRY(const std::string name, required_name(body, "name"));
  PUNA_TRY(const std::string arguments, required(body, "arguments"));
  calls_.emplace(call_id, name);
  Json function = Json::object(), call = Json::object();
  function.set("name", name).set("arguments", arguments);
  call.set("id", own_id(call_id)).set("type", "function").set("function", std::move(function));
  chat::Message& message = assistant();
  if (Json* const before = message.fields.find("tool_calls")) {
    before->push(std::move(call));
  } else {
    message.fields.add("tool_calls", Json::array().push(std::move(call)));
  }
  return {};
}

Result<void> Input::add_output(const Json& item) {
  PUNA_TRY(const Body body, Body::read(item, {kOutput}));
  PUNA_TRY(const std::string call_id, required_name(body, "call_id"));
  const auto call = calls_.find(call_id);
  if (call == calls_.end())
    return refuse_field("call_id", call_id, "the call_id of a function_call before it");
  chat::Message out{.role = "tool"};
  PUNA_TRY(Content output, read_content("output", body.find("output"), kMessageParts));
  out.fields.set("tool_call_id", own_id(call_id)).set("name", call->second);
  messages_.push_back(std::move(out));
  join_last(std::move(output), "");
  return {};
}

Result<void> Input::add_reasoning(const Json& item) {
  PUNA_TRY(const Body body, Body::read(item, {kReasoning}));
  const Json* content = body.find("content");
  const Json* summary = body.find("summary");
  std::string text;
  if (summary) {
    PUNA_TRY(text, read_text("summary", summary, kSummaryParts));
  }
  if (content && !content->items().empty()) {
    PUNA_TRY(text, read_text("content", content, kThoughtParts));
  }
  if (text.empty()) return {};
  chat::Message& message = assistant();
  if (Json* const before = message.fields.find(names_.reasoning)) {
    join(before->string(), text, "\n");
  } else {
    message.fields.add(std::string(names_.reasoning), std::move(text));
  }
  return {};
}

}  // namespace

Result<Conversation> read_response_input(const std::optional<std::string>& instructions,
                                         const Json* input, const TemplateNames& names) {
  Input out(names);
  if (instructions) out.add_instructions(*instructions);
  if (input && input->is_string()) {
    out.add_text("user", input->string());
    return out.take();
  }
  if (!input || !input->is_array() || input->items().empty()) {
    return refuse_field("input", input ? *input : Json(), "a text or a list of at least one item");
  }
  for (size_t i = 0; i < input->items().size(); ++i) {
    PUNA_TRY_CONTEXT(out.add(input->items()[i]), fmt::format("While reading item {}", i));
  }
  return out.take();
}

}  // namespace puna::api::openai
