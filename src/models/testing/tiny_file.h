// A model file that is made in memory, tensor by tensor, of random values: what the tiny models of
// tests are written with.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "formats/model_file.h"
#include "quant/quant.h"

namespace puna::fixtures {

struct TinyShape {
  std::string architecture = "llama";
  uint32_t n_layers = 2, hidden = 64, ffn = 96, n_heads = 4, n_kv_heads = 2, head_dim = 16,
           vocab = 96, context = 256;
  uint32_t seed = 1;
  std::map<std::string, quant::Type> types = {};  // by the end of a tensor's name; others are f32
};

// Wide enough for tiles of matrix units, its products in a type that these take.
inline TinyShape wide_shape() {
  TinyShape out;
  out.hidden = 256;
  out.ffn = 512;
  out.head_dim = 64;
  for (const char* name : {"_q.weight", "_k.weight", "_v.weight", "_output.weight", "_gate.weight",
                           "_up.weight", "_down.weight"}) {
    out.types[name] = quant::Type::kQ8_0;
  }
  return out;
}

class TinyFile {
 public:
  explicit TinyFile(const TinyShape& shape) : shape_(shape), random_(shape.seed) {
    file_.name = "tiny " + shape.architecture;
    file_.metadata.emplace_back("general.architecture", shape.architecture);
    set("block_count", uint64_t{shape.n_layers});
    set("embedding_length", uint64_t{shape.hidden});
    set("context_length", uint64_t{shape.context});
  }

  // The keys of what attends.
  void set_attention() {
    set("feed_forward_length", uint64_t{shape_.ffn});
    set("attention.head_count", uint64_t{shape_.n_heads});
    set("attention.key_length", uint64_t{shape_.head_dim});
    set("attention.value_length", uint64_t{shape_.head_dim});
    set("attention.layer_norm_rms_epsilon", 1e-5);
  }
  // ARCHITECTURE.key.
  void set(const std::string& key, formats::Value value) {
    file_.metadata.emplace_back(shape_.architecture + "." + key, std::move(value));
  }
  void tensor(const std::string& name, std::vector<uint64_t> shape, float mean, float deviation) {
    formats::Tensor t;
    t.name = name;
    t.shape = std::move(shape);
    t.offset = bytes_.size();
    for (const auto& [ending, type] : shape_.types) {
      if (name.ends_with(ending)) t.type = type;
    }
    t.bytes = quant::row_bytes(t.type, t.columns()) * t.rows();
    std::normal_distribution<float> normal(mean, deviation);
    std::vector<float> values(t.rows() * t.columns());
    for (float& v : values) v = normal(random_);
    bytes_.resize(bytes_.size() + t.bytes);
    quant::info(t.type).encode(values.data(), bytes_.data() + t.offset, values.size());
    file_.tensors.push_back(std::move(t));
  }
  void matrix(const std::string& name, uint64_t rows, uint64_t columns) {
    tensor(name, {rows, columns}, 0.0f, 1.0f / std::sqrt(static_cast<float>(columns)));
  }
  void norm(const std::string& name, uint64_t n) { tensor(name, {n}, 1.0f, 0.2f); }

  formats::ModelFile finish() && {
    file_.sources.push_back(io::from_memory("tiny weights", std::move(bytes_)));
    file_.index();
    return std::move(file_);
  }

 private:
  const TinyShape& shape_;
  formats::ModelFile file_;
  std::vector<std::byte> bytes_;
  std::mt19937 random_;
};

}  // namespace puna::fixtures
