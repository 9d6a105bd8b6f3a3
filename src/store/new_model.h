// What a model is made of that is put into a store: its layers, which become blobs, and its config.
// Read next: service/create.h, which finds out what they are.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/blob_file.h"
#include "store/layout.h"
#include "store/manifest.h"

namespace puna::store {

// One layer; of its three sources one.
struct NewLayer {
  Layer layer{};
  std::unique_ptr<BlobFile> file{};  // finished
  std::string text{};                // of `is_text`
  bool is_text = false;
  // Neither: a blob that is there already.

  static NewLayer of_text(std::string_view media_type, std::string text);
  static NewLayer of_file(std::string_view media_type, std::unique_ptr<BlobFile> file);
};

struct NewModel {
  ModelName name{};
  ConfigFields config{};
  std::vector<NewLayer> layers{};
};

// "creating new layer sha256:...", "using existing layer sha256:...", "writing manifest".
using OnStatus = std::function<void(const std::string& status)>;

// Puts the model into a store that is prepared: its blobs under their locks, the manifest last.
// What it stood for before under that name is deleted where nobody else needs it. `waiting` is
// called a few times a second while others hold a blob, and may end that with an error. Errors:
// kNotFound for a blob that is to be there and is not; kCorrupt for one of another size; kIo.
base::Result<void> put_model(const Layout& layout, NewModel model, const OnStatus& status,
                             const std::function<base::Result<void>()>& waiting);

}  // namespace puna::store
