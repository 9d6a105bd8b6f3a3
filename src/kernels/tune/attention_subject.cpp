// Attention on the bench; see subject.h.
#include <algorithm>
#include <limits>

#include "gpu/timing.h"
#include "kernels/common/describe.h"
#include "kernels/profile/profile.h"
#include "kernels/tune/subject.h"

namespace puna::kernels {
namespace {

using base::Result;

constexpr uint64_t kColdBytes = uint64_t{128} << 20;  // of K and V, beyond the caches
constexpr uint64_t kMaxLayers = 32;

class AttentionSubject : public Subject {
 public:
  explicit AttentionSubject(gpu::Device& device) : bench_(device) {}

  Result<void> set_up(const AttentionArgs& args, uint32_t n_kv) {
    args_ = args;
    args_.profile = nullptr;
    args_.append.reset();
    args_.sinks.reset();
    PUNA_TRY(portable_, attention_tuning(bench_.info(), args_));
    n_kv_ = std::max(n_kv, args.max_rows);
    args_.pages_per_sequence = args_.kv.n_pages = div_up(n_kv_, kPageTokens);
    const uint32_t v_dim = args_.v_dim != 0 ? args_.v_dim : args_.kv.head_dim;
    const uint64_t rows = args_.max_rows;
    PUNA_TRY(args_.q,
             bench_.pattern(rows * args_.n_heads * args_.kv.head_dim * 4, Workbench::kActivations));
    PUNA_TRY(args_.out, bench_.output(rows * args_.n_heads * v_dim));
    // As much as the most splits need.
    for (const KnobValues& knobs : neighbours(portable())) grow_scratch(knobs);
    grow_scratch(portable());
    PUNA_TRY(args_.scratch, bench_.create(std::max<uint64_t>(scratch_bytes_, 256)));
    std::vector<uint32_t> pages(args_.kv.n_pages);
    for (uint32_t i = 0; i < pages.size(); ++i) pages[i] = i;
    PUNA_TRY(args_.pages, bench_.upload(std::span<const uint32_t>(pages)));
    const bool software = bench_.info().type == gpu::AdapterType::kSoftware;
    const uint64_t layers =
        software ? 1 : std::clamp<uint64_t>(kColdBytes / (2 * args_.kv.bytes()), 1, kMaxLayers);
    for (uint64_t i = 0; i < layers; ++i) {
      PUNA_TRY(const Slice k, bench_.pattern(args_.kv.bytes(), Workbench::kActivations));
      PUNA_TRY(const Slice v, bench_.pattern(args_.kv.bytes(), Workbench::kActivations));
      caches_.emplace_back(k, v);
    }
    return {};
  }

  std::string key() const override { return attention_key(args_); }
  KnobValues portable() const override { return read_knobs(knobs(), portable_); }
  std::vector<KnobValues> neighbours(const KnobValues& from) const override {
    std::vector<KnobValues> out;
    // Matrix units have no knobs here.
    if (portable_.matrix) return out;
    const auto add = [&](const KnobValues& changed) {
      AttentionTuning tuning = portable_;
      if (changed != from && turn_attention_knobs(bench_.info(), args_, changed, tuning))
        out.push_back(changed);
    };
    if (attention_role(args_) == "attention_prefill") {
      for (const AttentionPrefillTuning& tile : attention_prefill_tiles(bench_.info(), args_)) {
        AttentionTuning tuning = portable_;
        tuning.prefill = tile;
        add(read_knobs(knobs(), tuning));
      }
      return out;
    }
    for (const Knob<AttentionTuning>& knob : knobs()) {
      for (const uint32_t value : knob.allowed()) {
        KnobValues changed = from;
        changed[std::string(knob.name)] = value;
        add(changed);
      }
    }
    return out;
  }

  Result<double> us(const KnobValues& values, double enough_ms, int tries) override {
    gpu::CommandList list;
    PUNA_TRY(record(values, caches_.size(), list));
    PUNA_TRY(const double us, gpu::pass_us(bench_.device(), list, enough_ms, tries));
    bench_.drop_groups();
    return us / static_cast<double>(caches_.size());
  }

  Result<std::vector<float>> output(const KnobValues& values) override {
    std::vector<float> out(static_cast<size_t>(args_.out.bytes / 4),
                           std::numeric_limits<float>::quiet_NaN());
    PUNA_TRY(bench_.write(args_.out, std::as_bytes(std::span(out))));
    gpu::CommandList list;
    PUNA_TRY(record(values, 1, list));
    PUNA_TRY(const gpu::SubmitId submit, bench_.device().submit(list));
    PUNA_TRY(bench_.device().wait(submit));
    bench_.drop_groups();
    PUNA_TRY(bench_.read(args_.out, out.data(), out.size()));
    return out;
  }

 private:
  std::span<const Knob<AttentionTuning>> knobs() const {
    return attention_knobs(attention_role(args_));
  }
  AttentionTuning tuning(const KnobValues& values) const {
    AttentionTuning t = portable_;
    turn_attention_knobs(bench_.info(), args_, values, t);
    return t;
  }
  // The profile that has these knobs, for what follows from them.
  Profile profile(const KnobValues& values) const {
    Profile p;
    p.kernels[attention_key(args_)] = {values, 0, 0};
    return p;
  }
  void grow_scratch(const KnobValues& values) {
    const Profile with = profile(values);
    AttentionArgs args = args_;
    args.profile = &with;
    scratch_bytes_ = std::max(scratch_bytes_, attention_scratch_bytes(bench_.info(), args));
  }

  Result<void> record(const KnobValues& values, size_t n_layers, gpu::CommandList& list) {
    const Profile with = profile(values);
    AttentionArgs args = args_;
    args.profile = &with;
    const AttentionSplits splits =
        attention_splits(attention_max_splits(bench_.info(), args), n_kv_);
    std::vector<int32_t> positions(args.max_rows);
    for (uint32_t i = 0; i < args.max_rows; ++i)
      positions[i] = static_cast<int32_t>(n_kv_ - args.max_rows + i);
    const std::vector<uint32_t> sequences(args.max_rows, 0);
    CpuStep step;
    step.n_tokens = args.max_rows;
    step.positions = positions.data();
    step.sequences = sequences.data();
    PUNA_TRY(args.step, bench_.step(args.max_rows, &step, splits));
    args.profile = nullptr;
    for (size_t i = 0; i < n_layers; ++i) {
      args.k_cache = caches_[i].first;
      args.v_cache = caches_[i].second;
      std::vector<KernelCall> calls;
      attention_tuned(bench_.info(), args, tuning(values), calls);
      const StepShape shape{.n_tokens = args.max_rows, .n_outputs = 1, .n_splits = splits.n_splits};
      PUNA_TRY(bench_.record(calls, shape, list));
    }
    return {};
  }

  Workbench bench_;
  AttentionArgs args_;
  AttentionTuning portable_;
  uint32_t n_kv_ = 0;
  uint64_t scratch_bytes_ = 0;
  std::vector<std::pair<Slice, Slice>> caches_;
};

}  // namespace

Result<std::unique_ptr<Subject>> attention_subject(gpu::Device& device, const AttentionArgs& args,
                                                   uint32_t n_kv) {
  auto subject = std::make_unique<AttentionSubject>(device);
  PUNA_TRY(subject->set_up(args, n_kv));
  return subject;
}

}  // namespace puna::kernels
