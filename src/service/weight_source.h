// Where the weights of a new model come from: what `FROM` names, opened, and how each of its files
// becomes a blob.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "formats/model_file.h"
#include "service/create.h"
#include "store/new_model.h"

namespace puna::service {

struct WeightFile {
  std::string path{};
  // Where its bytes are known to be those of a blob; it may be of Puna's own store, or of another.
  std::optional<store::Layer> layer{};
  bool is_own = false;  // the blob lies in the store already
};

// Makes folders that are links to blobs, and deletes them.
class LinkFolder {
 public:
  static base::Result<LinkFolder> create(
      const store::Layout& layout, const std::vector<std::pair<std::string, store::Digest>>& files);
  LinkFolder(LinkFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  LinkFolder& operator=(LinkFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~LinkFolder();
  const std::string& path() const { return path_; }

 private:
  explicit LinkFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

struct WeightSource {
  std::optional<LinkFolder> links{};
  formats::ModelFile model{};
  std::vector<WeightFile> parts{};              // of the model; of a folder of weights none
  std::vector<WeightFile> projectors{};         // beside it
  std::optional<formats::ModelFile> encoder{};  // of a folder of weights; written as a projector
  store::Modelfile said{};                      // by the model that it is made from
};

// Errors: those of create().
base::Result<WeightSource> find_weights(const store::Store& store, const CreateRequest& request,
                                        const CreateOptions& options);

}  // namespace puna::service
