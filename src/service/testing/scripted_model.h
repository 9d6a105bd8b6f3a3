// A model for tests that writes one text, with a vocabulary and a chat template: its embeddings are
// the rows of the unit matrix, its layer adds nothing, and its output matrix puts behind each token
// the next of a script.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "io/byte_source.h"
#include "service/model.h"

namespace puna::service::test {

constexpr uint32_t kWide = 64;  // tokens, and columns
constexpr const char* kTokens[] = {"<|go|>",
                                   "<|end|>",
                                   "Sure.",
                                   "<tool_call>",
                                   R"({"name":"weather",)",
                                   R"("arguments":{"city":)",
                                   R"("Rome"}})",
                                   "</tool_call>",
                                   "a"};
constexpr uint32_t kScript[] = {0, 2, 3, 4, 5, 6, 7, 1};

constexpr const char* kTemplate =
    "{% for t in tools or [] %}a{% endfor %}{% for m in messages %}"
    "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function.arguments.city }}{% endfor %}"
    "{% endfor %}<|go|>";

inline formats::ModelFile scripted(const std::string& chat_template) {
  formats::ModelFile file;
  file.name = "scripted";
  std::vector<float> weights;
  const auto matrix = [&](const std::string& name, uint64_t rows, uint64_t columns) {
    formats::Tensor t;
    t.name = name;
    t.shape = {rows, columns};
    t.offset = weights.size() * sizeof(float);
    t.bytes = rows * columns * sizeof(float);
    file.tensors.push_back(t);
    const size_t begin = weights.size();
    weights.resize(begin + rows * columns);
    return begin;
  };
  const auto norm = [&](const std::string& name) {
    const size_t begin = matrix(name, 1, kWide);
    file.tensors.back().shape = {kWide};
    std::fill_n(weights.begin() + static_cast<ptrdiff_t>(begin), kWide, 1.0f);
  };
  const size_t embedding = matrix("token_embd.weight", kWide, kWide);
  for (size_t i = 0; i < kWide; ++i) weights[embedding + i * kWide + i] = 1.0f;
  const size_t output = matrix("output.weight", kWide, kWide);
  for (size_t i = 0; i + 1 < std::size(kScript); ++i)
    weights[output + kScript[i + 1] * kWide + kScript[i]] = 1.0f;
  for (const char* name : {"output_norm.weight", "blk.0.attn_norm.weight", "blk.0.ffn_norm.weight"})
    norm(name);
  for (const char* name :
       {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"})
    matrix("blk.0." + std::string(name) + ".weight", kWide, kWide);

  const auto set = [&](const std::string& key, formats::Value value) {
    file.metadata.emplace_back(key, std::move(value));
  };
  set("general.architecture", std::string("llama"));
  set("llama.block_count", uint64_t{1});
  for (const char* key : {"embedding_length", "feed_forward_length", "context_length"})
    set(std::string("llama.") + key, uint64_t{kWide});
  set("llama.attention.head_count", uint64_t{4});
  set("llama.attention.layer_norm_rms_epsilon", 1e-5);
  set("tokenizer.chat_template", chat_template);

  tokenizer::Vocabulary& v = file.vocabulary;
  v.model = "gpt2";
  v.pre = "gpt-2";
  for (uint32_t i = 0; i < kWide; ++i) {
    const bool named = i < std::size(kTokens);
    v.tokens.push_back(named ? kTokens[i] : "<|" + std::to_string(i) + "|>");
    v.types.push_back(named && i > 1 ? tokenizer::TokenType::kNormal
                                     : tokenizer::TokenType::kControl);
  }
  v.eos = 1;
  v.end_tokens = {1};
  std::vector<std::byte> bytes(weights.size() * sizeof(float));
  std::memcpy(bytes.data(), weights.data(), bytes.size());
  file.sources.push_back(io::from_memory("scripted weights", std::move(bytes)));
  file.index();
  return file;
}

// A file on the CPU.
inline LoadedModel loaded_cpu(formats::ModelFile file, engine::EngineOptions options = {}) {
  options.n_threads = 1;
  auto model =
      base::run_until(load("scripted", std::move(file),
                           {.device = nullptr, .name = "CPU", .why = "test"}, std::move(options)),
                      [] {});
  REQUIRE_MESSAGE(model.has_value(), model.error().text());
  return *std::move(model);
}

inline LoadedModel scripted_model(const std::string& chat_template = kTemplate,
                                  engine::EngineOptions options = {}) {
  return loaded_cpu(scripted(chat_template), std::move(options));
}

}  // namespace puna::service::test
