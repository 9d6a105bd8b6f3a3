// WebStore: where conversations of the web page are kept for its several devices, those of each API
// key apart. A server may have one; a page has none. Rows are objects whose members each have the
// time at which they were last changed, so that two devices may change one row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace puna::api {

// Times are milliseconds since 1970, as a device's clock has them.
struct WebChange {
  std::string table{}, id{};
  int64_t time_ms = 0;
  bool removed = false;  // the row; what follows is of others
  bool whole = false;    // `value` has all members; it brings back a row that was removed before
  base::Json value = base::Json::object();
  std::vector<std::string> without{};  // members that are gone
};

struct WebRow {
  std::string table{}, id{};
  std::optional<int64_t> removed_ms{};      // then there is nothing else
  base::Json value = base::Json::object();  // the members
  base::Json times = base::Json::object();  // of each, and of those that are gone
};

struct WebState {
  std::string store{};    // of which file and whose share of it revisions are, as 16 hex digits
  uint64_t revision = 0;  // rises with every change
};
struct WebRows {
  WebState state{};   // the revision up to which these are
  bool more = false;  // there are further ones
  std::vector<WebRow> rows{};
};

// Any thread. `owner`: HttpRequest::owner. Errors of all: kIo; kCorrupt for a damaged file.
class WebStore {
 public:
  virtual ~WebStore() = default;

  // Rows that were changed behind a revision, as they are now, in the order of their last change;
  // not more than go well into one answer.
  virtual base::Result<WebRows> rows(std::string_view owner, uint64_t after) = 0;
  // All or nothing. Each member has the value of its latest change. A removal holds against all
  // but a whole value of a later time, and takes the messages of a conversation along. Every row
  // that is named is among those changed, also where it has stayed as it was: its device has it
  // otherwise. Times to come count as now.
  virtual base::Result<WebState> change(std::string_view owner,
                                        std::span<const WebChange> changes) = 0;

  // Bytes of files, by their SHA-256 as 64 lower-case hex digits. Errors: kNotFound.
  virtual base::Result<std::string> file(std::string_view owner, std::string_view sha256) = 0;
  virtual base::Result<std::string> keep_file(std::string_view owner, std::string_view bytes) = 0;
};

}  // namespace puna::api
