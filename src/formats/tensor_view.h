// Tensors seen in another order than a file has them, computed as they are read: rows permuted,
// parts cut out or stacked, dimensions swapped, values scaled. Nothing is held but one tile.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/raw_tensor.h"

namespace puna::formats {

// The elements of one tensor by strides, as NumPy's views. Rows of block types are counted in
// blocks, so their last dimension can be sliced by whole blocks only. A step that does not fit the
// shape is remembered and reported by check().
class Strided {
 public:
  // `source` outlives what is made of this.
  Strided(const RawTensor& tensor, io::ByteSource& source);

  // Dimension `dim` becomes several whose product it is.
  Strided& split(size_t dim, std::vector<uint64_t> sizes);
  Strided& swap(size_t a, size_t b);
  // `n` of dimension `dim` from `first` on.
  Strided& slice(size_t dim, uint64_t first, uint64_t n);
  // Every `step`th of dimension `dim` from `first` on.
  Strided& every(size_t dim, uint64_t step, uint64_t first);
  // Values become factor * x + sum, or -exp(x), or log(1 + exp(x)); of float types only.
  Strided& times(double factor);
  Strided& plus(double sum);
  Strided& minus_exp();
  Strided& softplus();

  const RawTensor& tensor() const { return *tensor_; }
  // Errors: kCorrupt naming the tensor, its shape and the step that does not fit.
  base::Result<void> check() const;
  uint64_t elements() const;
  // The bytes of the tensor that this is, when it is some in a row and unchanged.
  struct Range {
    uint64_t offset, bytes;
  };
  std::optional<Range> range() const;

 private:
  friend class ViewSource;
  struct Dim {
    uint64_t n, stride;  // in atoms: elements of float types, blocks of others
  };
  void fail(std::string problem);
  enum class Curve : uint8_t { kNone, kMinusExp, kSoftplus };
  bool changes() const { return factor_ != 1 || sum_ != 0 || curve_ != Curve::kNone; }
  float changed(float v) const;

  const RawTensor* tensor_;
  io::ByteSource* source_;
  quant::Type type_ = quant::Type::kF32;
  std::vector<Dim> dims_;  // outermost first; no empty list
  uint64_t base_ = 0;      // atoms
  float factor_ = 1, sum_ = 0;
  Curve curve_ = Curve::kNone;
  std::string problem_;
};

// The last tile that any of the views sharing this has read.
struct ViewTile;
std::shared_ptr<ViewTile> make_view_tile();

// `parts`, one after the other, as values of type `to`: f32, f16, bf16, or the type that all parts
// have. To be called with parts that pass check(), of float types where `to` is another.
std::unique_ptr<io::ByteSource> make_view(std::string name, std::vector<Strided> parts,
                                          quant::Type to, std::shared_ptr<ViewTile> tile);

}  // namespace puna::formats
