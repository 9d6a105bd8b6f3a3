#include "server/page/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "server/page/inflate.h"
#include "server/page/policies.h"
#include "server/wire.h"

namespace puna::server {

using api::HttpReply;
using api::HttpRequest;

namespace {

constexpr std::string_view kRoot = "/", kIndex = "/index.html";

// Browsers name text/html when an address is opened; what a page or its service worker fetches
// comes with Sec-Fetch-Site.
bool wants_html(const HttpRequest& request) {
  const std::string* accept = request.header("accept");
  return request.header("sec-fetch-site") ||
         (accept && accept->find("text/html") != std::string::npos);
}

// Best first.
std::vector<Coding> codings_of(const PageFile& file) {
  std::vector<Coding> out;
  if (!file.brotli.empty()) out.push_back(Coding::kBrotli);
  if (!file.gzip.empty()) out.push_back(Coding::kGzip);
  out.push_back(Coding::kIdentity);
  return out;
}

// Bytes that differ have tags that differ.
std::string tag_of(const PageFile& file, Coding coding) {
  const std::string_view name = name_of(coding);
  return fmt::format("\"{}{}{}\"", file.hash, name.empty() ? "" : "-", name);
}

// Of a list of tags, weak ones too.
bool names_tag(std::string_view list, std::string_view tag) {
  return list == "*" || list.find(tag) != std::string_view::npos;
}

void add_headers(const PageFile& file, bool at_root, HttpReply& out) {
  auto& headers = out.headers;
  headers.emplace_back("Cache-Control",
                       file.immutable ? "public, max-age=31536000, immutable" : "no-cache");
  headers.emplace_back("Vary",
                       at_root ? "Accept, Accept-Encoding, Sec-Fetch-Site" : "Accept-Encoding");
  headers.emplace_back("Content-Security-Policy", policy_of(file));
  // Together they isolate the page, without which its engine has no threads.
  headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
  headers.emplace_back("Cross-Origin-Embedder-Policy", "require-corp");
  headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
  headers.emplace_back("X-Content-Type-Options", "nosniff");
  headers.emplace_back("Referrer-Policy", "no-referrer");
}

}  // namespace

Page::Page(std::span<const PageFile> files)
    : files_(files), inflated_(std::make_unique<Inflated[]>(files.size())) {}

std::optional<HttpReply> Page::answer(const HttpRequest& request) const {
  const bool at_root = request.path == kRoot;
  const PageFile* const file = find(at_root ? kIndex : std::string_view(request.path));
  if (!file || (at_root && !wants_html(request))) return {};
  if (request.method != "GET" && request.method != "HEAD") {
    HttpReply out = error_reply(api::Dialect::kLlama, 405,
                                fmt::format("{} is not possible at {}; GET, HEAD, OPTIONS are.",
                                            request.method, request.path));
    out.headers.emplace_back("Allow", "GET, HEAD, OPTIONS");
    return out;
  }
  const std::string* accepted = request.header("accept-encoding");
  const auto coding = choose_coding(accepted, codings_of(*file));
  if (!coding) {
    return error_reply(api::Dialect::kLlama, 406,
                       fmt::format("The Accept-Encoding \"{}\" takes no form in which {} is here.",
                                   accepted ? *accepted : "", file->path));
  }
  HttpReply out{.status = 200, .content_type = std::string(file->type), .body = ""};
  const std::string tag = tag_of(*file, *coding);
  out.headers.emplace_back("ETag", tag);
  add_headers(*file, at_root, out);
  const std::string* known = request.header("if-none-match");
  if (known && names_tag(*known, tag)) {
    out.status = 304;
    out.content_type.clear();
    return out;
  }
  if (*coding != Coding::kIdentity) out.headers.emplace_back("Content-Encoding", name_of(*coding));
  out.body = body_of(*file, *coding);
  return out;
}

const PageFile* Page::find(std::string_view path) const {
  const auto at = std::ranges::lower_bound(files_, path, {}, &PageFile::path);
  return at != files_.end() && at->path == path ? &*at : nullptr;
}

std::string Page::body_of(const PageFile& file, Coding coding) const {
  if (coding == Coding::kBrotli) return std::string(file.brotli);
  if (coding == Coding::kGzip) return std::string(file.gzip);
  if (file.gzip.empty()) return std::string(file.plain);
  Inflated& inflated = inflated_[static_cast<size_t>(&file - files_.data())];
  std::call_once(inflated.made, [&] { inflated.text = inflate(file.gzip, file.n_bytes); });
  return inflated.text;
}

}  // namespace puna::server
