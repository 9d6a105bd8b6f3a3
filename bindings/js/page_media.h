// Pictures and sounds in a page: the encoder beside the model, and files that the page holds.
#pragma once

#include <memory>

#include "base/json.h"
#include "base/result.h"
#include "base/task.h"
#include "engine/engine.h"
#include "service/host.h"
#include "service/senses.h"

namespace puna::page {

// {mmproj: {path, size, at_once}, image_max_tokens} of a load, whose part is `index`; null without
// mmproj. `engine` is what the model is loaded with: on the CPU both share its threads. Errors:
// those of Senses::load(), and kInvalidArgument where its rows do not fit a model of this width.
base::Task<base::Result<std::shared_ptr<service::Senses>>> load_senses(
    const base::Json& options, uint32_t index, service::DeviceUse use,
    engine::EngineOptions& engine, uint32_t hidden);

// {images, audio, width, marker}; null without senses. The marker stands for files in prompts
// (api/prompts.h).
base::Json media_json(const service::Senses* senses);

// {part, size, sense: "image" or "audio"}: a file of the page.
base::Task<base::Result<std::shared_ptr<const service::MediaFile>>> read_media(
    const base::Json& file);

// Has the files of a request encoded, where it has any, between steps of the engine; its control's
// `cancel` gives it up.
base::Task<base::Result<void>> encode_media(service::Host& host, service::Request& request);

// {part, size, sense, shape}: the rows of a file, or of what an encoder reads, where there is a
// shape: float32 [tiles, height, width, 3] or [mel bins, frames].
base::Task<base::Result<std::vector<float>>> media_rows(service::Host& host,
                                                        const base::Json& body);

// {prompt, files}: a text with a mark for each of the files.
base::Task<base::Result<engine::Prompt>> marked_prompt(service::Host& host, const base::Json& body);

}  // namespace puna::page
