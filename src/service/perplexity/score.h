// How well a model foretells a text: what a row of logits says about the token that follows, alone
// and beside a base (base_file.h), and the statistics over all positions. The definitions are those
// of llama.cpp's llama-perplexity, so that figures can be compared; where this is more exact, it
// says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "service/perplexity/base_file.h"

namespace puna::service {

struct TokenScore {
  double nll = 0;  // -ln of the probability of the token that follows
  // Beside a base:
  double base_nll = 0;
  double kl = 0;            // KL(base || this) over the vocabulary, in nats
  double change = 0;        // of the token's probability, from the base to this
  bool same_first = false;  // the likeliest token is the base's too
};

// The logarithm of the sum of exponentials. A logit at least is finite, none is NaN or +inf.
double log_sum(std::span<const float> logits);

// logits [vocab] as of log_sum, which is given; `next` is the token that follows.
TokenScore score(std::span<const float> logits, double log_sum, int32_t next);
// The same beside a row of the base.
//
// The divergence is summed over the tokens to which the base gives more than e^-16, as p ln(p / q)
// - p + q. Over the whole vocabulary the last two add up to nothing; with them the base's rounding
// to 16 bits and the tokens left out count in second order only. (llama.cpp sums p ln(p / q), whose
// noise is 1e-4 a position: as much as two good quantizations differ.) Tokens that share the base's
// largest code are all its likeliest.
TokenScore score(std::span<const float> logits, double log_sum, int32_t next, const BaseRow& base);

// A mean and its standard error.
struct Estimate {
  double value = 0;
  double error = 0;
};

class PerplexityStatistics {
 public:
  explicit PerplexityStatistics(bool has_base = false) : has_base_(has_base) {}

  void add(const TokenScore& score);

  size_t n() const { return n_; }
  bool has_base() const { return has_base_; }
  Estimate perplexity() const;  // e to the mean of nll

  // Beside a base:
  Estimate base_perplexity() const;
  Estimate log_ratio() const;  // ln(perplexity / base perplexity)
  Estimate kl() const;
  // The value that a share of the positions (0 to 1) does not exceed, between two by interpolation.
  double kl_quantile(double share) const;
  Estimate change() const;      // mean of TokenScore::change
  Estimate change_rms() const;  // root of the mean of its squares
  Estimate same_first() const;  // share of the positions

 private:
  struct Moments {
    double sum = 0, squares = 0;
    void add(double x) {
      sum += x;
      squares += x * x;
    }
    Estimate mean(size_t n) const;
  };

  bool has_base_;
  size_t n_ = 0, n_same_ = 0;
  Moments nll_, base_nll_, ratio_, kl_, change_, square_;
  std::vector<float> kls_;  // by position
};

}  // namespace puna::service
