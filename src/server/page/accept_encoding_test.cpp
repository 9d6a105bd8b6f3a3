#include "server/page/accept_encoding.h"

#include <doctest/doctest.h>

#include <string>

using namespace puna::server;

namespace {

constexpr Coding kAll[] = {Coding::kBrotli, Coding::kGzip, Coding::kIdentity};
constexpr Coding kPlainOnly[] = {Coding::kIdentity};

struct Case {
  const char* header;
  std::optional<Coding> chosen;  // of all
};

}  // namespace

TEST_CASE("the coding is the one that the client weighs most, and the smallest among equals") {
  const Case cases[] = {
      {"gzip, deflate, br, zstd", Coding::kBrotli},
      {"gzip, deflate", Coding::kGzip},
      {"deflate", Coding::kIdentity},
      {"", Coding::kIdentity},
      {"br;q=0.5, gzip;q=0.8", Coding::kGzip},
      {"br;q=0.501, gzip;q=0.5", Coding::kBrotli},
      {"br ; q=0.1 , gzip\t;\tq=1.000", Coding::kGzip},
      {"BR, X-GZIP;q=0.1", Coding::kBrotli},
      {"x-gzip", Coding::kGzip},
      {"gzip;q=0.5, identity", Coding::kIdentity},
      {"gzip;q=0.001", Coding::kGzip},
      {"*", Coding::kBrotli},
      {"*;q=0.1, gzip", Coding::kGzip},
      {"br;q=0, *", Coding::kGzip},
      {"br;q=0, gzip;q=0, *;q=0.3", Coding::kIdentity},
  };
  for (const Case& each : cases) {
    const std::string header = each.header;
    CHECK_MESSAGE(choose_coding(&header, kAll) == each.chosen, each.header);
  }
  CHECK(choose_coding(nullptr, kAll) == Coding::kIdentity);
}

TEST_CASE("what the client refuses is not sent, and where it refuses all there is nothing") {
  const Case cases[] = {
      {"gzip;q=0", Coding::kIdentity},
      {"identity;q=0, gzip", Coding::kGzip},
      {"identity;q=0", std::nullopt},
      {"*;q=0", std::nullopt},
      {"*;q=0, identity", Coding::kIdentity},
      {"*;q=0.0, br;q=0.001", Coding::kBrotli},
      {"deflate, identity;q=0.000", std::nullopt},
  };
  for (const Case& each : cases) {
    const std::string header = each.header;
    CHECK_MESSAGE(choose_coding(&header, kAll) == each.chosen, each.header);
  }
  const std::string only_gzip = "gzip, identity;q=0";
  CHECK_FALSE(choose_coding(&only_gzip, kPlainOnly).has_value());
  const std::string gzip = "gzip";
  CHECK(choose_coding(&gzip, kPlainOnly) == Coding::kIdentity);
}

TEST_CASE("what is malformed counts as not said") {
  for (const char* header : {"br;q=", "br;q=2", "br;q=1.001", "br;q=0.1234", "br;q=-1", "br;q=.5",
                             "br;q=0,5;q=x", "br;level=1", "br;q", ",,;;q=1,,"}) {
    const std::string text = std::string(header) + ", gzip;q=0.2, identity;q=0.1";
    CHECK_MESSAGE(choose_coding(&text, kAll) == Coding::kGzip, header);
  }
}
