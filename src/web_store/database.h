// A SQLite database, as far as it is needed here: statements with values bound, transactions, and
// errors as the rest of Puna has them. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace puna::web_store {

// Values are bound and columns are read by number, from 1 and from 0, as SQLite has them.
class Statement {
 public:
  Statement& bind(int at, std::string_view text);
  Statement& bind(int at, int64_t number);
  Statement& bind_bytes(int at, std::string_view bytes);
  // Whether there is a further row. Errors: as Database.
  base::Result<bool> step();
  // Of the row; text and bytes alike.
  std::string text(int column) const;
  size_t size(int column) const;  // in bytes
  int64_t number(int column) const;
  bool is_null(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// Errors: kCorrupt for a file that is no database or is damaged, kIo for what the disk refuses.
class Database {
 public:
  // Made where it is not there, for its owner alone.
  static base::Result<Database> open(const std::string& path);

  base::Result<Statement> prepare(std::string_view sql);
  base::Result<void> run(const std::string& sql);  // several statements, without values

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit Database(sqlite3* database) : database_(database) {}

  std::unique_ptr<sqlite3, Close> database_;
};

// Undone by its end, unless it was committed. The database outlives it.
class Transaction {
 public:
  static base::Result<Transaction> begin(Database& database);
  ~Transaction();
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  base::Result<void> commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}

  Database* database_;  // null: over
};

}  // namespace puna::web_store
