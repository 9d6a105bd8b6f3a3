// Conversations of the page in a SQLite file (api/web_store.h). Read next: row.h for how changes of
// several devices become one, database.h.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "api/web_store.h"
#include "base/result.h"
#include "web_store/database.h"

namespace puna::web_store {

class SqliteWebStore final : public api::WebStore {
 public:
  // Made where it is not there; files that no message names any more go. Errors: kIo, kCorrupt;
  // kUnsupported for a file of a newer version.
  static base::Result<std::unique_ptr<SqliteWebStore>> open(const std::string& path);

  base::Result<api::WebRows> rows(std::string_view owner, uint64_t after) override;
  base::Result<api::WebState> change(std::string_view owner,
                                     std::span<const api::WebChange> changes) override;
  base::Result<std::string> file(std::string_view owner, std::string_view sha256) override;
  base::Result<std::string> keep_file(std::string_view owner, std::string_view bytes) override;

 private:
  SqliteWebStore(Database database, std::string id)
      : database_(std::move(database)), id_(std::move(id)) {}

  base::Result<api::WebState> state(std::string_view owner);
  // One change, and what follows from it; each row that it touches gets the next revision.
  base::Result<void> take(std::string_view owner, const api::WebChange& change, int64_t now_ms,
                          uint64_t& revision);
  base::Result<void> sweep_files();

  std::mutex mutex_;  // of the database
  Database database_;
  const std::string id_;
};

}  // namespace puna::web_store
