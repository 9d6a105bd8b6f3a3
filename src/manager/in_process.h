// Models that run in this process: each has its engine, a device of its own on the GPU that they
// share, and a thread (service/host_thread.h). A child process (children.h) has one. Read next:
// remembered.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/model_file.h"
#include "manager/instance.h"
#include "service/open.h"

namespace puna::manager {

// How a model is loaded.
struct Recipe {
  service::OpenOptions options{};  // but for the model
  // Changes them to what the file is that `name` stands for: how much room texts have, and which
  // encoder is beside it. Errors end the load.
  std::function<base::Result<void>(const std::string& name, const formats::ModelFile& file,
                                   service::OpenOptions& options)>
      fit{};
  // What requests mean where they say nothing, and the like. Errors end the load.
  std::function<base::Result<void>(service::LoadedModel& model)> finish{};
  bool asks_for_room = false;  // somebody said how many tokens texts have room for
  uint32_t n_texts = 1;        // that are written at once, by each copy
  // Copies, each whole on a GPU of its own (service/replicas.h); none: on each that has room.
  std::optional<uint32_t> n_replicas = 1;
  std::string slot_folder{};
};

class InProcess final : public Loader {
 public:
  using RecipeOf = std::function<base::Result<Recipe>(const Entry& entry)>;
  explicit InProcess(RecipeOf recipe_of) : recipe_of_(std::move(recipe_of)) {}

  // What is left is the file, with its recipe. Of copies whose number nobody says, the first alone
  // has to have room; the others are where they find some.
  base::Result<Measured> measure(const Entry& entry, const std::atomic<bool>& cancel) override;
  // With step_down, where memory is refused, once more with a shorter context, and once more on
  // the CPU, as far as these were not asked for.
  base::Result<std::unique_ptr<Instance>> load(const Entry& entry, Order order) override;

 private:
  struct Reading;  // a model whose file is open, with how it is to be loaded
  base::Result<Reading> read(const Entry& entry) const;
  // What --device means.
  struct Device {
    std::vector<std::string> gpus{};  // as service::DeviceUse has them; none: it is the CPU
    gpu::DeviceInfo info{};
  };
  base::Result<const Device*> device_of(const service::OpenOptions& options);

  const RecipeOf recipe_of_;
  std::map<std::string, Device> devices_;  // by what was asked for
};

}  // namespace puna::manager
