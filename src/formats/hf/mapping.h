// The words that families.h is written in: what config.json and the tensors of a Hugging Face
// folder are called in GGUF, and how GGUF wants them to lie. Read next: families.h, llama.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/hf/config.h"
#include "formats/model_file.h"
#include "formats/tensor_view.h"

namespace puna::formats::hf {

// A key of config.json and what GGUF calls it, behind the architecture's name.
struct Key {
  std::string_view hf, gguf;
  enum class Kind : uint8_t { kCount, kReal, kFlag } kind = Kind::kCount;
  bool required = true;
};

// How a tensor's values or rows differ from the folder's.
enum class How : uint8_t {
  kSame,
  kPlusOne,   // norm weights that are stored as what is added to 1
  kPairsQ,    // rows of q: rotary pairs half a head apart become neighbours
  kPairsK,    // as kPairsQ, of k
  kMinusExp,  // A = -exp(A_log)
  kSoftplus,  // log(1 + exp(x))
  kSqueeze,   // [channels, 1, taps] -> [channels, taps]
};

// A module of a layer ("self_attn.q_proj") and what GGUF calls it ("attn_q"); ".weight" and ".bias"
// follow both names.
struct Rename {
  std::string_view hf, gguf;
  How how = How::kSame;
};

class Mapping {
 public:
  Mapping(std::string name, std::string architecture, Config config, RawModel raw);

  const Config& config() const { return config_; }
  Config& config() { return config_; }
  const std::string& architecture() const { return architecture_; }
  // Reads on as if config.json said so, where it has no such key.
  void assume(std::string_view key, base::Json value);

  // Metadata. set() puts the architecture's name before the key. Reals are rounded to f32, which
  // is what a file holds.
  void set(std::string_view key, Value value);
  void set_general(std::string key, Value value);
  base::Result<void> copy(std::span<const Key> keys);

  // Sizes that most families need; 0 where config.json does not say.
  base::Result<void> read_sizes();
  uint32_t n_layers = 0;
  uint64_t hidden = 0, n_heads = 0, n_kv_heads = 0, head_dim = 0;

  // The folder's tensor, counted as used; nullptr when there is none.
  const RawTensor* find(const std::string& name);
  // Errors: kNotFound naming it.
  base::Result<Strided> view(const std::string& name);

  // A tensor of the model: `parts` one after the other. Errors: those of Strided::check, and
  // kCorrupt when they do not fill the shape.
  base::Result<void> put(std::string name, std::vector<Strided> parts, std::vector<uint64_t> shape);
  // A tensor of f32 values that config.json gives.
  void put_values(std::string name, std::vector<float> values);
  // The folder's tensor `hf` as `gguf`, if it is there.
  base::Result<void> rename(const std::string& hf, std::string gguf, How how = How::kSame);
  // All of a layer's modules, where they are there: hf_prefix + hf + ".weight" and so on.
  base::Result<void> rename_layer(uint32_t layer, const std::string& hf_prefix,
                                  std::span<const Rename> renames);
  // Tensors [n_experts] of "PREFIX.<expert>.SUFFIX" as one, stacked.
  base::Result<void> stack_experts(const std::string& hf_prefix, const std::string& suffix,
                                   uint64_t n_experts, std::string gguf);
  // Tensors that begin so are left out on purpose.
  void ignore(std::string_view prefix);

  // The model, of the tensors put. Errors: kUnsupported naming a tensor that nothing was made of.
  base::Result<ModelFile> finish();

 private:
  std::string name_;
  std::string architecture_;
  Config config_;
  RawModel raw_;
  std::vector<bool> used_;
  std::vector<std::pair<uint64_t, uint32_t>> index_;  // (hash of name, position), sorted
  std::shared_ptr<ViewTile> tile_ = make_view_tile();
  ModelFile file_;
};

// "blk.3." + part
std::string layer_name(uint32_t layer, std::string_view part);

}  // namespace puna::formats::hf
