// The search on kernels that are made up: what it tries, takes, refuses, and when it stops.
#include "kernels/tune/tune.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace puna;
using namespace puna::kernels;

namespace {

// A kernel with knobs a and b of 1, 2 or 4 that takes |a - 4| + |b - 2| + 10 microseconds.
class FakeSubject : public Subject {
 public:
  std::string key() const override { return "fake"; }
  KnobValues portable() const override { return {{"a", 1}, {"b", 1}}; }
  std::vector<KnobValues> neighbours(const KnobValues& from) const override {
    std::vector<KnobValues> out;
    for (const char* knob : {"a", "b"}) {
      for (const uint32_t value : {1u, 2u, 4u}) {
        KnobValues changed = from;
        changed[knob] = value;
        if (changed != from) out.push_back(changed);
      }
    }
    return out;
  }
  base::Result<double> us(const KnobValues& knobs, double, int) override {
    ++n_timed;
    if (on_timed) on_timed();
    return flat ? 10.0 : std::fabs(knobs.at("a") - 4.0) + std::fabs(knobs.at("b") - 2.0) + 10;
  }
  base::Result<std::vector<float>> output(const KnobValues& knobs) override {
    if (knobs == fails) return base::fail(base::ErrorCode::kDevice, "It does not compile.");
    return knobs == wrong ? wrong_output : std::vector<float>{1, 2};
  }

  KnobValues wrong, fails;
  std::vector<float> wrong_output = {1, 2.1f};
  bool flat = false;
  int n_timed = 0;
  std::function<void()> on_timed;
};

constexpr double kLong = 1e6;

}  // namespace

TEST_CASE("a search finds the best knobs and reports both times") {
  FakeSubject subject;
  const auto found = search(subject, {kLong});
  REQUIRE(found);
  CHECK(found->best == KnobValues{{"a", 4}, {"b", 2}});
  CHECK(found->portable == KnobValues{{"a", 1}, {"b", 1}});
  CHECK(found->portable_us == 14);
  CHECK(found->best_us == 10);
  CHECK(found->n_refused == 0);
}

TEST_CASE("a candidate that computes something else, nothing, or fails is never taken") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::vector<float>& output :
       {std::vector<float>{1, 2.1f}, {0, 0}, {nan, nan}, {1, nan}}) {
    FakeSubject subject;
    subject.wrong = {{"a", 4}, {"b", 2}};
    subject.wrong_output = output;
    const auto found = search(subject, {kLong});
    REQUIRE(found);
    CHECK(found->best != subject.wrong);
    CHECK(found->n_refused == 1);
  }
  FakeSubject subject;
  subject.fails = {{"a", 4}, {"b", 2}};
  CHECK(search(subject, {kLong})->best != subject.fails);
}

TEST_CASE("a default that gives no plain numbers is an error") {
  FakeSubject subject;
  subject.wrong = subject.portable();
  for (const std::vector<float>& output :
       {std::vector<float>{0, 0}, {1, std::numeric_limits<float>::infinity()}}) {
    subject.wrong_output = output;
    CHECK(!search(subject, {kLong}));
  }
}

TEST_CASE("differences within the noise change nothing") {
  FakeSubject subject;
  subject.flat = true;
  const auto found = search(subject, {kLong});
  REQUIRE(found);
  CHECK(found->best == found->portable);
  CHECK(found->n_tried == 4);
}

TEST_CASE("a search without time measures the default alone, and one that is cancelled ends") {
  FakeSubject subject;
  const auto found = search(subject, {0});
  REQUIRE(found);
  CHECK(found->n_tried == 0);
  CHECK(subject.n_timed == 1);

  std::atomic<bool> cancel = false;
  subject.on_timed = [&] { cancel = subject.n_timed > 3; };
  const auto cancelled = search(subject, {kLong, &cancel});
  REQUIRE(!cancelled);
  CHECK(cancelled.error().code == base::ErrorCode::kCancelled);
}
