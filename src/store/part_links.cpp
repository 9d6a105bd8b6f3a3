#include "store/part_links.h"

#include <filesystem>
#include <system_error>

#include "formats/gguf_split.h"
#include "store/files.h"
#include "store/sha256.h"

namespace puna::store {
namespace {

namespace fs = std::filesystem;
using base::Result;

std::string link_path(const std::string& folder, const std::vector<Layer>& parts, size_t i) {
  return formats::split_path(folder + "/model", static_cast<uint32_t>(i + 1),
                             static_cast<uint32_t>(parts.size()));
}

// What a link holds, relative to its folder: a store may be moved.
fs::path target_of(const Layout& layout, const Layer& part) {
  return fs::path("../../blobs") / fs::path(layout.blob(part.digest)).filename();
}

bool leads_to(const Layout& layout, const std::string& link, const Layer& part) {
  std::error_code error;
  return fs::read_symlink(link, error) == target_of(layout, part);
}

}  // namespace

Digest split_key(const std::vector<Layer>& parts) {
  Sha256 hash;
  for (const Layer& part : parts) hash.add(std::as_bytes(std::span(part.digest.bytes())));
  return hash.finish();
}

std::optional<std::string> linked_path(const Layout& layout, const std::vector<Layer>& parts) {
  for (const Digest& key : {split_key(parts), parts[0].digest}) {
    const std::string folder = layout.path(Layout::Kind::kSplit, key);
    size_t n_right = 0;
    while (n_right < parts.size() &&
           leads_to(layout, link_path(folder, parts, n_right), parts[n_right]))
      ++n_right;
    if (n_right == parts.size()) return link_path(folder, parts, 0);
  }
  return std::nullopt;
}

Result<void> link_parts(const Layout& layout, const std::vector<Layer>& parts) {
  const std::string folder = layout.path(Layout::Kind::kSplit, split_key(parts));
  PUNA_TRY(make_folders(folder));
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string link = link_path(folder, parts, i);
    if (leads_to(layout, link, parts[i])) continue;
    remove_file(link);
    std::error_code error;
    fs::create_symlink(target_of(layout, parts[i]), link, error);
    if (error) return std::unexpected(system_error("make the link", link, error.value()));
  }
  return {};
}

}  // namespace puna::store
