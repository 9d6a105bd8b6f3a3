#include "web_store/database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace puna::web_store {

using base::ErrorCode;
using base::Result;

namespace {

constexpr int kPatienceMs = 5000;  // with another process that writes

std::unexpected<base::Error> failed(sqlite3* database, int code) {
  const int kind = code & 0xff;
  const bool damaged = kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB;
  return base::fail(damaged ? ErrorCode::kCorrupt : ErrorCode::kIo,
                    fmt::format("The file of --web-store is refused: {}.",
                                database ? sqlite3_errmsg(database) : sqlite3_errstr(code)));
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

// What cannot be bound is memory that is not there; the statement then fails by its constraints.
Statement& Statement::bind(int at, std::string_view text) {
  (void)sqlite3_bind_text64(statement_.get(), at, text.data(), text.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind(int at, int64_t number) {
  (void)sqlite3_bind_int64(statement_.get(), at, number);
  return *this;
}

Statement& Statement::bind_bytes(int at, std::string_view bytes) {
  (void)sqlite3_bind_blob64(statement_.get(), at, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return failed(sqlite3_db_handle(statement_.get()), code);
}

std::string Statement::text(int column) const {
  const void* const bytes = sqlite3_column_blob(statement_.get(), column);
  return bytes ? std::string(static_cast<const char*>(bytes), size(column)) : std::string();
}

size_t Statement::size(int column) const {
  return static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column));
}

int64_t Statement::number(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Result<Database> Database::open(const std::string& path) {
  // SQLite gives the files beside it the rights of this one.
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) {
    return base::fail(ErrorCode::kIo, fmt::format("The file \"{}\" of --web-store is refused: {}.",
                                                  path, std::strerror(errno)));
  }
  close(file);
  sqlite3* opened = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database out(opened);
  if (code != SQLITE_OK) return failed(opened, code);
  sqlite3_busy_timeout(opened, kPatienceMs);
  PUNA_TRY(out.run("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"));
  return out;
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                      &statement, nullptr);
  if (code != SQLITE_OK) return failed(database_.get(), code);
  return Statement(statement);
}

Result<void> Database::run(const std::string& sql) {
  const int code = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return failed(database_.get(), code);
  return {};
}

Result<Transaction> Transaction::begin(Database& database) {
  PUNA_TRY(database.run("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Transaction::~Transaction() {
  if (database_) (void)database_->run("ROLLBACK");
}

Result<void> Transaction::commit() {
  PUNA_TRY(database_->run("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace puna::web_store
