// StoreSource: where endpoints find the models that lie on this machine, loaded or not, and make,
// fetch and delete them. A server has one; a page has none.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "formats/model_file.h"
#include "io/byte_sink.h"
#include "service/model_card.h"
#include "service/model_texts.h"
#include "service/work.h"

namespace puna::api {

struct StoredModel {
  std::string name;        // "smollm2:latest"
  std::string digest;      // of its manifest, 64 hex digits; empty: it has none
  uint64_t bytes = 0;      // of all its files
  int64_t modified_s = 0;  // Unix time
  service::ModelCard card{};
};

struct ShownModel {
  StoredModel model;
  formats::ModelFile file;  // its weights are not read
  service::ModelTexts texts{};
};

// What a model is to be made of, as it stands in a request.
struct NewModel {
  std::string name{}, from{}, quantize{};
  std::vector<std::pair<std::string, std::string>> files{};  // digests by file name
  std::optional<std::string> chat_template{}, system{};
  std::vector<std::string> licenses{};
  base::Json parameters{}, messages{};  // an object and a list; null for none
  std::string renderer{}, parser{}, minimal_version{};
};

// Of work that takes long: who is told of it, and whether it is still wanted.
struct Watch {
  service::OnWork tell;
  const std::atomic<bool>& cancelled;
};

// Any thread. Errors of all that take a name: kInvalidArgument for what is none, kNotFound.
class StoreSource {
 public:
  virtual ~StoreSource() = default;

  // By name; what is damaged is left out.
  virtual base::Result<std::vector<StoredModel>> list() = 0;
  virtual base::Result<ShownModel> show(std::string_view name) = 0;
  virtual base::Result<void> copy(std::string_view from, std::string_view to) = 0;
  virtual base::Result<void> remove(std::string_view name) = 0;

  // Whether the blob of a digest ("sha256:...") is there. Errors: kInvalidArgument.
  virtual base::Result<bool> has_blob(std::string_view digest) = 0;
  // Takes the bytes of a blob; finish() fails with kInvalidArgument where they are others. `bytes`:
  // how many are to come, where that is known. Errors: also kIo, where the disk has no room.
  virtual base::Result<std::unique_ptr<io::ByteSink>> receive_blob(
      std::string_view digest, std::optional<uint64_t> bytes) = 0;

  // These take as long as they take. Errors: those of the work; kCancelled.
  virtual base::Result<void> pull(std::string_view name, bool insecure, const Watch& watch) = 0;
  virtual base::Result<void> push(std::string_view name, bool insecure, const Watch& watch) = 0;
  virtual base::Result<void> create(const NewModel& model, const Watch& watch) = 0;
};

}  // namespace puna::api
