// The recording device. Copies and writes happen, dispatches are only noted; memory is taken when
// first written.
#include "gpu/null/null.h"

#include <fmt/format.h>

#include <cstring>
#include <deque>
#include <new>
#include <unordered_map>

#include "base/check.h"
#include "gpu/rules.h"

namespace puna::gpu::null {
namespace {

using base::ErrorCode;
using base::Result;

struct Buffer {
  BufferFacts facts;
  std::unique_ptr<std::byte[]> memory;  // null while all zero
  bool alive = true;
};
struct Group {
  PipelineId pipeline;
  std::vector<Binding> bindings;
  bool alive = true;
};
struct Read {
  BufferId buffer;
  uint64_t offset;
  std::span<std::byte> out;
  ReadDone done;
};

class Recorder final : public NullDevice {
 public:
  explicit Recorder(Options options) : options_(std::move(options)) {}

  const DeviceInfo& info() const override { return options_.info; }
  const std::vector<Command>& submitted() const override { return submitted_; }
  const PipelineDesc& pipeline(PipelineId id) const override {
    PUNA_CHECK(id.value != 0 && id.value <= pipelines_.size());
    return pipelines_[id.value - 1];
  }
  uint64_t allocated_bytes() const override { return allocated_bytes_; }
  bool lost() const override { return lost_; }

  Result<BufferId> create_buffer(uint64_t bytes, BufferUse use, std::string_view label) override {
    PUNA_TRY(may_go_on("create_buffer"));
    PUNA_TRY(check_create_buffer(options_.info.limits, bytes, label));
    const uint64_t whole = whole_words(bytes);
    buffers_.push_back({{std::string(label), whole, use, false}, nullptr, true});
    allocated_bytes_ += whole;
    return BufferId{static_cast<uint32_t>(buffers_.size())};
  }

  void destroy_buffer(BufferId id) override {
    Buffer* buffer = find(id);
    if (buffer == nullptr) return;
    allocated_bytes_ -= buffer->facts.bytes;
    buffer->memory.reset();
    buffer->alive = false;
  }

  void create_pipeline(PipelineDesc desc, PipelineDone done) override {
    auto made = make_pipeline(std::move(desc));
    if (!options_.late_pipelines) return done(std::move(made));
    late_.emplace_back(std::move(made), std::move(done));
  }

  Result<BindGroupId> create_bind_group(PipelineId id, std::span<const Binding> bindings) override {
    PUNA_TRY(may_go_on("create_bind_group"));
    if (id.value == 0 || id.value > pipelines_.size()) return fail_unknown("pipeline", id.value);
    const PipelineDesc& desc = pipelines_[id.value - 1];
    PUNA_TRY(check_binding_count(desc, bindings.size()));
    for (size_t i = 0; i < bindings.size(); ++i) {
      const Buffer* buffer = find(bindings[i].buffer);
      if (buffer == nullptr) return fail_unknown("buffer", bindings[i].buffer.value);
      PUNA_TRY(check_binding(options_.info.limits, desc, i, bindings[i], buffer->facts));
    }
    PUNA_TRY(check_overlap(desc, bindings));
    groups_.push_back({id, {bindings.begin(), bindings.end()}, true});
    return BindGroupId{static_cast<uint32_t>(groups_.size())};
  }

  void destroy_bind_group(BindGroupId id) override {
    if (id.value != 0 && id.value <= groups_.size()) groups_[id.value - 1].alive = false;
  }

  Result<void> write_buffer(BufferId id, uint64_t offset,
                            std::span<const std::byte> bytes) override {
    PUNA_TRY(may_go_on("write_buffer"));
    Buffer* buffer = find(id);
    if (buffer == nullptr) return fail_unknown("buffer", id.value);
    PUNA_TRY(check_write(buffer->facts, offset, bytes.size()));
    PUNA_TRY(std::byte * memory, touch(*buffer));
    if (!bytes.empty()) std::memcpy(memory + offset, bytes.data(), bytes.size());
    return {};
  }

  Result<SubmitId> submit(const CommandList& list) override {
    PUNA_TRY(may_go_on("submit"));
    if (n_submits_++ == options_.lose_at) {
      lost_ = true;
      fail_reads();
      return fail_lost(kLostReason);
    }
    for (const Command& command : list.commands()) {
      PUNA_TRY(command.kind == Command::Kind::kCopy ? check(command) : check_group(command));
    }
    for (const Command& command : list.commands()) {
      if (command.kind == Command::Kind::kCopy) PUNA_TRY(copy(command));
    }
    submitted_.insert(submitted_.end(), list.commands().begin(), list.commands().end());
    return SubmitId{++last_submit_};
  }

  void read_back(BufferId id, uint64_t offset, std::span<std::byte> out, ReadDone done) override {
    if (auto ready = start_read(id, offset, out); !ready) return done(std::move(ready));
    reads_.push_back({id, offset, out, std::move(done)});
  }

  Result<void> wait(SubmitId submit) override {
    PUNA_TRY(may_go_on("wait"));
    if (submit.value > last_submit_) {
      return base::fail(ErrorCode::kInvalidArgument,
                        fmt::format("Submit {} is waited for, but the last one is {}.",
                                    submit.value, last_submit_));
    }
    finish_reads();
    return {};
  }

  void poll() override {
    finish_reads();
    if (late_.empty()) return;
    auto [made, done] = std::move(late_.front());
    late_.pop_front();
    done(std::move(made));
  }

