// What a model remembers of texts, and how that is kept where it outlives the engine: the front of
// engine/engine.h and engine/saved_prefix.h. All of it on the thread of the engine: in jobs of a
// host (host.h), or where there is no other thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/task.h"
#include "io/byte_sink.h"
#include "io/byte_source.h"
#include "service/model.h"

namespace puna::service {

// Of a text that would begin now: how many of its tokens, but for the last, are known.
uint32_t n_known(const LoadedModel& model, std::span<const int32_t> tokens);
// The texts that have ended and are still known.
std::vector<engine::Engine::KeptText> kept_texts(const LoadedModel& model);
// What has to be the same where a piece is taken up; `name` says whose weights computed it.
base::Json identity(const LoadedModel& model, const std::string& name);

// A piece of a text is written, or taken up. Errors: those of engine::Engine::save() and restore().
base::Task<base::Result<void>> save(LoadedModel& model, std::vector<int32_t> text, uint32_t first,
                                    std::string name, io::ByteSink& sink);
base::Task<base::Result<void>> restore(LoadedModel& model, std::vector<int32_t> text,
                                       std::string name, io::ByteSource& source);
// Writes as much of a text's beginning as is known as one piece, and gives how many tokens that is;
// of none there is only the head of a piece. Errors: as engine::Engine::save(), those of the sink.
base::Task<base::Result<uint32_t>> save_known(LoadedModel& model, std::vector<int32_t> text,
                                              std::string name, io::ByteSink& sink);
// Takes up a piece that save_known() has written, and gives the tokens of it. Errors: as restore().
base::Task<base::Result<std::vector<int32_t>>> restore_known(LoadedModel& model, std::string name,
                                                             io::ByteSource& source);
// The end of a text is known no more, from token `first` on, but for what other texts need
// (engine::Prefixes::forget_end).
base::Task<base::Result<void>> forget(LoadedModel& model, std::vector<int32_t> text,
                                      uint32_t first);
// Whose weights a model has, for `name`: its name, and a CRC-32 of its files' sizes and of samples
// of their bytes. Errors: those of the files.
base::Task<base::Result<std::string>> fingerprint(const LoadedModel& model);

}  // namespace puna::service
