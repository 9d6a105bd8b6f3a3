// The models of this machine's store as endpoints see them (api/store_source.h).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "api/store_source.h"
#include "store/store.h"

namespace puna::server {

class StoredModels : public api::StoreSource {
 public:
  // `n_threads`: to quantize with; 0: one per physical core.
  explicit StoredModels(store::Store store, int n_threads = 0)
      : store_(std::move(store)), n_threads_(n_threads) {}

  // StoreSource. Names are names of models alone: nothing that a client says is a path.
  base::Result<std::vector<api::StoredModel>> list() override;
  base::Result<api::ShownModel> show(std::string_view name) override;
  base::Result<void> copy(std::string_view from, std::string_view to) override;
  base::Result<void> remove(std::string_view name) override;
  base::Result<bool> has_blob(std::string_view digest) override;
  base::Result<std::unique_ptr<io::ByteSink>> receive_blob(std::string_view digest,
                                                           std::optional<uint64_t> bytes) override;
  // Plain http is for registries of this machine alone.
  base::Result<void> pull(std::string_view name, bool insecure, const api::Watch& watch) override;
  base::Result<void> push(std::string_view name, bool insecure, const api::Watch& watch) override;
  base::Result<void> create(const api::NewModel& model, const api::Watch& watch) override;

 private:
  const store::Store store_;
  const int n_threads_;

  // Files are opened once for what lists say of them.
  using CardKey = std::tuple<std::string, uint64_t, int64_t>;  // path, bytes, time of the manifest
  std::mutex mutex_;
  std::map<CardKey, service::ModelCard> cards_;
};

}  // namespace puna::server
