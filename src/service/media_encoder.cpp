#include "service/media_encoder.h"

#include <utility>

#include "service/find_encoder.h"
#include "service/profiles.h"

namespace puna::service {

using base::Result;

Result<MediaEncoder> open_encoder(const OpenOptions& options, models::Sense sense,
                                  std::optional<uint32_t> max_rows) {
  PUNA_TRY(formats::ModelFile file, open_encoder_file(options));
  return open_encoder(std::move(file), options, sense, max_rows);
}

Result<MediaEncoder> open_encoder(formats::ModelFile file, const OpenOptions& options,
                                  models::Sense sense, std::optional<uint32_t> max_rows) {
  MediaEncoder out;
  PUNA_TRY(out.use, open_device(options));
  gpu::Device* const driver = out.use.device.get();
  if (driver) out.profile = profile_for(*driver, options.engine.numerics);
  engine::EncoderOptions how;
  how.sense = sense;
  if (max_rows) how.max_rows = *max_rows;
  how.numerics = options.engine.numerics;
  how.profile = out.profile.get();
  how.n_threads = options.engine.n_threads;
  PUNA_TRY(out.encoder, base::run_until(engine::Encoder::load(std::move(file), std::move(how),
                                                              driver, options.engine.hooks),
                                        [driver] {
                                          if (driver) driver->poll();
                                        }));
  return out;
}

}  // namespace puna::service
