#include "formats/tensor_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/task.h"
#include "io/range.h"

namespace puna::formats {

using base::Result;
using base::Task;

Strided::Strided(const RawTensor& tensor, io::ByteSource& source)
    : tensor_(&tensor), source_(&source) {
  if (!tensor.type) {
    fail(fmt::format("has the type {}", tensor.type_name));
    return;
  }
  type_ = *tensor.type;
  uint64_t stride = 1;
  std::vector<uint64_t> shape = tensor.shape.empty() ? std::vector<uint64_t>{1} : tensor.shape;
  shape.back() /= quant::info(type_).block_elements;
  dims_.resize(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    dims_[i] = {shape[i], stride};
    stride *= shape[i];
  }
}

void Strided::fail(std::string problem) {
  if (problem_.empty()) problem_ = std::move(problem);
}

Strided& Strided::split(size_t dim, std::vector<uint64_t> sizes) {
  uint64_t product = 1;
  for (const uint64_t n : sizes) product = n > 0 && product <= UINT64_MAX / n ? product * n : 0;
  if (dim >= dims_.size() || product != dims_[dim].n) {
    fail(fmt::format("cannot be split into {} in dimension {}", fmt::join(sizes, " x "), dim));
    return *this;
  }
  uint64_t stride = dims_[dim].stride;
  std::vector<Dim> parts(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    parts[i] = {sizes[i], stride};
    stride *= sizes[i];
  }
  const auto at = dims_.erase(dims_.begin() + static_cast<std::ptrdiff_t>(dim));
  dims_.insert(at, parts.begin(), parts.end());
  return *this;
}

Strided& Strided::swap(size_t a, size_t b) {
  if (a < dims_.size() && b < dims_.size()) {
    std::swap(dims_[a], dims_[b]);
  } else {
    fail(fmt::format("has too few dimensions to swap {} and {}", a, b));
  }
  return *this;
}

Strided& Strided::slice(size_t dim, uint64_t first, uint64_t n) {
  if (dim >= dims_.size() || first > dims_[dim].n || n > dims_[dim].n - first || n == 0) {
    fail(fmt::format("has no {} items from {} in dimension {}", n, first, dim));
    return *this;
  }
  base_ += first * dims_[dim].stride;
  dims_[dim].n = n;
  return *this;
}

Strided& Strided::every(size_t dim, uint64_t step, uint64_t first) {
  if (dim >= dims_.size() || step == 0 || first >= step || dims_[dim].n % step != 0) {
    fail(fmt::format("has no items in steps of {} in dimension {}", step, dim));
    return *this;
  }
  base_ += first * dims_[dim].stride;
  dims_[dim] = {dims_[dim].n / step, dims_[dim].stride * step};
  return *this;
}

Strided& Strided::times(double factor) {
  factor_ *= static_cast<float>(factor);
  return *this;
}
Strided& Strided::plus(double sum) {
  sum_ += static_cast<float>(sum);
  return *this;
}
Strided& Strided::minus_exp() {
  curve_ = Curve::kMinusExp;
  return *this;
}
Strided& Strided::softplus() {
  curve_ = Curve::kSoftplus;
  return *this;
}

float Strided::changed(float v) const {
  switch (curve_) {
    case Curve::kNone:
      break;
    case Curve::kMinusExp:
      return -std::exp(v);
    case Curve::kSoftplus:
      return std::max(v, 0.0f) + std::log1p(std::exp(-std::abs(v)));
  }
  return v * factor_ + sum_;
}

Result<void> Strided::check() const {
  std::string problem = problem_;
  if (problem.empty() && changes() && quant::info(type_).block_elements > 1)
    problem = fmt::format("has the type {}, whose values cannot be scaled", tensor_->type_name);
  if (problem.empty()) return {};
  return base::fail(tensor_->type ? base::ErrorCode::kCorrupt : base::ErrorCode::kUnsupported,
                    fmt::format("Tensor \"{}\" of shape [{}] {}.", tensor_->name,
                                fmt::join(tensor_->shape, ", "), problem));
}

uint64_t Strided::elements() const {
  uint64_t n = quant::info(type_).block_elements;
  for (const Dim& dim : dims_) n *= dim.n;
  return n;
}

std::optional<Strided::Range> Strided::range() const {
  uint64_t stride = 1;
  for (size_t i = dims_.size(); i-- > 0;) {
    if (dims_[i].n != 1 && dims_[i].stride != stride) return std::nullopt;
    stride *= dims_[i].n;
  }
  if (changes()) return std::nullopt;
  const uint64_t atom = quant::info(type_).block_bytes;
  return Range{tensor_->offset + base_ * atom, stride * atom};
}

struct ViewTile {
  const void* owner = nullptr;
  uint64_t number = 0;
  std::vector<std::byte> bytes;
};
std::shared_ptr<ViewTile> make_view_tile() { return std::make_shared<ViewTile>(); }

// A part is read tile by tile: a tile is a stretch of the source, of about a megabyte, whose
// elements are some in a row of the view. Where the innermost elements lie apart (a transposed
// matrix) it is the whole part.
class ViewSource final : public io::ByteSource {
 public:
  ViewSource(std::string name, std::vector<Strided> parts, quant::Type to,
             std::shared_ptr<ViewTile> tile)
      : name_(std::move(name)), to_(quant::info(to)), tile_(std::move(tile)) {
    for (Strided& strided : parts) {
      Part part{std::move(strided), {}, 0, 0, 0, 0, size_};
      part.offset = part.view.tensor_->offset;
      part.view.tensor_ = nullptr;  // it may go before this
      lay_out(part);
      size_ += part.n_atoms * to_.block_bytes;
      parts_.push_back(std::move(part));
    }
  }

