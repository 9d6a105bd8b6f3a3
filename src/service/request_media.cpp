#include "service/request_media.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace puna::service {

using base::ErrorCode;
using base::Result;
using base::Task;

namespace {

uint64_t rows_of(const EncodedMedia& media) {
  uint64_t n = 0;
  for (const models::MediaPiece& piece : media.pieces) n += piece.n_rows;
  return n;
}

bool is_open(const PlacedMedia& one) { return one.file && (!one.media || one.media->rows.empty()); }

// or_more: the last of the files has not been read to its end.
std::unexpected<base::Error> too_many(size_t n_files, uint64_t n_rows, uint32_t context,
                                      bool or_more = false) {
  const std::string what = n_files == 1
                               ? "The picture or sound is"
                               : fmt::format("The first {} pictures and sounds are", n_files);
  auto out = base::fail(ErrorCode::kInvalidArgument,
                        fmt::format("{} {} tokens{}, but the context holds {}.", what, n_rows,
                                    or_more ? " or more" : "", context));
  out.error().excess = base::Excess{.n = n_rows, .n_room = context};
  return out;
}

}  // namespace

bool RequestMedia::any(std::span<const Request> requests) {
  return std::ranges::any_of(
      requests, [](const Request& request) { return std::ranges::any_of(request.media, is_open); });
}

// Files of the same bytes are one.
RequestMedia::Item& RequestMedia::item(const std::shared_ptr<const MediaFile>& file) {
  const auto [place, is_new] = item_of_.try_emplace(file.get(), items_.size());
  if (!is_new) return items_[place->second];
  const store::Digest key = Senses::key_of(*file);
  const auto same = std::ranges::find(items_, key, &Item::key);
  place->second = static_cast<size_t>(same - items_.begin());
  if (same != items_.end()) return *same;
  return items_.emplace_back(Item{.key = key});
}

RequestMedia RequestMedia::find(const LoadedModel& model, std::span<const Request> requests) {
  RequestMedia out;
  for (const Request& request : requests) {
    for (const PlacedMedia& one : request.media) {
      if (!is_open(one)) continue;
      if (!model.senses || !one.file->url.empty()) {
        out.passed_over_ = true;
        continue;
      }
      Item& item = out.item(one.file);
      if (!item.media) item.media = model.senses->find(item.key);
    }
  }
  return out;
}

Result<void> RequestMedia::read(const LoadedModel& model, std::span<const Request> requests) {
  for (const Request& request : requests) {
    uint64_t n_rows = 0;
    size_t n_files = 0;
    for (const PlacedMedia& one : request.media) {
      if (!is_open(one)) continue;
      if (!model.senses) {
        return base::fail(
            ErrorCode::kUnsupported,
            fmt::format("The model {} takes texts alone: no encoder of pictures or sounds was "
                        "loaded beside it (--mmproj).",
                        model.name));
      }
      const MediaFile& file = *one.file;
      if (!file.url.empty()) {
        return base::fail(
            ErrorCode::kUnsupported,
            fmt::format("For {} the address {} is given, but none are fetched here (--media-url); "
                        "give the file itself as a data: URL.",
                        file.name, file.url));
      }
      Item& item = this->item(one.file);
      // Another request may have brought the same file meanwhile.
      if (!item.media) item.media = model.senses->find(item.key);
      if (!item.media) {
        const auto may_take = [&](uint64_t n) -> Result<void> {
          if (n_rows + n < model.context()) return {};
          return too_many(n_files + 1, n_rows + n, model.context(), /*or_more=*/true);
        };
        PUNA_TRY(item.input, model.senses->read(file, may_take));
        item.media = model.senses->reader(file.sense)->counted(*item.input);
      }
      n_rows += rows_of(*item.media);
      ++n_files;
      if (n_rows >= model.context()) return too_many(n_files, n_rows, model.context());
    }
  }
  passed_over_ = false;
  return {};
}

bool RequestMedia::is_encoded() const {
  return !passed_over_ &&
         std::ranges::all_of(items_, [](const Item& item) { return item.media && !item.input; });
}

Task<Result<void>> RequestMedia::encode(LoadedModel& model, const std::atomic<bool>& cancel) {
  for (Item& item : items_) {
    if (!item.input) continue;
    if (cancel) co_return base::fail(ErrorCode::kCancelled, "The request was given up.");
    PUNA_CO_TRY(item.media,
                co_await model.senses->encode(model.scheduler.get(), item.key, *item.input));
    item.input.reset();
  }
  co_return {};
}

void RequestMedia::place(std::span<Request> requests) const {
  for (Request& request : requests) {
    for (PlacedMedia& one : request.media) {
      if (is_open(one)) one.media = items_[item_of_.at(one.file.get())].media;
    }
  }
}

Result<void> count_media(const LoadedModel& model, std::span<Request> requests) {
  if (!RequestMedia::any(requests)) return {};
  RequestMedia media = RequestMedia::find(model, requests);
  PUNA_TRY(media.read(model, requests));
  media.place(requests);
  return {};
}

}  // namespace puna::service
