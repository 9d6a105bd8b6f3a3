#include "service/model_card.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "chat/go_template.h"
#include "chat/parsers.h"
#include "quant/mix.h"
#include "service/abilities.h"

namespace puna::service {

using base::Result;
using formats::ModelFile;

namespace {

// What the marks of filling in between are called, of the vocabularies that have such.
constexpr std::string_view kBetween[] = {"<|fim_middle|>", "<fim-middle>", "<fim_middle>",
                                         "<MID>",          "▁<MID>",       "<｜fim▁end｜>",
                                         "<|code_middle|>"};

bool fills_in(const ModelFile& file) {
  if (file.find("tokenizer.ggml.fim_mid_token_id")) return true;
  const std::vector<std::string>& tokens = file.vocabulary.tokens;
  return std::ranges::any_of(tokens, [](const std::string& token) {
    return std::ranges::find(kBetween, token) != std::end(kBetween);
  });
}

std::vector<std::string> capabilities_of(const ModelFile& file,
                                         const chat::Template* chat_template) {
  // A file that says how embeddings are made is of a model that gives nothing else.
  if (number_of(file, "pooling_type") > 0) return {"embedding"};
  std::vector<std::string> out = {"completion"};
  if (fills_in(file)) out.emplace_back("insert");
  if (!chat_template) return out;
  const Abilities abilities = find_abilities(*chat_template);
  if (abilities.tools) out.emplace_back("tools");
  if (abilities.thinking || !chat::reply_style(chat_template->source()).thinking.empty())
    out.emplace_back("thinking");
  return out;
}

}  // namespace

ModelCard card_of(const ModelFile& file, const chat::Template* chat_template) {
  return {.format = format_of(file),
          .family = file.get_string("general.architecture", "").value_or(""),
          .n_parameters = n_parameters(file),
          .file_type = file_type_of(file),
          .context = number_of(file, "context_length"),
          .embedding = number_of(file, "embedding_length"),
          .capabilities = capabilities_of(file, chat_template)};
}

uint64_t n_parameters(const ModelFile& file) {
  uint64_t out = 0;
  for (const formats::Tensor& tensor : file.tensors) out += tensor.rows() * tensor.columns();
  return out;
}

std::string parameter_size(uint64_t n_parameters) {
  const auto n = static_cast<double>(n_parameters);
  if (n >= 1e9) return fmt::format("{:.1f}B", n / 1e9);
  if (n >= 1e6) return fmt::format("{:.2f}M", n / 1e6);
  return n >= 1e3 ? fmt::format("{:.0f}K", n / 1e3) : fmt::to_string(n_parameters);
}

std::string file_type_of(const ModelFile& file) {
  const auto number = file.get_uint("general.file_type");
  if (!number) return {};
  const auto found = std::ranges::find(quant::mixes(), *number, &quant::Mix::gguf_file_type);
  if (found == quant::mixes().end()) return {};
  std::string out(found->name);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return out;
}

std::string format_of(const ModelFile& file) {
  return file.stored_metadata.empty() ? "safetensors" : "gguf";
}

uint64_t number_of(const ModelFile& file, std::string_view key) {
  const std::string architecture = file.get_string("general.architecture", "").value_or("");
  return file.get_uint(fmt::format("{}.{}", architecture, key), 0).value_or(0);
}

Result<chat::Template> any_template(std::string text) {
  if (text.contains("{%")) return chat::Template::parse(std::move(text));
  PUNA_TRY(std::string translated, chat::from_go_template(text));
  return chat::Template::parse(std::move(translated));
}

}  // namespace puna::service
