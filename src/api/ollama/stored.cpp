#include "api/ollama/stored.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "api/answer_fields.h"
#include "api/ollama/asked.h"
#include "api/ollama/details.h"

namespace puna::api::ollama {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

using Kind = Field::Kind;

constexpr Field kCopy[] = {
    Field{"source", Kind::kText, "A model of the store."}.needed(),
    Field{"destination", Kind::kText, "Its second name."}.needed(),
};
constexpr Field kDelete[] = {
    {"model", Kind::kText, "A model of the store. Required, or the next."},
    Field{"name", Kind::kText, "The same as model."}.same("model"),
};
constexpr Field kTransfer[] = {
    {"model", Kind::kText,
     "The model, with its registry where that is another. Required, or the "
     "next."},
    Field{"name", Kind::kText, "The same as model."}.same("model"),
    Field{"insecure", Kind::kFlag,
          "The registry is asked by plain http; one of this machine alone."}
        .or_else("false"),
    Field{"stream", Kind::kFlag, "Each line as it comes; else the last alone."}.or_else("true"),
    passed_over("username", "Registries are asked with what docker login keeps."),
    passed_over("password", "Registries are asked with what docker login keeps."),
};
constexpr Field kMessage[] = {
    Field{"role", Kind::kText, "Who says it."}.needed().one_of("system|user|assistant"),
    Field{"content", Kind::kText, "The text."}.needed(),
};
constexpr Field kCreate[] = {
    {"model", Kind::kText, "What the model is to be called. Required, or the next."},
    Field{"name", Kind::kText, "The same as model."}.same("model"),
    {"from", Kind::kText, "The model that it is made from. Required, or the next."},
    {"files", Kind::kObject,
     "In place of that: GGUF files, or those of a folder of Hugging Face weights, each name with "
     "the digest of a blob that was sent."},
    Field{"quantize", Kind::kText,
          "What most matrices become, as `puna quantize` has it: "
          "\"q4_k_m\"."},
    {"template", Kind::kText, "A chat template in Go's syntax or in Jinja."},
    {"system", Kind::kText, "What the model is told before conversations."},
    Field{"messages", Kind::kList, "What stands before each conversation."}.with(
        [] { return std::span<const Field>(kMessage); }),
    {"parameters", Kind::kObject, "Options that are not given in requests, by their names."},
    {"license", Kind::kTexts, "One licence or several."},
    {"renderer", Kind::kText, "Ollama's name of a family of prompts."},
    {"parser", Kind::kText, "Ollama's name of a family of answers."},
    {"requires", Kind::kText, "The version of Ollama that the model asks for."},
    Field{"stream", Kind::kFlag, "Each line as it comes; else the last alone."}.or_else("true"),
    refused("adapters", "adapters are not supported yet.", "{}"),
    refused("draft_files", "drafts are not supported yet.", "{}"),
    refused("draft_quantize", "drafts are not supported yet.", "\"\""),
    refused("remote_host", "models are not of other hosts.", "\"\""),
    refused("modelfile", "its commands are fields of the request.", "\"\""),
    refused("path", "files are sent as blobs.", "\"\""),
    passed_over("info", "What the model is is read off its file."),
};

std::unexpected<base::Error> wrong(std::string text) {
  return base::fail(ErrorCode::kInvalidArgument, std::move(text));
}

Result<StoreSource*> store_of(const Call& call) {
  if (call.store) return call.store;
  return base::fail(ErrorCode::kUnsupported, "this server keeps no models");
}

Result<Body> read(const Call& call, std::span<const Field> fields) {
  if (call.body.is_null()) return wrong("missing request body");
  return Body::read(call.body, {fields});
}

// As Ollama says it, where its clients look for the words.
Result<void> or_not_found(Result<void> done, std::string_view name) {
  if (done || done.error().code != ErrorCode::kNotFound) return done;
  return base::fail(ErrorCode::kNotFound, fmt::format("model '{}' not found", name));
}

HttpReply empty(int status) { return {.status = status, .content_type = "", .body = ""}; }

Json line_of(const service::WorkProgress& progress) {
  Json out = Json::object().set("status", progress.status);
  if (!progress.digest.empty()) out.set("digest", progress.digest);
  if (progress.total_bytes == 0) return out;
  out.set("total", progress.total_bytes);
  if (progress.done_bytes > 0) out.set("completed", progress.done_bytes);
  return out;
}

using Work = std::function<Result<void>(const Watch& watch)>;

LongWork long_work(const Body& body, Work work) {
  return {.run = [work = std::move(work)](const auto& write,
                                          const std::atomic<bool>& cancelled) -> Result<void> {
            return work({.tell = [&](const service::WorkProgress& p) { write(line_of(p)); },
                         .cancelled = cancelled});
          },
          .stream = body.flag("stream").value_or(true)};
}

Result<Exchange> transfer(const Call& call,
                          Result<void> (StoreSource::*move)(std::string_view, bool, const Watch&)) {
  PUNA_TRY(StoreSource* const store, store_of(call));
  PUNA_TRY(const Body body, read(call, kTransfer));
  PUNA_TRY(const std::string name, model_name(body));
  const bool insecure = body.flag("insecure").value_or(false);
  return long_work(body, [store, move, name, insecure](const Watch& watch) {
    return (store->*move)(name, insecure, watch);
  });
}

}  // namespace

