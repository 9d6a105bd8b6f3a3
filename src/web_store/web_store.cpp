#include "web_store/web_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "store/sha256.h"
#include "web_store/row.h"

namespace puna::web_store {

using api::WebChange;
using api::WebRow;
using api::WebRows;
using api::WebState;
using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

constexpr int64_t kVersion = 1;  // of the tables
constexpr size_t kMostRows = 1000;
constexpr size_t kMostBytes = 4 << 20;  // of rows in one answer, but for the last
constexpr int64_t kUnusedMs = int64_t{24} * 3600 * 1000;
constexpr size_t kHexDigits = 64;

constexpr const char* kTables =
    "CREATE TABLE about(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE owners(owner TEXT PRIMARY KEY, revision INTEGER NOT NULL) WITHOUT ROWID;"
    // `conversation`: of a message.
    "CREATE TABLE rows(owner TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL,"
    " conversation TEXT NOT NULL, revision INTEGER NOT NULL, whole INTEGER, removed INTEGER,"
    " value TEXT NOT NULL, times TEXT NOT NULL, PRIMARY KEY(owner, kind, id));"
    "CREATE UNIQUE INDEX by_revision ON rows(owner, revision);"
    "CREATE INDEX by_conversation ON rows(owner, kind, conversation);"
    "CREATE TABLE files(owner TEXT NOT NULL, sha256 TEXT NOT NULL, since INTEGER NOT NULL,"
    " bytes BLOB NOT NULL, PRIMARY KEY(owner, sha256));";

int64_t now_ms() {
  using std::chrono::milliseconds;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<milliseconds>(now).count();
}

std::string random_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

std::optional<int64_t> time_at(const Statement& statement, int column) {
  return statement.is_null(column) ? std::nullopt : std::optional(statement.number(column));
}

void bind_time(Statement& statement, int at, const std::optional<int64_t>& time) {
  if (time) statement.bind(at, *time);
}

Result<Json> parsed(const std::string& text) {
  Result<Json> out = Json::parse(text);
  if (out && out->is_object()) return out;
  return base::fail(ErrorCode::kCorrupt, "A row of the file of --web-store is no JSON object.");
}

// The columns whole, removed, value, times, from `at`.
Result<Row> row_at(const Statement& statement, int at) {
  Row out{.whole_ms = time_at(statement, at), .removed_ms = time_at(statement, at + 1)};
  PUNA_TRY(out.value, parsed(statement.text(at + 2)));
  PUNA_TRY(out.times, parsed(statement.text(at + 3)));
  return out;
}

Result<std::optional<Row>> find_row(Database& database, std::string_view owner,
                                    std::string_view kind, std::string_view id) {
  PUNA_TRY(Statement found, database.prepare("SELECT whole, removed, value, times FROM rows"
                                             " WHERE owner = ? AND kind = ? AND id = ?"));
  found.bind(1, owner).bind(2, kind).bind(3, id);
  PUNA_TRY(const bool is_there, found.step());
  if (!is_there) return std::optional<Row>();
  PUNA_TRY(Row row, row_at(found, 0));
  return std::optional(std::move(row));
}

struct Place {
  std::string_view owner, kind, id, conversation;
};

Result<void> put_row(Database& database, const Place& place, const Row& row, uint64_t revision) {
  PUNA_TRY(Statement put, database.prepare("INSERT OR REPLACE INTO rows VALUES"
                                           "(?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  put.bind(1, place.owner).bind(2, place.kind).bind(3, place.id).bind(4, place.conversation);
  put.bind(5, static_cast<int64_t>(revision));
  bind_time(put, 6, row.whole_ms);
  bind_time(put, 7, row.removed_ms);
  put.bind(8, row.value.dump()).bind(9, row.times.dump());
  PUNA_TRY(put.step());
  return {};
}

// Of a message.
std::string conversation_of(const Row& row) {
  const Json* const id = row.value.find("convId");
  return id && id->is_string() ? id->string() : std::string();
}

// The messages of a conversation that was removed.
Result<void> remove_messages(Database& database, std::string_view owner, const std::string& id,
                             int64_t time_ms, uint64_t& revision) {
  PUNA_TRY(Statement found, database.prepare("SELECT id, whole, removed, value, times FROM rows"
                                             " WHERE owner = ? AND kind = 'messages'"
                                             " AND conversation = ?"));
  found.bind(1, owner).bind(2, id);
  std::vector<std::pair<std::string, Row>> messages;
  for (;;) {
    PUNA_TRY(const bool more, found.step());
    if (!more) break;
    PUNA_TRY(Row row, row_at(found, 1));
    if (!row.is_removed()) messages.emplace_back(found.text(0), std::move(row));
  }
  for (auto& [message, row] : messages) {
    // Later ones too: nobody sees them without their conversation.
    remove(row, std::max(time_ms, row.whole_ms.value_or(time_ms)));
    PUNA_TRY(put_row(database, {owner, "messages", message, id}, row, ++revision));
  }
  return {};
}

// What may be the SHA-256 of a file in a text.
void note_digests(const std::string& text, std::set<std::string>& out) {
  for (size_t from = 0; from < text.size();) {
    const size_t to = std::min(text.find_first_not_of("0123456789abcdef", from), text.size());
    if (to - from == kHexDigits) out.insert(text.substr(from, kHexDigits));
    from = to + 1;
  }
}

}  // namespace

Result<std::unique_ptr<SqliteWebStore>> SqliteWebStore::open(const std::string& path) {
  PUNA_TRY(Database database, Database::open(path));
  std::string id;
  {
    PUNA_TRY(Transaction transaction, Transaction::begin(database));
    int64_t version = 0;
    {
      PUNA_TRY(Statement asked, database.prepare("PRAGMA user_version"));
      PUNA_TRY(asked.step());
      version = asked.number(0);
    }
    if (version > kVersion) {
      return base::fail(ErrorCode::kUnsupported,
                        fmt::format("The file \"{}\" of --web-store is of version {}; this program "
                                    "knows version {}.",
                                    path, version, kVersion));
    }
    if (version == 0) {
      PUNA_TRY(database.run(kTables));
      PUNA_TRY(
          database.run(fmt::format("INSERT INTO about VALUES('id', '{}');"
                                   "PRAGMA user_version = {};",
                                   random_id(), kVersion)));
    }
    {
      PUNA_TRY(Statement asked, database.prepare("SELECT value FROM about WHERE name = 'id'"));
      PUNA_TRY(asked.step());
      id = asked.text(0);
    }
    PUNA_TRY(transaction.commit());
  }
  auto out =
      std::unique_ptr<SqliteWebStore>(new SqliteWebStore(std::move(database), std::move(id)));
  PUNA_TRY(out->sweep_files());
  return out;
}

Result<WebState> SqliteWebStore::state(std::string_view owner) {
  WebState out{.store = store::sha256_of(id_ + std::string(owner)).hex().substr(0, 16)};
  PUNA_TRY(Statement asked, database_.prepare("SELECT revision FROM owners WHERE owner = ?"));
  asked.bind(1, owner);
  PUNA_TRY(const bool known, asked.step());
  if (known) out.revision = static_cast<uint64_t>(asked.number(0));
  return out;
}

Result<WebRows> SqliteWebStore::rows(std::string_view owner, uint64_t after) {
  const std::lock_guard lock(mutex_);
  WebRows out;
  PUNA_TRY(out.state, state(owner));
  PUNA_TRY(Statement found,
           database_.prepare("SELECT revision, kind, id, whole, removed, value, times FROM rows"
                             " WHERE owner = ? AND revision > ? ORDER BY revision"));
  found.bind(1, owner).bind(2, static_cast<int64_t>(std::min<uint64_t>(after, INT64_MAX)));
  for (size_t bytes = 0;;) {
    PUNA_TRY(const bool more, found.step());
    if (!more) break;
    if (out.rows.size() >= kMostRows || bytes >= kMostBytes) {
      out.more = true;
      break;
    }
    out.state.revision = static_cast<uint64_t>(found.number(0));
    PUNA_TRY(Row row, row_at(found, 3));
    if (!row.is_known()) continue;
    bytes += found.size(5) + found.size(6);
    WebRow& each = out.rows.emplace_back(WebRow{.table = found.text(1), .id = found.text(2)});
    if (row.is_removed()) {
      each.removed_ms = row.removed_ms;
    } else {
      each.value = std::move(row.value);
      each.times = std::move(row.times);
    }
  }
  return out;
}

Result<void> SqliteWebStore::take(std::string_view owner, const WebChange& change, int64_t now,
                                  uint64_t& revision) {
  PUNA_TRY(std::optional<Row> known, find_row(database_, owner, change.table, change.id));
  Row row = known ? *std::move(known) : Row();
  merge(row, change, now);
  std::string conversation;
  if (change.table == "messages" && !row.is_removed()) {
    conversation = conversation_of(row);
    PUNA_TRY(const std::optional<Row> its,
             find_row(database_, owner, "conversations", conversation));
    if (its && its->is_removed())
      remove(row, std::max(*its->removed_ms, row.whole_ms.value_or(*its->removed_ms)));
  }
  PUNA_TRY(put_row(database_, {owner, change.table, change.id, conversation}, row, ++revision));
  if (change.table != "conversations" || !row.is_removed()) return {};
  return remove_messages(database_, owner, change.id, *row.removed_ms, revision);
}

Result<WebState> SqliteWebStore::change(std::string_view owner,
                                        std::span<const WebChange> changes) {
  const std::lock_guard lock(mutex_);
  PUNA_TRY(Transaction transaction, Transaction::begin(database_));
  PUNA_TRY(WebState out, state(owner));
  const int64_t now = now_ms();
  // Whether a message is of a conversation that is there.
  for (const bool conversations : {true, false}) {
    for (const WebChange& each : changes) {
      if ((each.table == "conversations") != conversations) continue;
      PUNA_TRY(take(owner, each, now, out.revision));
    }
  }
  PUNA_TRY(Statement put, database_.prepare("INSERT OR REPLACE INTO owners VALUES(?, ?)"));
  put.bind(1, owner).bind(2, static_cast<int64_t>(out.revision));
  PUNA_TRY(put.step());
  PUNA_TRY(transaction.commit());
  return out;
}

Result<std::string> SqliteWebStore::file(std::string_view owner, std::string_view sha256) {
  const std::lock_guard lock(mutex_);
  PUNA_TRY(Statement found,
           database_.prepare("SELECT bytes FROM files WHERE owner = ? AND sha256 = ?"));
  found.bind(1, owner).bind(2, sha256);
  PUNA_TRY(const bool is_there, found.step());
  if (!is_there)
    return base::fail(ErrorCode::kNotFound, "No file with this SHA-256 is kept for this key.");
  return found.text(0);
}

Result<std::string> SqliteWebStore::keep_file(std::string_view owner, std::string_view bytes) {
  std::string sha256 = store::sha256_of(bytes).hex();
  const std::lock_guard lock(mutex_);
  PUNA_TRY(Statement put, database_.prepare("INSERT OR REPLACE INTO files VALUES(?, ?, ?, ?)"));
  put.bind(1, owner).bind(2, sha256).bind(3, now_ms()).bind_bytes(4, bytes);
  PUNA_TRY(put.step());
  return sha256;
}

// A file comes before the message that names it.
Result<void> SqliteWebStore::sweep_files() {
  std::set<std::string> named;
  PUNA_TRY(Statement rows, database_.prepare("SELECT value FROM rows WHERE kind = 'messages'"));
  for (;;) {
    PUNA_TRY(const bool more, rows.step());
    if (!more) break;
    note_digests(rows.text(0), named);
  }
  std::set<std::string> unused;
  PUNA_TRY(Statement files, database_.prepare("SELECT sha256 FROM files WHERE since < ?"));
  files.bind(1, now_ms() - kUnusedMs);
  for (;;) {
    PUNA_TRY(const bool more, files.step());
    if (!more) break;
    if (std::string sha256 = files.text(0); !named.contains(sha256))
      unused.insert(std::move(sha256));
  }
  for (const std::string& sha256 : unused) {
    PUNA_TRY(Statement gone, database_.prepare("DELETE FROM files WHERE sha256 = ?"));
    gone.bind(1, sha256);
    PUNA_TRY(gone.step());
  }
  return {};
}

}  // namespace puna::web_store
