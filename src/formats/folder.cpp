#include "formats/folder.h"

#include <fmt/format.h>

#include <map>

#include "base/log.h"
#include "formats/gguf_vocabulary.h"
#include "formats/hf_folder.h"
#include "formats/hf_tokenizer.h"
#include "formats/lfs_pointer.h"
#include "formats/mlc.h"
#include "formats/world_vocabulary.h"
#include "quant/mix.h"

namespace puna::formats {

using base::ErrorCode;
using base::Result;
using base::Task;

namespace {

constexpr uint64_t kMaxTextBytes = uint64_t{512} << 20;

std::string last_part(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

void append(ModelFile& file, std::string key, Value value) {
  if (!file.find(key)) file.metadata.emplace_back(std::move(key), std::move(value));
}

// The type that most bytes have, as GGUF numbers mixes.
void put_file_type(ModelFile& file) {
  std::map<quant::Type, uint64_t> bytes;
  for (const Tensor& tensor : file.tensors) bytes[tensor.type] += tensor.bytes;
  quant::Type most = quant::Type::kF32;
  for (const auto& [type, n] : bytes) {
    if (n > bytes[most]) most = type;
  }
  const quant::Mix* mix = quant::find_mix(quant::info(most).name);
  if (mix) append(file, "general.file_type", uint64_t{mix->gguf_file_type});
}

// The folder is not at fault.
bool is_of_the_machine(ErrorCode code) {
  return code == ErrorCode::kIo || code == ErrorCode::kNetwork || code == ErrorCode::kOutOfMemory ||
         code == ErrorCode::kCancelled;
}

Task<Result<HfTokenizer>> read_tokenizer(const ModelFolder& folder, bool is_rwkv) {
  constexpr const char* kNames[] = {"tokenizer.json",          "tokenizer_config.json",
                                    "special_tokens_map.json", "generation_config.json",
                                    "chat_template.jinja",     "config.json",
                                    "mlc-chat-config.json"};
  std::string texts[std::size(kNames)];
  for (size_t i = 0; i < std::size(kNames); ++i) {
    auto reading = read_text(folder, kNames[i]);
    PUNA_CO_TRY(auto text, co_await std::move(reading));
    if (text) texts[i] = *std::move(text);
  }
  const HfTokenizerFiles files = {texts[0], texts[1], texts[2],
                                  texts[3], texts[4], texts[5].empty() ? texts[6] : texts[5]};
  if (is_rwkv) {
    auto reading = read_text(folder, kWorldVocabulary);
    PUNA_CO_TRY(const auto world, co_await std::move(reading));
    if (world) co_return read_world_vocabulary(*world, files);
  }
  if (texts[0].empty()) {
    co_return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("There is no {}{} in the folder.",
                    is_rwkv ? fmt::format("{} and no ", kWorldVocabulary) : "", kNames[0]));
  }
  co_return read_hf_tokenizer(files);
}

Task<Result<void>> put_tokenizer(const ModelFolder& folder, ModelFile& file) {
  const std::string architecture = file.get_string("general.architecture", "").value_or("");
  auto reading = read_tokenizer(folder, architecture.starts_with("rwkv"));
  auto tokenizer = co_await std::move(reading);
  if (!tokenizer) {
    if (is_of_the_machine(tokenizer.error().code))
      co_return std::unexpected(std::move(tokenizer.error()));
    drop_vocabulary(file, std::move(tokenizer.error()));
    co_return {};
  }
  file.vocabulary = std::move(tokenizer->vocabulary);
  fit_vocabulary(file);
  put_vocabulary(file.vocabulary, tokenizer->chat_template, file.metadata);
  co_return {};
}

}  // namespace

Task<Result<std::optional<std::string>>> read_text(const ModelFolder& folder, std::string name) {
  auto source = folder.file(name);
  if (!source) {
    if (source.error().code == ErrorCode::kNotFound) co_return std::nullopt;
    co_return std::unexpected(std::move(source.error()));
  }
  const uint64_t n = (*source)->size();
  if (n > kMaxTextBytes) {
    co_return base::fail(ErrorCode::kCorrupt,
                         fmt::format("\"{}\" has {} bytes; a text of at most {} is expected.",
                                     (*source)->name(), n, kMaxTextBytes));
  }
  std::string text(static_cast<size_t>(n), '\0');
  auto reading = io::read(**source, 0, std::as_writable_bytes(std::span(text)));
  PUNA_CO_TRY(co_await std::move(reading));
  if (is_lfs_pointer(text)) co_return std::unexpected(lfs_pointer((*source)->name()));
  co_return std::move(text);
}

void put_general(const ModelFolder& folder, ModelFile& file) {
  append(file, "general.name", last_part(folder.path));
  put_file_type(file);
}

Task<Result<void>> describe_model(const ModelFolder& folder, ModelFile& file) {
  put_general(folder, file);
  auto task = put_tokenizer(folder, file);
  co_return co_await std::move(task);
}

Task<Result<ModelFile>> load_folder(ModelFolder folder) {
  while (folder.path.size() > 1 && folder.path.ends_with('/')) folder.path.pop_back();
  const std::string context = fmt::format("While reading the folder {}", folder.path);
  auto chat = read_text(folder, "mlc-chat-config.json");
  PUNA_CO_TRY_CONTEXT(auto mlc, co_await std::move(chat), context);
  if (mlc) {
    auto task = load_mlc(folder, *std::move(mlc));
    PUNA_CO_TRY_CONTEXT(ModelFile file, co_await std::move(task), context);
    co_return std::move(file);
  }
  auto hf = read_text(folder, "config.json");
  PUNA_CO_TRY_CONTEXT(auto config, co_await std::move(hf), context);
  if (!config) {
    co_return base::fail(
        ErrorCode::kNotFound,
        fmt::format("The folder {} holds neither config.json (Hugging Face) nor "
                    "mlc-chat-config.json (MLC); GGUF files are opened by their own path.",
                    folder.path));
  }
  auto task = load_hf_folder(folder, *std::move(config));
  PUNA_CO_TRY_CONTEXT(ModelFile file, co_await std::move(task), context);
  co_return std::move(file);
}

}  // namespace puna::formats
