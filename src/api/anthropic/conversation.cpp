#include "api/anthropic/conversation.h"

#include <fmt/format.h>

#include <string>
#include <unordered_map>
#include <utility>

#include "api/answer_fields.h"
#include "api/fields.h"
#include "api/media.h"

namespace puna::api::anthropic {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

using Kind = Field::Kind;

constexpr Field kMark =
    passed_over("cache_control", "What is known of a prompt is never evaluated again.");

constexpr Field kMessage[] = {
    {"role", Kind::kText, "user or assistant."},
    {"content", Kind::kAny, "A text or a list of blocks."},
};
constexpr Field kText[] = {
    {"type", Kind::kText, "text"},
    {"text", Kind::kText, "The text."},
    passed_over("citations", "Where the text comes from."),
    kMark,
};
constexpr Field kImage[] = {
    {"type", Kind::kText, "image"},
    {"source", Kind::kObject, "{type: base64, media_type, data} or {type: url, url}."},
    kMark,
};
constexpr Field kImageSource[] = {
    Field{"type", Kind::kText, "Where it is."}.one_of("base64|url|file"),
    {"media_type", Kind::kText, "What it is, though its bytes say so."},
    {"data", Kind::kText, "Of base64: the file."},
    {"url", Kind::kText, "Of url: the address, or a data: URL."},
    refused("file_id", "no files are kept."),
};
constexpr Field kDocument[] = {
    {"type", Kind::kText, "document"},
    {"source", Kind::kObject,
     "{type: text, media_type: text/plain, data}, or {type: content, content}."},
    {"title", Kind::kText, "Stands before it."},
    {"context", Kind::kText, "Stands before it."},
    passed_over("citations", "Answers name no places in documents."),
    kMark,
};
constexpr Field kDocumentSource[] = {
    Field{"type", Kind::kText, "What it is."}.one_of("text|content|base64|url|file"),
    {"media_type", Kind::kText, "text/plain"},
    {"data", Kind::kText, "Of text: the text."},
    {"content", Kind::kAny, "Of content: a text or blocks."},
    passed_over("url", "No documents are fetched."),
    refused("file_id", "no files are kept."),
};
constexpr Field kThinking[] = {
    {"type", Kind::kText, "thinking"},
    {"thinking", Kind::kText, "What the model thought."},
    passed_over("signature", "Thinking is not signed here."),
    kMark,
};
constexpr Field kToolUse[] = {
    {"type", Kind::kText, "tool_use"},
    {"id", Kind::kText, "Of the call; its result has it too."},
    {"name", Kind::kText, "Of the tool."},
    {"input", Kind::kObject, "The arguments."},
    passed_over("caller", "The model calls."),
    kMark,
};
constexpr Field kToolResult[] = {
    {"type", Kind::kText, "tool_result"},
    {"tool_use_id", Kind::kText, "The call that this is the result of."},
    {"content", Kind::kAny, "A text or blocks of text and images; none: the tool gives nothing."},
    {"is_error", Kind::kFlag, "The tool has failed; the text then says so."},
    kMark,
};

Result<std::string> required(const Body& body, std::string_view name) {
  auto text = body.text(name);
  if (!text) return refuse_field(name, Json(), "a text");
  return *std::move(text);
}

Result<std::string_view> type_of(const Json& block) {
  if (!block.is_object()) return refuse_field("content", block, "a text or a list of blocks");
  const Json* type = block.find("type");
  if (!type || !type->is_string()) return refuse_field("type", type ? *type : Json(), "a text");
  return std::string_view(type->string());
}

std::unexpected<base::Error> unknown_block(std::string_view type, std::string_view where,
                                           std::string_view possible) {
  return base::fail(ErrorCode::kUnsupported,
                    fmt::format("A block of type \"{}\" is not supported in {}; possible are {}.",
                                type, where, possible));
}

void join(std::string& text, std::string_view more) {
  if (!text.empty() && !more.empty()) text += '\n';
  text += more;
}

// What may stand where only text can be read: a text, or blocks of text.
Result<std::string> read_text(std::string_view field, const Json& value) {
  if (value.is_string()) return value.string();
  if (!value.is_array()) return refuse_field(field, value, "a text or a list of blocks of text");
  std::string out;
  for (const Json& block : value.items()) {
    PUNA_TRY(const std::string_view type, type_of(block));
    if (type != "text") return unknown_block(type, fmt::format("\"{}\"", field), "text");
    PUNA_TRY(const Body body, Body::read(block, {kText}));
    PUNA_TRY(const std::string text, required(body, "text"));
    join(out, text);
  }
  return out;
}

Result<Content> read_image(const Json& block) {
  PUNA_TRY(const Body body, Body::read(block, {kImage}));
  const Json* source = body.find("source");
  if (!source) return refuse_field("source", Json(), "an object");
  PUNA_TRY(const Body inner, Body::read(*source, {kImageSource}));
  PUNA_TRY(const std::string type, required(inner, "type"));
  if (type == "file") return refuse_field("type", type, "base64 or url");
  const char* const field = type == "url" ? "url" : "data";
  PUNA_TRY(const std::string value, required(inner, field));
  PUNA_TRY(MediaFile file, type == "url" ? media_of_url(field, value, models::Sense::kPictures)
                                         : media_of_base64(field, value, models::Sense::kPictures));
  Content out;
  out.add(std::move(file));
  return out;
}

Result<Content> read_document(const Json& block);

// A text, or blocks of text, images and documents, of a result or a document.
Result<Content> read_content(std::string_view field, const Json& value) {
  if (value.is_string()) return Content(value.string());
  if (!value.is_array()) return refuse_field(field, value, "a text or a list of blocks");
  Content out;
  for (const Json& block : value.items()) {
    PUNA_TRY(const std::string_view type, type_of(block));
    if (type == "image") {
      PUNA_TRY(Content image, read_image(block));
      out.join(std::move(image), "\n");
    } else if (type == "document" && field == "content") {
      PUNA_TRY(Content document, read_document(block));
      out.join(std::move(document), "\n");
    } else if (type == "text") {
      PUNA_TRY(const Body body, Body::read(block, {kText}));
      PUNA_TRY(std::string text, required(body, "text"));
      out.join(Content(std::move(text)), "\n");
    } else {
      return unknown_block(type, fmt::format("\"{}\"", field), "text, image, document");
    }
  }
  return out;
}

// What stands in it, behind its title and its context.
Result<Content> read_document(const Json& block) {
  PUNA_TRY(const Body body, Body::read(block, {kDocument}));
  const Json* source = body.find("source");
  if (!source) return refuse_field("source", Json(), "an object");
  PUNA_TRY(const Body inner, Body::read(*source, {kDocumentSource}));
  PUNA_TRY(const std::string type, required(inner, "type"));
  Content out;
  for (const char* before : {"title", "context"}) {
    if (auto text = body.text(before)) out.join(Content(*std::move(text)), "\n");
  }
  if (type == "text") {
    PUNA_TRY(std::string text, required(inner, "data"));
    out.join(Content(std::move(text)), "\n");
    return out;
  }
  const Json* content = type == "content" ? inner.find("content") : nullptr;
  if (!content) {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("A document whose source is of the type \"{}\"{} cannot be read; possible are "
                    "text and content.",
                    type,
                    inner.text("media_type").value_or("").empty()
                        ? ""
                        : " (" + *inner.text("media_type") + ")"));
  }
  // Documents do not lie in documents.
  PUNA_TRY(Content inside, read_content("source.content", *content));
  out.join(std::move(inside), "\n");
  return out;
}

