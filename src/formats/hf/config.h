// The config.json of a Hugging Face folder: checked reads, with what holds for the text part of a
// model that has others put on top. Read next: mapping.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace puna::formats::hf {

class Config {
 public:
  // Accepts the bare Infinity and NaN that Python writes; they read as absent. Errors: kCorrupt.
  static base::Result<Config> parse(std::string_view text);
  // The same without the text part on top. Errors: kCorrupt.
  static base::Result<Config> parse_whole(std::string_view text);
  explicit Config(base::Json json) : json_(std::move(json)) {}

  const base::Json& json() const { return json_; }
  // The value, or nullptr where it is missing or null.
  const base::Json* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }

  // Errors: kNotFound, kCorrupt naming the key. Counts are at most 2^40, so that a product with
  // another of a file's sizes can be checked.
  base::Result<uint64_t> count(std::string_view key) const;
  base::Result<uint64_t> count(std::string_view key, uint64_t otherwise) const;
  base::Result<double> real(std::string_view key) const;
  base::Result<double> real(std::string_view key, double otherwise) const;
  base::Result<bool> flag(std::string_view key, bool otherwise) const;
  base::Result<std::string> text(std::string_view key, std::string_view otherwise) const;
  // Empty without the key.
  base::Result<std::vector<double>> reals(std::string_view key) const;
  base::Result<std::vector<std::string>> texts(std::string_view key) const;

  // Gives the key the value of `other`, or `value`, where config.json has nothing for it.
  void also_called(std::string_view key, std::string_view other);
  void usually(std::string_view key, base::Json value);
  void set(std::string_view key, base::Json value) {
    json_.set(std::string(key), std::move(value));
  }

  // Errors: kUnsupported naming the key and its value, unless it is absent or `wanted`.
  base::Result<void> must_be(std::string_view key, const base::Json& wanted) const;

 private:
  base::Json json_;
};

}  // namespace puna::formats::hf
