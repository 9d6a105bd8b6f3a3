#include "api/form_body.h"

#include <doctest/doctest.h>

#include <string>

using namespace puna;
using api::form_boundary;
using api::read_form;

namespace {

std::string part(const std::string& head, const std::string& body) {
  return "--x\r\n" + head + "\r\n\r\n" + body + "\r\n";
}
std::string named(const std::string& name) {
  return "Content-Disposition: form-data; name=\"" + name + "\"";
}

}  // namespace

TEST_CASE("the boundary of a form is one of its type") {
  CHECK(form_boundary("multipart/form-data; boundary=abc") == "abc");
  CHECK(form_boundary("Multipart/Form-Data; charset=utf-8; Boundary=\"a b\\\"c\"") == "a b\"c");
  for (const char* wrong : {"", "application/json", "multipart/form-data",
                            "multipart/mixed; boundary=a", "multipart/form-data; boundary="})
    CHECK_MESSAGE(!form_boundary(wrong).has_value(), wrong);
}

TEST_CASE("the fields of a form are texts of any bytes") {
  const std::string bytes("a\0\r\n--y\xff", 8);
  const std::string body =
      part(named("file") + "; filename=\"a.wav\"\r\nContent-Type: audio/wav", bytes) +
      part("content-disposition: form-data; name=model", "m") + part(named("model"), "other") +
      part(named("kinds[]"), "a") + part(named("kinds[]"), "b") + part(named("empty"), "") +
      "--x--\r\n";
  const auto form = read_form(body, "x");
  REQUIRE_MESSAGE(form.has_value(), form.error().text());
  CHECK(form->find("file")->string() == bytes);
  CHECK(form->find("model")->string() == "m");
  CHECK(form->find("kinds[]")->dump() == R"(["a","b"])");
  CHECK(form->find("empty")->string().empty());
  CHECK(read_form("--x--", "x").has_value());
}

TEST_CASE("what is no form is refused") {
  const std::string good = part(named("a"), "b") + "--x--";
  REQUIRE(read_form(good, "x").has_value());
  for (size_t n = 0; n < good.size(); ++n)
    CHECK_MESSAGE(!read_form(good.substr(0, n), "x").has_value(), n);
  CHECK(!read_form(good, "y").has_value());
  CHECK(!read_form(part("Content-Type: text/plain", "b") + "--x--", "x").has_value());
  std::string many;
  for (int i = 0; i < 101; ++i) many += part(named("a"), "b");
  CHECK(!read_form(many + "--x--", "x").has_value());
}
