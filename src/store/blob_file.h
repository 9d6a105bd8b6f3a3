// A blob in the making: bytes that are written aside, and get the name that their SHA-256 is.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "io/byte_sink.h"
#include "store/files.h"
#include "store/layout.h"
#include "store/manifest.h"
#include "store/sha256.h"

namespace puna::store {

class BlobFile final : public io::ByteSink {
 public:
  // In a store that is prepared for it. Errors: kIo.
  static base::Result<std::unique_ptr<BlobFile>> create(const Layout& layout);
  // Deletes what was not taken by place().
  ~BlobFile() override;
  BlobFile(const BlobFile&) = delete;
  BlobFile& operator=(const BlobFile&) = delete;

  // ByteSink:
  base::Result<void> write(std::span<const std::byte> bytes) override;
  base::Result<void> finish() override;  // on the disk; its digest is known

  uint64_t bytes() const { return bytes_; }
  // Behind finish():
  const Digest& digest() const { return digest_; }
  Layer layer(std::string_view media_type) const {
    return {std::string(media_type), digest_, bytes_};
  }
  // Makes it the blob of its digest. Errors: kIo.
  base::Result<void> place(const Layout& layout);

 private:
  explicit BlobFile(OutputFile file) : file_(std::move(file)), path_(file_->path()) {}

  std::optional<OutputFile> file_;
  std::string path_;  // empty: it has its place
  Sha256 hash_;
  Digest digest_;
  uint64_t bytes_ = 0;
};

}  // namespace puna::store
