// The web page: files that are answered to whoever asks, without a key. Read next: page_file.h for
// where they come from, policies.cpp for what they may do in a browser.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "api/exchange.h"
#include "server/page/accept_encoding.h"
#include "server/page/page_file.h"

namespace puna::server {

class Page {
 public:
  // The files outlive it; none: nothing is answered.
  explicit Page(std::span<const PageFile> files);

  // The file at the request's path, compressed as the client takes it; none: there is no such file.
  // At "/" only for who asks for HTML or is a browser: other clients look there for Ollama. 405 for
  // what reads nothing, 406 where the client takes no coding that there is.
  std::optional<api::HttpReply> answer(const api::HttpRequest& request) const;

 private:
  struct Inflated {
    std::once_flag made;
    std::string text;
  };

  const PageFile* find(std::string_view path) const;
  std::string body_of(const PageFile& file, Coding coding) const;

  const std::span<const PageFile> files_;
  // Beside files_: what clients without gzip are sent. Made once, so that such requests are cheap.
  const std::unique_ptr<Inflated[]> inflated_;
};

}  // namespace puna::server
