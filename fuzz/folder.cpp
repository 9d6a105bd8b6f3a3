// A folder from hostile bytes, which line by line are its files: config.json (or, when the first
// byte is 'M', mlc-chat-config.json), then the index or the JSON header of the weights. What opens
// is sound, and every tensor can be read.
#include "formats/folder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/log.h"
#include "base/task.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace puna;
  base::set_log_sink([](base::LogLevel, std::string_view) {}, base::LogLevel::kWarning);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t cut = std::min(text.find('\n'), size);
  const std::string first(text.substr(0, cut));
  const std::string second(text.substr(std::min(cut + 1, size)));
  const bool is_mlc = first.starts_with('M');
  std::map<std::string, std::string> files;
  if (is_mlc) {
    files["mlc-chat-config.json"] = first.substr(1);
    files["tensor-cache.json"] = second;
    files["params_shard_0.bin"] = std::string(1 << 16, '\x11');
  } else {
    const uint64_t n = second.size();
    files["config.json"] = first;
    files["model.safetensors"] =
        std::string(reinterpret_cast<const char*>(&n), 8) + second + std::string(1 << 16, '\x11');
  }
  const formats::OpenPart open =
      [&](const std::string& path) -> base::Result<std::unique_ptr<io::ByteSource>> {
    const auto found = files.find(path.substr(std::string_view("fuzz/").size()));
    if (found == files.end()) return base::fail(base::ErrorCode::kNotFound, "There is none.");
    return io::from_memory(path, std::as_bytes(std::span(found->second)));
  };
  auto file = base::run_until(formats::load_folder({"fuzz", open}), [] {});
  if (!file) {
    PUNA_CHECK(!file.error().message.empty());
    return 0;
  }
  for (const formats::Tensor& tensor : file->tensors) {
    io::ByteSource& source = *file->sources[tensor.source];
    PUNA_CHECK(tensor.offset <= source.size() && tensor.bytes <= source.size() - tensor.offset);
    PUNA_CHECK(tensor.bytes == quant::row_bytes(tensor.type, tensor.rows() * tensor.columns()));
    std::vector<std::byte> bytes(static_cast<size_t>(tensor.bytes));
    PUNA_CHECK(base::run_until(io::read(source, tensor.offset, bytes), [] {}).has_value());
  }
  return 0;
}
