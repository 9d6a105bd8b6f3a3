// ModelSource: where endpoints find models. One process has one model, or a manager that loads them
// as they are asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/running.h"
#include "api/slot_table.h"
#include "base/result.h"
#include "service/host.h"
#include "service/model.h"

namespace puna::api {

// Names are compared without case, and ":latest" behind one says nothing.
bool same_name(std::string_view a, std::string_view b);

// What does not change while a model is served.
struct ServedModel {
  std::string id;                    // as answers call it: the first of its names in sorted order
  std::vector<std::string> aliases;  // that it is served by, sorted
  std::vector<std::string> tags;
  std::string file_name;         // without folder and ending: a name it answers to as well
  int64_t created = 0;           // seconds since 1970
  std::string path;              // of its file; never shown in an error
  std::string digest;            // SHA-256 of its file as hex digits; empty when it is not known
  uint64_t file_bytes = 0;       // of all its files
  uint32_t n_texts = 1;          // that are written at once (slots)
  std::string slot_folder = {};  // where texts are saved; empty: nowhere
  service::Host* host = nullptr;
  // Whoever offers the model makes these; slots: of n_texts.
  std::shared_ptr<SlotTable> slots = {};
  std::shared_ptr<Running> running = {};

  const service::LoadedModel& loaded() const { return host->model(); }
  bool answers_to(std::string_view name) const;
};

// A model that stays while somebody has this.
using ModelLease = std::shared_ptr<const ServedModel>;

class ModelSource {
 public:
  virtual ~ModelSource() = default;

  // Finds a model by any of its names, loading it if need be; an empty name is the only model,
  // where there is one. `done` is called once, on any thread, before or after this returns. Errors:
  // kNotFound for a name that no model has; those of loading.
  virtual void acquire(std::string_view name,
                       std::function<void(base::Result<ModelLease>)> done) = 0;
  // Those that are loaded, by id.
  virtual std::vector<ModelLease> loaded() const = 0;
};

// The one model of a process.
class OneModel final : public ModelSource {
 public:
  explicit OneModel(ServedModel model);

  void acquire(std::string_view name, std::function<void(base::Result<ModelLease>)> done) override;
  std::vector<ModelLease> loaded() const override { return {model_}; }

 private:
  ModelLease model_;
};

}  // namespace puna::api
