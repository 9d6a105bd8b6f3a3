// The encoder of pictures or sounds beside a text model: an mmproj file opened on a device.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "engine/encoder.h"
#include "service/model.h"
#include "service/open.h"

namespace puna::service {

struct MediaEncoder {
  DeviceUse use;  // outlives the encoder
  std::shared_ptr<const kernels::Profile> profile;
  std::unique_ptr<engine::Encoder> encoder;

  void poll() const { encoder->poll(); }
};

// options.model names the mmproj file. `max_rows`: patches of the largest picture, for encoders of
// pictures of any size. Errors: those of finding and opening a model, of the device and of
// engine::Encoder::load().
base::Result<MediaEncoder> open_encoder(const OpenOptions& options, models::Sense sense,
                                        std::optional<uint32_t> max_rows = {});
// The same of a file that is opened already.
base::Result<MediaEncoder> open_encoder(formats::ModelFile file, const OpenOptions& options,
                                        models::Sense sense, std::optional<uint32_t> max_rows = {});

}  // namespace puna::service
