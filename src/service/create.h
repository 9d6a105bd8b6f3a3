// Makes a model of the store: of a GGUF file, a folder of weights or another model, and of what a
// Modelfile says beside. Read next: weight_source.h, store/new_model.h.
#pragma once

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "service/work.h"
#include "store/modelfile.h"
#include "store/store.h"

namespace puna::service {

struct CreateRequest {
  std::string name{};
  // `from`: a model of the store or, with `paths`, a file or folder, ~ and relative ones too.
  store::Modelfile modelfile{};
  bool paths = false;
  std::string folder{};  // in which relative paths begin
  // In place of `from`: blobs that lie in the store, by the names that they have as files of a
  // model.
  std::vector<std::pair<std::string, store::Digest>> files{};
  std::string quantize{};  // what most matrices become (quantize_type.h); empty: what they are
  int n_threads = 0;       // to quantize with; 0: one per physical core
};

struct CreateOptions {
  OnWork progress{};
  const std::atomic<bool>* cancel = nullptr;
  // How `from` is fetched where it has to be.
  store::PullOptions pull{};
};

// What is not said is as the other model has it; parameters are added to its own, licenses too. All
// of it is checked before anything is written under the name. The last status is "success". Errors:
// kInvalidArgument (names, templates, files that are no model), kUsage (the type), kNotFound (what
// it is made from), kUnsupported, kCorrupt, kCancelled, kIo; those of pulling.
base::Result<void> create(const store::Store& store, const CreateRequest& request,
                          const CreateOptions& options);

}  // namespace puna::service
