#include "service/both_filters.h"

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace puna::service {
namespace {

using engine::TokenFilter;

class BothFilters : public TokenFilter {
 public:
  BothFilters(std::shared_ptr<TokenFilter> first, std::shared_ptr<TokenFilter> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  std::optional<std::span<const uint32_t>> allowed() override {
    const auto a = first_->allowed(), b = second_->allowed();
    if (!a || !b) return a ? a : b;
    bits_.assign(a->begin(), a->end());
    for (size_t i = 0; i < bits_.size(); ++i) bits_[i] &= (*b)[i];
    return bits_;
  }
  std::vector<int32_t> forced() override {
    std::vector<int32_t> out = first_->forced();
    return out.empty() ? second_->forced() : out;
  }
  void take(int32_t id) override {
    first_->take(id);
    second_->take(id);
  }
  void undo(uint32_t n) override {
    first_->undo(n);
    second_->undo(n);
  }
  std::unique_ptr<TokenFilter> fork() const override {
    return std::make_unique<BothFilters>(first_->fork(), second_->fork());
  }
  bool may_end() const override { return first_->may_end() && second_->may_end(); }
  bool done() const override { return first_->done() || second_->done(); }
  std::optional<base::Error> error() const override {
    std::optional<base::Error> out = first_->error();
    return out ? out : second_->error();
  }

 private:
  std::shared_ptr<TokenFilter> first_, second_;
  std::vector<uint32_t> bits_;
};

}  // namespace

std::shared_ptr<TokenFilter> both(std::shared_ptr<TokenFilter> first,
                                  std::shared_ptr<TokenFilter> second) {
  if (!first || !second) return first ? first : second;
  return std::make_shared<BothFilters>(std::move(first), std::move(second));
}

}  // namespace puna::service
