// The files of pictures and sounds in requests, from when a request is read until it can be
// prepared: they are read on any thread, encoded on the engine's, and placed.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "service/request.h"
#include "service/senses.h"

namespace puna::service {

class RequestMedia {
 public:
  // Whether requests have files that nothing was made of yet.
  static bool any(std::span<const Request> requests);
  // Their files, each hashed once, with those of their encodings that are kept; nothing is read.
  // What is still to be fetched is passed over.
  static RequestMedia find(const LoadedModel& model, std::span<const Request> requests);
  // Reads all files of the same requests that nothing is known of, those too that were fetched
  // meanwhile; nothing is encoded. Errors: those of Senses::read(), kUnsupported for a model
  // without senses; kInvalidArgument, with `excess`, where the files of a request are more tokens
  // than the context has room for.
  base::Result<void> read(const LoadedModel& model, std::span<const Request> requests);

  // Whether the encodings of all files are known, so that neither read() nor encode() is needed.
  bool is_encoded() const;
  // On the thread of the engine, beside its texts; may be called once. Errors: those of
  // Senses::encode(); kCancelled once somebody has set `cancel`.
  base::Task<base::Result<void>> encode(LoadedModel& model, const std::atomic<bool>& cancel);
  // Gives the requests what was made of their files; or, before encode(), what they are counted by.
  void place(std::span<Request> requests) const;

 private:
  struct Item {
    store::Digest key;
    std::optional<MediaInput> input{};  // once it is read, until it is encoded
    std::shared_ptr<const EncodedMedia> media{};
  };
  Item& item(const std::shared_ptr<const MediaFile>& file);

  bool passed_over_ = false;  // a file that is still to be fetched, or all for want of senses
  std::vector<Item> items_;
  std::map<const MediaFile*, size_t> item_of_;
};

// Gives requests what their files are counted by (prompt_tokens()). Errors: those of read().
base::Result<void> count_media(const LoadedModel& model, std::span<Request> requests);

}  // namespace puna::service
