#include "store/blob_file.h"

#include <utility>

namespace puna::store {

using base::Result;

Result<std::unique_ptr<BlobFile>> BlobFile::create(const Layout& layout) {
  PUNA_TRY(OutputFile file, OutputFile::create_aside(layout.blobs()));
  return std::unique_ptr<BlobFile>(new BlobFile(std::move(file)));
}

BlobFile::~BlobFile() {
  if (!path_.empty()) remove_file(path_);
}

Result<void> BlobFile::write(std::span<const std::byte> bytes) {
  PUNA_TRY(file_->write(bytes));
  hash_.add(bytes);
  bytes_ += bytes.size();
  return {};
}

Result<void> BlobFile::finish() {
  PUNA_TRY(file_->sync());
  file_.reset();
  digest_ = hash_.finish();
  return {};
}

Result<void> BlobFile::place(const Layout& layout) {
  PUNA_TRY(rename_file(path_, layout.blob(digest_)));
  path_.clear();
  return {};
}

}  // namespace puna::store