std::span<const Field> copy_fields() { return kCopy; }
std::span<const Field> delete_fields() { return kDelete; }
std::span<const Field> transfer_fields() { return kTransfer; }
std::span<const Field> create_fields() { return kCreate; }

Result<Exchange> copy(const Call& call) {
  PUNA_TRY(const Body body, read(call, kCopy));
  const std::string source = body.text("source").value_or("");
  const std::string destination = body.text("destination").value_or("");
  if (source.empty()) return wrong("source is required");
  if (destination.empty()) return wrong("destination is required");
  PUNA_TRY(StoreSource* const store, store_of(call));
  PUNA_TRY(or_not_found(store->copy(source, destination), source));
  return empty(200);
}

Result<Exchange> remove(const Call& call) {
  PUNA_TRY(const Body body, read(call, kDelete));
  PUNA_TRY(const std::string name, model_name(body));
  PUNA_TRY(StoreSource* const store, store_of(call));
  PUNA_TRY(or_not_found(store->remove(name), name));
  return empty(200);
}

Result<Exchange> blob(const Call& call) {
  PUNA_TRY(StoreSource* const store, store_of(call));
  PUNA_TRY(const bool is_there, store->has_blob(call.http.path_values.at(0)));
  return empty(is_there ? 200 : 404);
}

Result<Exchange> pull(const Call& call) { return transfer(call, &StoreSource::pull); }

Result<Exchange> push(const Call& call) { return transfer(call, &StoreSource::push); }

Result<Exchange> create(const Call& call) {
  PUNA_TRY(StoreSource* const store, store_of(call));
  PUNA_TRY(const Body body, read(call, kCreate));
  NewModel model;
  PUNA_TRY(model.name, model_name(body));
  model.from = body.text("from").value_or("");
  model.quantize = body.text("quantize").value_or("");
  if (const Json* files = body.find("files")) {
    for (const auto& [name, digest] : files->members()) {
      if (!digest.is_string()) return refuse_field("files", *files, "digests by names of files");
      model.files.emplace_back(name, digest.string());
    }
  }
  if (model.from.empty() && model.files.empty())
    return wrong("neither 'from' or 'files' was specified");
  model.chat_template = body.text("template");
  model.system = body.text("system");
  model.licenses = body.texts("license");
  if (const Json* parameters = body.find("parameters")) model.parameters = *parameters;
  if (const Json* messages = body.find("messages")) {
    for (const Json& each : messages->items()) {
      if (!each.is_object()) return refuse_field("messages", each, "a list of objects");
      PUNA_TRY_CONTEXT(const Body message, Body::read(each, {kMessage}),
                       "While reading the messages");
      if (!message.text("role") || !message.text("content"))
        return refuse_field("messages", each, "a list of {role, content}");
    }
    model.messages = *messages;
  }
  model.renderer = body.text("renderer").value_or("");
  model.parser = body.text("parser").value_or("");
  model.minimal_version = body.text("requires").value_or("");
  return long_work(body, [store, model = std::move(model)](const Watch& watch) {
    return store->create(model, watch);
  });
}

}  // namespace puna::api::ollama