class Reader {
 public:
  explicit Reader(std::string_view reasoning_member) : reasoning_member_(reasoning_member) {}

  Result<void> add_system(const Json& system) {
    PUNA_TRY(std::string text, read_text("system", system));
    if (!text.empty()) messages_.push_back({.role = "system", .content = std::move(text)});
    return {};
  }

  Result<void> add(const Json& json) {
    if (!json.is_object()) return refuse_field("messages", json, "a list of objects");
    PUNA_TRY(const Body body, Body::read(json, {kMessage}));
    PUNA_TRY(const std::string role, required(body, "role"));
    const bool user = role == "user";
    if (!user && role != "assistant") return refuse_field("role", role, "user or assistant");
    const Json* content = body.find("content");
    if (content && content->is_string()) {
      join(last_of(role).content, content->string());
      return {};
    }
    // An answer may have been empty, so the assistant's list may.
    if (!content || !content->is_array() || (user && content->items().empty())) {
      return refuse_field("content", content ? *content : Json(),
                          "a text or a list of at least one block");
    }
    if (!user) last_of(role);
    for (const Json& block : content->items()) {
      PUNA_TRY(user ? add_user_block(block) : add_assistant_block(block));
    }
    return {};
  }

  Conversation take() { return {std::move(messages_), std::move(media_)}; }

