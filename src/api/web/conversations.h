// Conversations of the web page for several devices: what a page asks a server with --web-store.
// Puna's own; docs/web.md says how a page uses it. Read next: api/web_store.h.
#pragma once

#include "api/exchange.h"
#include "api/fields.h"

namespace puna::api::web {

// GET /web-store, POST /web-store, GET and POST of its files; status 501 where nothing is kept.
// Errors: kInvalidArgument, kNotFound, those of WebStore.
base::Result<Exchange> read_rows(const Call& call);
base::Result<Exchange> change_rows(const Call& call);
base::Result<Exchange> read_file(const Call& call);
base::Result<Exchange> keep_file(const Call& call);

}  // namespace puna::api::web