 private:
  static constexpr std::string_view kLostReason = "the null device was told to lose itself.";

  Result<void> may_go_on(std::string_view what) {
    if (lost_) return fail_lost(kLostReason);
    if (n_calls_++ == options_.fail_at) {
      return base::fail(ErrorCode::kOutOfMemory,
                        fmt::format("The null device was told to fail here ({}).", what));
    }
    return {};
  }

  Buffer* find(BufferId id) {
    if (id.value == 0 || id.value > buffers_.size() || !buffers_[id.value - 1].alive)
      return nullptr;
    return &buffers_[id.value - 1];
  }

  static Result<std::byte*> touch(Buffer& buffer) {
    if (!buffer.memory)
      buffer.memory.reset(new (std::nothrow) std::byte[static_cast<size_t>(buffer.facts.bytes)]());
    if (!buffer.memory) {
      return base::fail(ErrorCode::kOutOfMemory,
                        fmt::format("Buffer \"{}\" of {} bytes does not fit into memory.",
                                    buffer.facts.label, buffer.facts.bytes));
    }
    return buffer.memory.get();
  }

  Result<PipelineId> make_pipeline(PipelineDesc desc) {
    PUNA_TRY(may_go_on("create_pipeline"));
    PUNA_TRY(check_pipeline(options_.info.limits, desc));
    const auto [it, is_new] =
        by_wgsl_.try_emplace(desc.wgsl, static_cast<uint32_t>(pipelines_.size() + 1));
    if (is_new) pipelines_.push_back(std::move(desc));
    return PipelineId{it->second};
  }

  Result<void> check(const Command& copy) {
    const Buffer* source = find(copy.source);
    const Buffer* destination = find(copy.destination);
    if (source == nullptr) return fail_unknown("buffer", copy.source.value);
    if (destination == nullptr) return fail_unknown("buffer", copy.destination.value);
    return check_copy(copy, source->facts, destination->facts);
  }

  Result<void> check_group(const Command& dispatch) {
    if (dispatch.pipeline.value == 0 || dispatch.pipeline.value > pipelines_.size()) {
      return fail_unknown("pipeline", dispatch.pipeline.value);
    }
    const uint32_t id = dispatch.bind_group.value;
    if (id == 0 || id > groups_.size() || !groups_[id - 1].alive)
      return fail_unknown("bind group", id);
    const PipelineDesc& desc = pipelines_[dispatch.pipeline.value - 1];
    if (groups_[id - 1].pipeline != dispatch.pipeline) {
      return base::fail(
          ErrorCode::kInvalidArgument,
          fmt::format("Bind group {} was made for kernel \"{}\", not for \"{}\".", id,
                      pipelines_[groups_[id - 1].pipeline.value - 1].label, desc.label));
    }
    for (const Binding& binding : groups_[id - 1].bindings) {
      if (find(binding.buffer) == nullptr) return fail_unknown("buffer", binding.buffer.value);
    }
    return check_dispatch(options_.info.limits, desc, dispatch);
  }

  Result<void> copy(const Command& command) {
    Buffer& source = *find(command.source);
    PUNA_TRY(std::byte * from, touch(source));
    PUNA_TRY(std::byte * to, touch(*find(command.destination)));
    std::memcpy(to + command.destination_offset, from + command.source_offset,
                static_cast<size_t>(command.bytes));
    return {};
  }

  Result<void> start_read(BufferId id, uint64_t offset, std::span<std::byte> out) {
    PUNA_TRY(may_go_on("read_back"));
    Buffer* buffer = find(id);
    if (buffer == nullptr) return fail_unknown("buffer", id.value);
    PUNA_TRY(check_read(buffer->facts, offset, out.size()));
    buffer->facts.reading = true;
    return {};
  }

  void finish_reads() {
    // Callbacks may start new reads: those wait for the next call.
    for (size_t n = reads_.size(); n > 0 && !reads_.empty(); --n) {
      Read read = std::move(reads_.front());
      reads_.pop_front();
      Buffer* buffer = find(read.buffer);
      if (buffer == nullptr) {
        read.done(fail_unknown("buffer", read.buffer.value));
        continue;
      }
      buffer->facts.reading = false;
      const std::byte* memory = buffer->memory.get();
      for (size_t i = 0; i < read.out.size(); ++i)
        read.out[i] = memory ? memory[read.offset + i] : std::byte{0};
      read.done({});
    }
  }

  void fail_reads() {
    for (Read& read : std::exchange(reads_, {})) read.done(fail_lost(kLostReason));
  }

  Options options_;
  std::vector<Buffer> buffers_;
  std::deque<PipelineDesc> pipelines_;  // references to them stay valid
  std::vector<Group> groups_;
  std::unordered_map<std::string, uint32_t> by_wgsl_;
  std::deque<Read> reads_;
  std::deque<std::pair<Result<PipelineId>, PipelineDone>> late_;
  std::vector<Command> submitted_;
  uint64_t allocated_bytes_ = 0;
  uint64_t last_submit_ = 0;
  int n_calls_ = 0;
  int n_submits_ = 0;
  bool lost_ = false;
};

}  // namespace

std::unique_ptr<NullDevice> create(Options options) {
  return std::make_unique<Recorder>(std::move(options));
}

}  // namespace puna::gpu::null