  uint64_t size() const override { return size_; }
  const std::string& name() const override { return name_; }
  void read(uint64_t offset, std::span<std::byte> out, io::ReadDone done) override {
    base::deliver(read_range(offset, out), std::move(done));
  }

 private:
  struct Part {
    Strided view;
    std::vector<Strided::Dim> dims;  // merged where they can be
    uint64_t offset;                 // of the tensor in its source
    size_t tile_level;               // dims from here on are one tile
    uint64_t tile_atoms;             // of the view
    uint64_t n_atoms;
    uint64_t begin;  // bytes of the view before it
  };

  static constexpr uint64_t kTileBytes = uint64_t{1} << 20;

  static uint64_t atom_bytes(const Part& part) { return quant::info(part.view.type_).block_bytes; }
  static uint64_t span_of(const Part& part, size_t level) {
    uint64_t span = 1;
    for (size_t i = level; i < part.dims.size(); ++i)
      span += (part.dims[i].n - 1) * part.dims[i].stride;
    return span;
  }

  static void lay_out(Part& part) {
    for (const Strided::Dim& dim : part.view.dims_) {
      if (dim.n == 1) continue;
      if (!part.dims.empty() && part.dims.back().stride == dim.n * dim.stride) {
        part.dims.back() = {part.dims.back().n * dim.n, dim.stride};
      } else {
        part.dims.push_back(dim);
      }
    }
    if (part.dims.empty()) part.dims.push_back({1, 1});
    part.n_atoms = 1;
    for (const Strided::Dim& dim : part.dims) part.n_atoms *= dim.n;
    part.tile_level = 0;
    if (part.dims.back().stride == 1) {
      const size_t innermost = part.dims.size() - 1;
      while (part.tile_level < innermost &&
             span_of(part, part.tile_level) * atom_bytes(part) > kTileBytes)
        ++part.tile_level;
    }
    part.tile_atoms = 1;
    for (size_t i = part.tile_level; i < part.dims.size(); ++i) part.tile_atoms *= part.dims[i].n;
  }

  Task<Result<void>> read_range(uint64_t offset, std::span<std::byte> out) {
    PUNA_CO_TRY(io::check_range(*this, offset, out.size()));
    for (const Part& part : parts_) {
      if (out.empty()) break;
      const uint64_t bytes = part.n_atoms * to_.block_bytes;
      if (offset >= part.begin + bytes) continue;
      const uint64_t at = offset - part.begin;
      const auto n = static_cast<size_t>(std::min<uint64_t>(bytes - at, out.size()));
      auto reading = read_part(part, at, out.first(n));
      PUNA_CO_TRY(co_await std::move(reading));
      offset += n;
      out = out.subspan(n);
    }
    co_return {};
  }

  // Bytes that begin or end within an atom are made as a whole and cut.
  Task<Result<void>> read_part(const Part& part, uint64_t at, std::span<std::byte> out) {
    const uint64_t atom = to_.block_bytes;
    const uint64_t first = at / atom, end = (at + out.size() + atom - 1) / atom;
    if (at % atom == 0 && out.size() % atom == 0) {
      auto reading = read_atoms(part, first, out);
      co_return co_await std::move(reading);
    }
    std::vector<std::byte> whole(static_cast<size_t>((end - first) * atom));
    auto reading = read_atoms(part, first, whole);
    PUNA_CO_TRY(co_await std::move(reading));
    std::memcpy(out.data(), whole.data() + at % atom, out.size());
    co_return {};
  }