 private:
  // The message at the end, which is of `role`.
  chat::Message& last_of(std::string_view role) {
    if (messages_.empty() || messages_.back().role != role)
      messages_.push_back({.role = std::string(role)});
    return messages_.back();
  }

  // Behind what the last message has.
  void join_last(Content content, std::string_view between = "\n") {
    api::join(messages_.back().content, media_, messages_.size() - 1, std::move(content), between);
  }

  Result<void> add_user_block(const Json& block) {
    PUNA_TRY(const std::string_view type, type_of(block));
    if (type == "tool_result") return add_result(block);
    if (type == "image" || type == "document") {
      PUNA_TRY(Content content, type == "image" ? read_image(block) : read_document(block));
      last_of("user");
      join_last(std::move(content));
      return {};
    }
    if (type != "text") {
      return unknown_block(type, "a message of the user", "text, image, document, tool_result");
    }
    PUNA_TRY(const Body body, Body::read(block, {kText}));
    PUNA_TRY(const std::string text, required(body, "text"));
    join(last_of("user").content, text);
    return {};
  }

  Result<void> add_result(const Json& block) {
    PUNA_TRY(const Body body, Body::read(block, {kToolResult}));
    chat::Message out{.role = "tool"};
    PUNA_TRY(const std::string id, required(body, "tool_use_id"));
    Content result;
    if (const Json* content = body.find("content")) {
      PUNA_TRY(result, read_content("content", *content));
    }
    // Templates have no place for it.
    if (body.flag("is_error").value_or(false)) out.content = "Error: ";
    out.fields.set("tool_call_id", id);
    if (const auto name = names_.find(id); name != names_.end())
      out.fields.set("name", name->second);
    messages_.push_back(std::move(out));
    join_last(std::move(result), "");
    return {};
  }

  Result<void> add_assistant_block(const Json& block) {
    PUNA_TRY(const std::string_view type, type_of(block));
    chat::Message& message = messages_.back();
    if (type == "text") {
      PUNA_TRY(const Body body, Body::read(block, {kText}));
      PUNA_TRY(const std::string text, required(body, "text"));
      join(message.content, text);
    } else if (type == "thinking") {
      PUNA_TRY(const Body body, Body::read(block, {kThinking}));
      PUNA_TRY(const std::string text, required(body, "thinking"));
      if (Json* const before = message.fields.find(reasoning_member_)) {
        join(before->string(), text);
      } else {
        message.fields.add(reasoning_member_, text);
      }
    } else if (type == "tool_use") {
      return add_call(block, message);
    } else if (type != "redacted_thinking") {
      return unknown_block(type, "a message of the assistant",
                           "text, thinking, redacted_thinking, tool_use");
    }
    return {};
  }

  Result<void> add_call(const Json& block, chat::Message& message) {
    PUNA_TRY(const Body body, Body::read(block, {kToolUse}));
    PUNA_TRY(const std::string id, required(body, "id"));
    PUNA_TRY(const std::string name, required(body, "name"));
    const Json* input = body.find("input");
    if (!input) return refuse_field("input", Json(), "an object");
    names_.insert_or_assign(id, name);
    Json function = Json::object(), call = Json::object();
    function.set("name", name).set("arguments", input->dump());
    call.set("id", id).set("type", "function").set("function", std::move(function));
    if (Json* const before = message.fields.find("tool_calls")) {
      before->push(std::move(call));
    } else {
      message.fields.add("tool_calls", Json::array().push(std::move(call)));
    }
    return {};
  }

  const std::string reasoning_member_;
  std::vector<chat::Message> messages_;
  std::vector<service::PlacedMedia> media_;
  std::unordered_map<std::string, std::string> names_;  // of the tools, by the ids of calls
};

}  // namespace

Result<Conversation> read_conversation(const Json* system, const Json* messages,
                                       std::string_view reasoning_member) {
  Reader out(reasoning_member);
  if (system) PUNA_TRY(out.add_system(*system));
  if (!messages || !messages->is_array() || messages->items().empty()) {
    return refuse_field("messages", messages ? *messages : Json(),
                        "a list of at least one message");
  }
  for (size_t i = 0; i < messages->items().size(); ++i) {
    PUNA_TRY_CONTEXT(out.add(messages->items()[i]), fmt::format("While reading message {}", i));
  }
  return out.take();
}

}  // namespace puna::api::anthropic
