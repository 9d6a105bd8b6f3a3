#include "service/kept.h"

#include <utility>

namespace puna::service {

using base::Result;
using base::Task;

uint32_t n_known(const LoadedModel& model, std::span<const int32_t> tokens) {
  return model.engine->cache().n_known(tokens);
}

std::vector<engine::Engine::KeptText> kept_texts(const LoadedModel& model) {
  return model.engine->kept_texts();
}

base::Json identity(const LoadedModel& model, const std::string& name) {
  return model.engine->identity(name);
}

Task<Result<void>> save(LoadedModel& model, std::vector<int32_t> text, uint32_t first,
                        std::string name, io::ByteSink& sink) {
  co_return co_await model.scheduler->alone({}, [&](engine::Scheduler::Sequences) {
    return model.engine->save(std::move(text), first, std::move(name), sink);
  });
}

Task<Result<void>> restore(LoadedModel& model, std::vector<int32_t> text, std::string name,
                           io::ByteSource& source) {
  std::vector<uint32_t> one(1, 0);
  co_return co_await model.scheduler->alone(std::move(one), [&](engine::Scheduler::Sequences s) {
    return model.engine->restore(s[0], std::move(text), std::move(name), source);
  });
}

}  // namespace puna::service
