#include "manager/remembered.h"

#include <algorithm>
#include <cstddef>
#include <future>
#include <utility>
#include <vector>

#include "base/log.h"
#include "io/byte_sink.h"
#include "io/byte_source.h"
#include "service/kept.h"

namespace puna::manager {

using base::Result;
using base::Task;
using service::LoadedModel;

namespace {

using Pieces = std::vector<std::vector<std::byte>>;

class Texts final : public Memories {
 public:
  explicit Texts(std::vector<Pieces> the_pieces) : pieces(std::move(the_pieces)) {}
  uint64_t bytes() const override {
    uint64_t sum = 0;
    for (const Pieces& of_host : pieces) {
      for (const auto& each : of_host) sum += each.size();
    }
    return sum;
  }

  const std::vector<Pieces> pieces;  // by host
};

template <class T>
Result<T> wait_for(service::Host& host, service::Host::Job<T> job) {
  std::promise<Result<T>> promise;
  host.post_job<T>(std::move(job), [&](Result<T> result) { promise.set_value(std::move(result)); });
  return promise.get_future().get();
}

Result<Pieces> remember(service::Host& host, const std::string& name, uint64_t most_bytes) {
  return wait_for<Pieces>(host, [&](LoadedModel& model) -> Task<Result<Pieces>> {
    Pieces out;
    uint64_t n_bytes = 0;
    for (const auto& text : service::kept_texts(model)) {
      std::vector<std::byte> piece;
      const auto sink = io::to_memory(piece);
      PUNA_CO_TRY(const uint32_t n, co_await service::save_known(model, text.tokens, name, *sink));
      if (n == 0 || n_bytes + piece.size() > most_bytes) continue;
      n_bytes += piece.size();
      out.push_back(std::move(piece));
    }
    co_return out;
  });
}

}  // namespace

std::unique_ptr<Memories> remember(const service::Hosts& hosts, const std::string& name,
                                   uint64_t most_bytes) {
  std::vector<Pieces> all;
  bool any = false;
  for (service::Host* const host : hosts.all()) {
    auto pieces = remember(*host, name, most_bytes);
    if (!pieces)
      base::log_warning("What was known of texts is forgotten: {}", pieces.error().text());
    all.push_back(std::move(pieces).value_or(Pieces()));
    any = any || !all.back().empty();
  }
  if (!any) return nullptr;
  return std::make_unique<Texts>(std::move(all));
}

void recall(service::Hosts& hosts, const std::string& name, const Memories& memories) {
  const auto* texts = dynamic_cast<const Texts*>(&memories);
  if (!texts) return;
  for (size_t i = 0; i < std::min(hosts.all().size(), texts->pieces.size()); ++i) {
    const auto n =
        wait_for<uint32_t>(*hosts.all()[i], [&](LoadedModel& model) -> Task<Result<uint32_t>> {
          uint32_t n_texts = 0;
          for (const std::vector<std::byte>& piece : texts->pieces[i]) {
            const auto source = io::from_memory("what was remembered", std::span(piece));
            PUNA_CO_TRY(const auto tokens, co_await service::restore_known(model, name, *source));
            hosts.note(model, tokens);
            ++n_texts;
          }
          co_return n_texts;
        });
    if (!n)
      base::log_warning("Not all that was known of texts is known again: {}", n.error().text());
  }
}

}  // namespace puna::manager
