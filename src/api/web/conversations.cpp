#include "api/web/conversations.h"

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "api/description.h"
#include "api/web_store.h"

namespace puna::api::web {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

using Kind = Field::Kind;

// The largest number that pages hold exactly.
constexpr double kLatest = 9007199254740991;
constexpr size_t kLongestId = 200;
constexpr size_t kMostMembers = 1000;  // of a change, each of which is looked for in its row

constexpr Field kChange[] = {
    Field{"table", Kind::kText, "Of which kind the row is."}.needed().one_of(
        "conversations|messages|presets"),
    Field{"id", Kind::kText, "Names the row in its table; at most 200 bytes."}.needed(),
    Field{"time", Kind::kInteger, "When it was changed, in ms since 1970; times to come are now.",
          0, kLatest}
        .needed(),
    {"value", Kind::kObject, "Members that were changed."},
    {"without", Kind::kTexts, "Members that are gone."},
    Field{"whole", Kind::kFlag,
          "`value` has all members: a row that was removed before is there again."}
        .or_else("false"),
    Field{"removed", Kind::kFlag, "The row is gone, and with a conversation its messages."}.or_else(
        "false"),
};
std::span<const Field> change_fields() { return kChange; }

constexpr Field kChanges[] = {
    Field{"changes", Kind::kList, "Changes of rows; all of them are taken, or none."}.needed().with(
        change_fields),
};
constexpr Field kRowsQuery[] = {
    Field{"after", Kind::kText, "A revision; rows that were changed behind it are given."}.or_else(
        "0"),
};
constexpr Field kFile[] = {
    Field{"file", Kind::kText, "The bytes."}.needed(),
};

std::span<const Field> changes_fields() { return kChanges; }
std::span<const Field> rows_query() { return kRowsQuery; }
std::span<const Field> file_fields() { return kFile; }

constexpr NamedShape kShapes[] = {
    {"WebRow", R"({"table": "string", "id": "string", "removed?": "integer",
      "value?": "object", "times?": {"*": "integer"}})"},
};
constexpr Description kRows[] = {
    {.endpoint = read_rows,
     .name = "WebRows",
     .summary = "Conversations, messages and presets that the page keeps here for the devices of a "
                "key (`--web-store`): rows that have changed.",
     .answer = R"({"store": "string", "revision": "integer", "more": "boolean",
       "changes": ["#WebRow"]})",
     .query = rows_query,
     .may_lack = true},
    {.endpoint = change_rows,
     .name = "WebState",
     .summary = "Changes of such rows, which are merged member by member: the later time wins. A "
                "removal wins over all but a later whole row.",
     .body = {changes_fields},
     .answer = R"({"store": "string", "revision": "integer"})",
     .may_lack = true},
    {.endpoint = read_file,
     .name = "WebFile",
     .summary = "The bytes of a file that messages name, by its SHA-256.",
     .answer = R"("string")",
     .may_lack = true,
     .media_type = "application/octet-stream"},
    {.endpoint = keep_file,
     .name = "WebFileKept",
     .summary = "Keeps the bytes of a file.",
     .body = {file_fields},
     .answer = R"({"sha256": "string"})",
     .may_lack = true,
     .body_type = "multipart/form-data"},
};

HttpReply off() {
  constexpr int kNotImplemented = 501;
  constexpr std::string_view kWhy = "This server keeps no conversations; --web-store has it do so.";
  return HttpReply::json(error_body(Dialect::kLlama, kNotImplemented, kWhy), kNotImplemented);
}

Result<WebChange> read_change(const Json& json) {
  PUNA_TRY(const Body body, Body::read(json, {kChange}));
  WebChange out{.table = body.text("table").value_or(""),
                .id = body.text("id").value_or(""),
                .time_ms = body.integer("time").value_or(-1),
                .removed = body.flag("removed").value_or(false),
                .whole = body.flag("whole").value_or(false),
                .without = body.texts("without")};
  if (out.table.empty()) return refuse_field("table", nullptr, "given");
  if (out.id.empty() || out.id.size() > kLongestId)
    return refuse_field("id", out.id.substr(0, kLongestId), "1 to 200 bytes long");
  if (out.time_ms < 0) return refuse_field("time", nullptr, "given");
  if (const Json* value = body.find("value")) out.value = *value;
  if (const size_t n = out.value.members().size() + out.without.size(); n > kMostMembers) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The fields \"value\" and \"without\" are of {} members, but at "
                                  "most {} are possible.",
                                  n, kMostMembers));
  }
  const bool says_more = !out.value.members().empty() || !out.without.empty();
  if (out.removed && (out.whole || says_more))
    return refuse_field("removed", true, "without other members");
  if (!out.removed && !out.whole && !says_more)
    return refuse_field("value", nullptr, "given where \"without\" is not");
  return out;
}

Json to_json(const WebState& state) {
  return Json::object().set("store", state.store).set("revision", state.revision);
}

Json to_json(WebRow row) {
  Json out = Json::object();
  out.set("table", std::move(row.table)).set("id", std::move(row.id));
  if (row.removed_ms) return out.set("removed", *row.removed_ms);
  return out.set("value", std::move(row.value)).set("times", std::move(row.times));
}

}  // namespace

Result<Exchange> read_rows(const Call& call) {
  if (!call.web_store) return off();
  uint64_t after = 0;
  if (const std::string* text = call.http.query_value("after")) {
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), after);
    if (error != std::errc() || end != text->data() + text->size())
      return refuse_field("after", *text, "a revision, a number that is not negative");
  }
  PUNA_TRY(WebRows found, call.web_store->rows(call.http.owner, after));
  Json rows = Json::array();
  for (WebRow& row : found.rows) rows.push(to_json(std::move(row)));
  return HttpReply::json(
      to_json(found.state).set("more", found.more).set("changes", std::move(rows)));
}

Result<Exchange> change_rows(const Call& call) {
  PUNA_TRY(const Body body, Body::read(call.body, {kChanges}));
  const Json* const list = body.find("changes");
  if (!list) return refuse_field("changes", nullptr, "a list");
  std::vector<WebChange> changes;
  for (const Json& each : list->items()) {
    PUNA_TRY(WebChange change, read_change(each));
    changes.push_back(std::move(change));
  }
  if (!call.web_store) return off();
  PUNA_TRY(const WebState state, call.web_store->change(call.http.owner, changes));
  return HttpReply::json(to_json(state));
}

Result<Exchange> read_file(const Call& call) {
  if (!call.web_store) return off();
  PUNA_TRY(std::string bytes, call.web_store->file(call.http.owner, call.http.path_values.at(0)));
  // Whatever it is, no browser shows it as a page of this server.
  return HttpReply{
      .content_type = "application/octet-stream",
      .body = std::move(bytes),
      .headers = {{"Content-Disposition", "attachment"}, {"X-Content-Type-Options", "nosniff"}}};
}

Result<Exchange> keep_file(const Call& call) {
  PUNA_TRY(const Body body, Body::read(call.body, {kFile}));
  const Json* const bytes = body.find("file");
  if (!bytes) return refuse_field("file", nullptr, "given");
  if (!call.web_store) return off();
  PUNA_TRY(std::string sha256, call.web_store->keep_file(call.http.owner, bytes->string()));
  return HttpReply::json(Json::object().set("sha256", std::move(sha256)));
}

Descriptions descriptions() { return {.rows = kRows, .shapes = kShapes}; }

}  // namespace puna::api::web
