// ModelFile: what every container is turned into. Metadata, tensors (where their bytes lie),
// vocabulary. Read next: gguf.h, open.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "formats/value.h"
#include "io/byte_source.h"
#include "quant/quant.h"
#include "tokenizer/vocabulary.h"

namespace puna::formats {

struct Tensor {
  std::string name;
  quant::Type type = quant::Type::kF32;
  // A tensor that cannot be used can be listed; its bytes are 0, and whoever needs it refuses with
  // unusable(). Either its type is not supported, and this is the file's id of it ...
  std::optional<uint32_t> unknown_type;
  // ... or its shape is none that its type can have: "has rows of 48 elements, ...".
  std::string problem;
  std::vector<uint64_t> shape;  // outermost first, as NumPy: [rows, columns]; the last is
                                // contiguous (columns = reduction)
  uint32_t source = 0;          // index into ModelFile::sources
  uint64_t offset = 0;          // bytes from the start of that source
  uint64_t bytes = 0;

  uint64_t columns() const { return shape.empty() ? 1 : shape.back(); }
  uint64_t rows() const;          // product of all but the last dimension
  std::string type_name() const;  // lower case as quant's; "q8_1" or "type 77" when unknown
  bool usable() const { return !unknown_type && problem.empty(); }
  base::Error unusable() const;
};

// Where bytes lie in a source.
struct Extent {
  uint64_t offset = 0, bytes = 0;
};

struct ModelFile {
  ModelFile() = default;
  ModelFile(ModelFile&&) = default;  // move-only: it owns its sources
  ModelFile& operator=(ModelFile&&) = default;

  std::string name;  // for messages: the path it was opened from
  std::vector<std::pair<std::string, Value>>
      metadata;                 // in file order, without the vocabulary's big arrays
  std::vector<Tensor> tensors;  // in file order; names are unique
  std::vector<std::unique_ptr<io::ByteSource>> sources;  // one per part of a split file
  tokenizer::Vocabulary vocabulary;
  // Why there is no vocabulary although the file has one; an error only for who needs it.
  std::optional<base::Error> vocabulary_error;
  // Each metadata pair of a GGUF file, key and value, as it stands in sources[0]: who writes the
  // model again copies them, for a Value does not keep every kind. Empty for other containers.
  std::vector<Extent> stored_metadata;
  std::vector<std::string> paths;  // every file it was read from, where that is known

  const Value* find(std::string_view key) const;
  const Tensor* find_tensor(
      std::string_view tensor_name) const;  // by hash, not by walking the list

  // Checked getters, see value.h. Errors: kNotFound naming the key; kCorrupt when the value has
  // another kind or does not fit.
  base::Result<std::string> get_string(std::string_view key) const;
  base::Result<uint64_t> get_uint(std::string_view key) const;
  base::Result<double> get_float(std::string_view key) const;
  base::Result<bool> get_bool(std::string_view key) const;
  // As above, but a missing key gives `otherwise`; a value that does not fit is still an error.
  base::Result<std::string> get_string(std::string_view key, std::string_view otherwise) const;
  base::Result<uint64_t> get_uint(std::string_view key, uint64_t otherwise) const;
  base::Result<double> get_float(std::string_view key, double otherwise) const;
  base::Result<bool> get_bool(std::string_view key, bool otherwise) const;

  // To be called once tensors are complete; builds the name index.
  void index();

 private:
  std::vector<std::pair<uint64_t, uint32_t>> tensor_index_;  // (hash of name, position), sorted
};

}  // namespace puna::formats
