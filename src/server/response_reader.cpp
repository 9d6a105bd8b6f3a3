#include "server/response_reader.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

namespace puna::server {

namespace http = boost::beast::http;

namespace {

constexpr uint32_t kMostHeader = 64 << 10;

}  // namespace

struct ResponseReader::Parser {
  http::response_parser<http::string_body> beast;
};

ResponseReader::ResponseReader(bool head_only) : parser_(std::make_unique<Parser>()) {
  parser_->beast.eager(true);
  parser_->beast.header_limit(kMostHeader);
  parser_->beast.body_limit(boost::none);
  parser_->beast.skip(head_only);
}

ResponseReader::~ResponseReader() = default;

bool ResponseReader::put(std::string_view bytes) {
  in_ += bytes;
  while (!in_.empty() && !parser_->beast.is_done()) {
    boost::system::error_code error;
    const size_t n = parser_->beast.put(boost::asio::buffer(in_), error);
    in_.erase(0, n);
    if (error == http::error::need_more) return true;
    if (error) return false;
    if (n == 0) return true;
  }
  return true;
}

bool ResponseReader::has_head() const { return parser_->beast.is_header_done(); }
bool ResponseReader::done() const { return parser_->beast.is_done(); }
int ResponseReader::status() const { return static_cast<int>(parser_->beast.get().result_int()); }
bool ResponseReader::is_stream() const { return parser_->beast.chunked(); }

std::vector<std::pair<std::string, std::string>> ResponseReader::headers() const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& field : parser_->beast.get()) {
    std::string name(field.name_string());
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    out.emplace_back(std::move(name), std::string(field.value()));
  }
  return out;
}

std::string ResponseReader::take_body() { return std::exchange(parser_->beast.get().body(), {}); }

}  // namespace puna::server
