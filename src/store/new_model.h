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

// "creating new layer sha256:...", "using existing layer sha256:...", "writing manifest"; while a
// blob that is there is read through, "verifying existing layer sha256:..." with its bytes, else 0.
using OnStatus =
    std::function<void(const std::string& status, uint64_t done_bytes, uint64_t total_bytes)>;

// Puts the model into a store that is prepared: its blobs under their locks, the manifest last.
// What it stood for before under that name is deleted where nobody else needs it. A blob that is
// there stays where it has the bytes that the layer brings, and is replaced where it is damaged; of
// a layer that brings none only the size is looked at, since reading it would tell of damage that
// nothing here can mend. `waiting` is called a few times a second while others hold a blob or one
// is read, and may end that with an error. Errors: kNotFound for a blob that is to be there and is
// not; kCorrupt for one of another size; kIo.
base::Result<void> put_model(const Layout& layout, NewModel model, const OnStatus& status,
                             const std::function<base::Result<void>()>& waiting);

}  // namespace puna::store
