// Senses: the encoders of pictures and sounds beside a model, and what they have made already. A
// file that was encoded is known again by its bytes, so that the same picture in the next turn is
// neither decoded nor encoded. Files are read on any thread (read()); an encoder runs where the
// engine does (encode()). Read next: request_media.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "base/thread_pool.h"
#include "engine/encoder.h"
#include "engine/scheduler.h"
#include "service/encode_media.h"
#include "service/model.h"
#include "store/digest.h"

namespace puna::service {

struct SensesOptions {
  PictureTokens picture_tokens{};
  uint64_t cache_bytes = uint64_t{256} << 20;  // of rows that are kept
  // Beside texts an encoder runs in pieces of about so long, each between two of their steps.
  double piece_ms = 25;
  kernels::Numerics numerics = kernels::Numerics::kFast;
  std::shared_ptr<const kernels::Profile> profile;  // of the GPU; null: portable defaults
  std::shared_ptr<base::ThreadPool> threads;        // null, on the CPU: n_threads of its own
  int n_threads = 0;
  engine::LoadHooks hooks;  // of Senses::load() alone
};

class Senses {
 public:
  // Opens the mmproj file anew: each encoder takes a file of its own.
  using OpenFile = std::function<base::Task<base::Result<formats::ModelFile>>()>;

  // Memory is planned for pictures of engine::kUsualTileRows patches, or as many as the options
  // have; a larger one has its encoder loaded again for it. Errors: those of opening the file, of
  // MediaReader::create() and engine::Encoder::load(); kUnsupported for a file without encoders.
  static base::Task<base::Result<std::unique_ptr<Senses>>> load(OpenFile open, DeviceUse use,
                                                                SensesOptions options);

  bool has(models::Sense sense) const { return of(sense) != nullptr; }
  // Null where the model lacks the sense.
  const MediaReader* reader(models::Sense sense) const;
  // engine::EngineOptions::media_rows for what the encoders may make; 0: all rows are as words.
  uint32_t most_rows_both_ways() const;
  // Errors: models::check_fits(), of all encoders.
  base::Result<void> check_fits(uint32_t hidden, const std::string& model) const;

  // Any thread:
  // By what a file is known: its sense and bytes.
  static store::Digest key_of(const MediaFile& file);
  // What was made of it; null where that is not kept.
  std::shared_ptr<const EncodedMedia> find(const store::Digest& key);
  // Errors: kUnsupported where the model lacks the sense; those of MediaReader::read().
  base::Result<MediaInput> read(const MediaFile& file, const MayTake& may_take = {}) const;
  struct Status {
    uint64_t n_encoded = 0;   // files that went through an encoder
    uint64_t n_found = 0;     // that were known
    uint64_t bytes_kept = 0;  // of rows
  };
  Status status() const;

  // On the thread of the engine. With a scheduler it runs in pieces between its steps, one file
  // after the other. Errors, with the name of the file: those of engine::Encoder, and of loading it
  // for a larger picture.
  base::Task<base::Result<std::shared_ptr<const EncodedMedia>>> encode(engine::Scheduler* scheduler,
                                                                       const store::Digest& key,
                                                                       const MediaInput& input);
  // Of what an encoder reads, without a file.
  base::Task<base::Result<engine::Encoded>> run(engine::Scheduler* scheduler, models::Sense sense,
                                                std::vector<models::EncoderInput> tiles);
  // Lets tasks go on; for base::run_until, where there is no engine beside.
  void poll();

 private:
  struct One {
    MediaReader reader;
    std::unique_ptr<engine::Encoder> encoder;  // null where it could not be loaded again
    uint32_t n_patches = 0;                    // that memory was planned for
  };
  Senses(OpenFile open, DeviceUse use, SensesOptions options)
      : open_(std::move(open)), use_(std::move(use)), options_(std::move(options)) {}

  const One* of(models::Sense sense) const;
  base::Task<base::Result<void>> open(models::Sense sense, formats::ModelFile file,
                                      engine::LoadHooks hooks);
  base::Task<base::Result<void>> make_room(One& one, uint32_t n_patches);
  base::Task<base::Result<std::unique_ptr<engine::Encoder>>> load_encoder(formats::ModelFile file,
                                                                          const MediaReader& reader,
                                                                          uint32_t n_patches,
                                                                          engine::LoadHooks hooks);
  // An encoder beside the texts of a scheduler, in its turn.
  base::Task<base::Result<engine::Encoded>> run_beside(engine::Scheduler* scheduler, One& one,
                                                       std::vector<models::EncoderInput> tiles);
  // Waits until no other run is under way: an encoder has memory for one.
  base::Task<bool> take_turn();
  void end_turn();
  void keep(const store::Digest& key, std::shared_ptr<const EncodedMedia> media);

  const OpenFile open_;
  const DeviceUse use_;
  const SensesOptions options_;  // without hooks
  std::string name_;             // of the file
  std::vector<std::pair<models::Sense, std::unique_ptr<One>>> ones_;

  // Of the engine's thread.
  bool is_running_ = false;
  std::deque<std::function<void(bool)>> turns_;  // runs that wait

  mutable std::mutex mutex_;  // of what follows
  // The last used first.
  std::list<std::pair<store::Digest, std::shared_ptr<const EncodedMedia>>> kept_;
  std::map<store::Digest, decltype(kept_)::iterator> places_;
  Status status_;
};

}  // namespace puna::service