  Task<Result<void>> read_atoms(const Part& part, uint64_t first, std::span<std::byte> out) {
    const uint64_t n = out.size() / to_.block_bytes;
    const uint64_t tile_bytes = span_of(part, part.tile_level) * atom_bytes(part);
    for (uint64_t done = 0; done < n;) {
      const uint64_t tile = (first + done) / part.tile_atoms;
      const uint64_t within = (first + done) % part.tile_atoms;
      const uint64_t count = std::min(n - done, part.tile_atoms - within);
      const auto piece = out.subspan(static_cast<size_t>(done * to_.block_bytes),
                                     static_cast<size_t>(count * to_.block_bytes));
      uint64_t source = part.view.base_, rest = tile;
      for (size_t i = part.tile_level; i-- > 0;) {
        source += rest % part.dims[i].n * part.dims[i].stride;
        rest /= part.dims[i].n;
      }
      if (part.tile_level + 1 == part.dims.size() && part.dims.back().stride == 1) {
        auto reading = read_run(part, source + within, piece);
        PUNA_CO_TRY(co_await std::move(reading));
      } else {
        // Taken out of the shared place while it is filled, in case another read comes between.
        const uint64_t number = part.begin + tile;
        std::vector<std::byte> bytes;
        const bool kept = tile_->owner == this && tile_->number == number;
        std::swap(bytes, tile_->bytes);
        tile_->owner = nullptr;
        if (!kept) {
          PUNA_CO_TRY(resize(bytes, tile_bytes));
          auto reading =
              io::read(*part.view.source_, part.offset + source * atom_bytes(part), bytes);
          PUNA_CO_TRY(co_await std::move(reading));
        }
        gather(part, bytes, within, piece);
        *tile_ = {this, number, std::move(bytes)};
      }
      done += count;
    }
    co_return {};
  }

  static Result<void> resize(std::vector<std::byte>& bytes, uint64_t n) {
    if (n > SIZE_MAX / 2) {
      return base::fail(base::ErrorCode::kOutOfMemory,
                        fmt::format("There is no memory for {} bytes of a tensor.", n));
    }
    bytes.resize(static_cast<size_t>(n));
    return {};
  }

  // Atoms that lie in a row.
  Task<Result<void>> read_run(const Part& part, uint64_t source, std::span<std::byte> out) {
    const uint64_t atom = atom_bytes(part);
    const uint64_t offset = part.offset + source * atom;
    if (is_copy(part)) {
      auto reading = io::read(*part.view.source_, offset, out);
      co_return co_await std::move(reading);
    }
    const uint64_t n = out.size() / to_.block_bytes;
    std::vector<std::byte> bytes(static_cast<size_t>(n * atom));
    auto reading = io::read(*part.view.source_, offset, bytes);
    PUNA_CO_TRY(co_await std::move(reading));
    convert(part, bytes.data(), static_cast<size_t>(n), out.data());
    co_return {};
  }

  bool is_copy(const Part& part) const {
    return part.view.type_ == to_.type && !part.view.changes();
  }

  void gather(const Part& part, std::span<const std::byte> tile, uint64_t within,
              std::span<std::byte> out) const {
    const uint64_t atom = atom_bytes(part);
    const Strided::Dim inner = part.dims.back();
    std::byte* to = out.data();
    for (uint64_t n = out.size() / to_.block_bytes; n > 0;) {
      uint64_t rest = within / inner.n, at = within % inner.n * inner.stride;
      for (size_t i = part.dims.size() - 1; i-- > part.tile_level;) {
        at += rest % part.dims[i].n * part.dims[i].stride;
        rest /= part.dims[i].n;
      }
      const uint64_t run = std::min(n, inner.n - within % inner.n);
      if (inner.stride == 1) {
        put(part, tile.data() + at * atom, run, to);
      } else {
        for (uint64_t i = 0; i < run; ++i)
          put(part, tile.data() + (at + i * inner.stride) * atom, 1, to + i * to_.block_bytes);
      }
      to += run * to_.block_bytes;
      within += run;
      n -= run;
    }
  }

  void put(const Part& part, const std::byte* from, uint64_t n, std::byte* to) const {
    if (is_copy(part)) {
      std::memcpy(to, from, static_cast<size_t>(n * to_.block_bytes));
    } else {
      convert(part, from, static_cast<size_t>(n), to);
    }
  }

  void convert(const Part& part, const std::byte* from, size_t n, std::byte* to) const {
    constexpr size_t kSome = 256;
    float values[kSome];
    const quant::TypeInfo& type = quant::info(part.view.type_);
    for (size_t done = 0; done < n; done += kSome) {
      const size_t count = std::min(kSome, n - done);
      type.decode(from + done * type.block_bytes, values, count);
      for (float& v : std::span(values, count)) v = part.view.changed(v);
      to_.encode(values, to + done * to_.block_bytes, count);
    }
  }

  std::string name_;
  std::vector<Part> parts_;
  const quant::TypeInfo& to_;
  std::shared_ptr<ViewTile> tile_;
  uint64_t size_ = 0;
};

std::unique_ptr<io::ByteSource> make_view(std::string name, std::vector<Strided> parts,
                                          quant::Type to, std::shared_ptr<ViewTile> tile) {
  return std::make_unique<ViewSource>(std::move(name), std::move(parts), to, std::move(tile));
}

}  // namespace puna::formats
