// What a server and the process that it has started for a model (child.h) say to each other: JSON,
// a line a word, on the stdin and the stdout of the child.
//   to it:    {"hello": {"entry", "socket", "parent", "extra"}}, then any of
//             {"do": "measure"}, {"do": "load", "step_down": false}, {"do": "sleep"}
//   of it:    {"is": "measured", "bytes": {"host": 1}, "held": {"host": 1}}
//                 what its model will take, and what it takes until it is told to load that
//             {"is": "loading", "done": 1, "total": 2}      while it does, when there is more
//             {"is": "ready", "bytes", "facts", "props", "file_bytes", "n_texts"}
//             {"is": "asleep", "bytes": 7}
//             {"is": "failed", "code": "out_of_memory", "message"}   of any of them
//             {"is": "status", ...}                         while it is loaded, when it changes
// The end of its stdin is the end of it.
#pragma once

#include <string>

#include "api/model_source.h"
#include "base/json.h"
#include "base/result.h"
#include "manager/instance.h"

namespace puna::manager {

struct Hello {
  Entry entry{};
  std::string socket{};  // that it is to listen on
  int64_t parent = 0;    // the id of the process that it goes with
  base::Json extra{};    // what whoever has written the program adds
};
base::Json to_json(const Hello& hello);
base::Result<Hello> read_hello(const base::Json& json);

base::Json to_json(const Footprint& bytes);
base::Result<Footprint> read_footprint(const base::Json& json);

base::Json to_json(const base::Error& error);
base::Error read_error(const base::Json& json);

base::Json to_json(const service::HostStatus& status);
service::HostStatus read_status(const base::Json& json);

}  // namespace puna::manager
