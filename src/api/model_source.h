// ModelSource: where endpoints find models. One process has one model, or a manager that loads them
// as they are asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/model_facts.h"
#include "api/running.h"
#include "api/slot_table.h"
#include "api/store_source.h"
#include "base/json.h"
#include "base/result.h"
#include "service/hosts.h"
#include "service/model.h"
#include "service/takes.h"

namespace puna::api {

// Names are compared without case, and ":latest" behind one says nothing.
bool same_name(std::string_view a, std::string_view b);

// A model that runs in another process, which answers requests for it over HTTP. Any thread.
class RemoteModel {
 public:
  virtual ~RemoteModel() = default;
  // The path of the Unix socket on which it answers.
  virtual const std::string& socket() const = 0;
  virtual const ModelFacts& facts() const = 0;
  // What GET /props says of it (llama/props.h).
  virtual const base::Json& props() const = 0;
  // As it was last told of, which is about a second ago.
  virtual service::HostStatus status() const = 0;
};

// What does not change while a model is served. It has hosts, or runs elsewhere.
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
  std::shared_ptr<service::Hosts> hosts = {};  // null: it is `remote`
  std::shared_ptr<const RemoteModel> remote = {};
  // Made by make_shared_parts().
  std::shared_ptr<SlotTable> slots = {};
  std::shared_ptr<Running> running = {};

  // Of one that has hosts.
  const service::LoadedModel& loaded() const { return hosts->model(); }
  ModelFacts facts() const { return hosts ? facts_of(hosts->model()) : remote->facts(); }
  service::HostStatus status() const { return hosts ? hosts->status() : remote->status(); }
  bool answers_to(std::string_view name) const;
  // What requests for it share, of which whoever offers the model makes one.
  void make_shared_parts();
};

// A model that stays while somebody has this.
using ModelLease = std::shared_ptr<const ServedModel>;

// How a request wants a model.
struct ModelWish {
  std::string name{};                  // any of its names; empty: the only one
  std::optional<bool> autoload{};      // where it is not loaded; none: as the server was started
  bool use = true;                     // false: it is only looked at, which keeps it no longer
  std::optional<double> keep_alive{};  // seconds that it is to stay afterwards; below 0: for ever,
                                       // 0: it goes when it is idle; none: as is usual
};

enum class ModelState : uint8_t { kUnloaded, kDownloading, kLoading, kLoaded, kSleeping };
// "unloaded", "downloading", ...
std::string_view name_of(ModelState state);

// How much of a file has been fetched, in bytes; a total of 0 is not known yet.
struct FileProgress {
  uint64_t done = 0, total = 0;
  bool operator==(const FileProgress&) const = default;
};
// By what a file is called where it comes from.
using FilesProgress = std::map<std::string, FileProgress>;

// What is known of a model, whether it is loaded or not.
struct ModelStatus {
  std::string id{};
  std::vector<std::string> aliases{}, tags{};
  ModelState state = ModelState::kLoaded;
  std::string error{};   // why it could not be loaded the last time; empty: it could
  int64_t created = 0;   // seconds since 1970
  std::string digest{};  // as ServedModel has it
  std::string source{};  // who keeps it: "puna", "ollama", "preset"; empty: nobody says
  std::string preset{};  // what is set for it alone, as lines "flag = value"
  ModelLease model{};    // where it is loaded
  // What it was when it went to sleep, until it is loaded again: its facts, which answer nothing.
  ModelLease asleep{};
  std::optional<service::Takes> takes{};  // where it is not; none: nobody has looked
  std::optional<double> seconds_left{};   // until it goes, if nobody comes; none: it stays
  uint64_t n_loads = 0, n_evictions = 0;
  std::map<std::string, uint64_t, std::less<>> held{};  // bytes, by device ("host", a GPU's name)
  FilesProgress files{};                                // while it is being downloaded
};

// Something has become of a model, or of the list of them.
struct ModelEvent {
  enum class Kind : uint8_t {
    kState,
    kFetching,    // `files` are another
    kFetched,     // it is among the models now
    kNotFetched,  // for `error`
    kRemoved,
    kOtherModels,  // which there are; no `id`
  };
  Kind kind = Kind::kState;
  std::string id{};
  ModelState state = ModelState::kUnloaded;
  std::string error{};  // why loading failed; empty: it did not
  FilesProgress files{};
};

// Models that come and go. Any thread.
class ModelControl {
 public:
  virtual ~ModelControl() = default;

  // Looks at which there are now; reads files.
  virtual void renew() = 0;
  // Begins to load a model, by any of its names. Errors: kNotFound; kInvalidArgument for one that
  // is loaded, or being loaded.
  virtual base::Result<void> load(std::string_view name) = 0;
  // It goes when it is idle; one that is being downloaded comes no more. Errors: kNotFound;
  // kInvalidArgument for one that is neither loaded nor on its way.
  virtual base::Result<void> unload(std::string_view name) = 0;
  // Begins to fetch what the store calls `stored_as`; until it is there it is called `name`.
  // Errors: kInvalidArgument for no name, and for a model that is here or on its way; kOutOfMemory
  // where too many are; kUnsupported where none can be.
  virtual base::Result<void> download(std::string_view name, std::string_view stored_as) = 0;
  // Deletes a model from Puna's store; one that is loaded goes when it is idle. Errors: kNotFound;
  // kInvalidArgument for one that others keep.
  virtual base::Result<void> remove(std::string_view name) = 0;
  // `told` is called, on any thread, until the handle is dropped.
  virtual std::shared_ptr<void> listen(std::function<void(const ModelEvent&)> told) = 0;
  // How many may be loaded at once; 0: as many as fit.
  virtual size_t most_loaded() const = 0;
  virtual bool autoload() const = 0;
};

class ModelSource {
 public:
  virtual ~ModelSource() = default;

  // Finds a model, loading it if need be. `done` is called once, on any thread, before or after
  // this returns; who drops the handle waits no longer, and then it may never be. Errors: kNotFound
  // for a name that no model has; kInvalidArgument for none where there are several, and for a
  // model that is not to be loaded; kOutOfMemory where too many wait; those of loading, of which
  // those that are of the model's file and settings are kSetUp.
  virtual std::shared_ptr<void> acquire(const ModelWish& wish,
                                        std::function<void(base::Result<ModelLease>)> done) = 0;
  // Those that are loaded, by id.
  virtual std::vector<ModelLease> loaded() const = 0;
  // All that are known, by id.
  virtual std::vector<ModelStatus> list() const;
  // What a model says of itself that is not loaded: its file is read. Errors: kNotFound; those of
  // opening it.
  virtual base::Result<ShownModel> show(std::string_view name) const;
  // Whether its models run in other processes: then nothing but their names is read of requests.
  virtual bool is_remote() const { return false; }
  // Null: models do not come and go.
  virtual ModelControl* control() const { return nullptr; }
};

// {FILE: {"done", "total"}, ...}
base::Json files_json(const FilesProgress& files);

// The one model of a process.
class OneModel final : public ModelSource {
 public:
  explicit OneModel(ServedModel model);

  std::shared_ptr<void> acquire(const ModelWish& wish,
                                std::function<void(base::Result<ModelLease>)> done) override;
  std::vector<ModelLease> loaded() const override { return {model_}; }

 private:
  ModelLease model_;
};

}  // namespace puna::api
