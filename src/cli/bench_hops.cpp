#include "cli/bench_hops.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cli/bench_parallel.h"
#include "cli/measured.h"
#include "cli/options.h"
#include "cli/output.h"

namespace puna::cli {
namespace {

using base::Json;
using base::Result;

// The residual stream of one token of an 8B, and that of a chunk of a prompt.
constexpr std::array<uint64_t, 2> kBytes = {16 << 10, 8 << 20};
constexpr int kWarm = 10, kTries = 50;
// What both GPUs are kept at work with at once.
constexpr uint64_t kWorkBytes = 64 << 20;
constexpr int kWorkCopies = 100;

// One end of a hop.
struct End {
  gpu::Device& device;
  gpu::BufferId values, between, readback;

  static Result<End> create(gpu::Device& device) {
    End end{device, {}, {}, {}};
    using gpu::BufferUse;
    PUNA_TRY(end.values, device.create_buffer(kWorkBytes, BufferUse::kStorage, "values"));
    PUNA_TRY(end.between, device.create_buffer(kWorkBytes, BufferUse::kStorage, "copy"));
    PUNA_TRY(end.readback, device.create_buffer(kBytes.back(), BufferUse::kReadback, "read back"));
    return end;
  }

  // Until the values are in the host's memory.
  Result<void> read(std::span<std::byte> out) {
    gpu::CommandList list;
    list.copy(values, 0, readback, 0, out.size());
    PUNA_TRY(device.submit(list));
    std::optional<Result<void>> done;
    device.read_back(readback, 0, out, [&](Result<void> result) { done = std::move(result); });
    while (!done) device.poll();
    return *std::move(done);
  }
  // Until a copy of the values has run on the device.
  Result<void> write(std::span<const std::byte> bytes) {
    PUNA_TRY(device.write_buffer(values, 0, bytes));
    gpu::CommandList list;
    list.copy(values, 0, between, 0, bytes.size());
    PUNA_TRY(const gpu::SubmitId submitted, device.submit(list));
    return device.wait(submitted);
  }
  Result<gpu::SubmitId> work() {
    gpu::CommandList list;
    for (int i = 0; i < kWorkCopies; ++i) list.copy(values, 0, between, 0, kWorkBytes);
    return device.submit(list);
  }
};

struct Hop {
  uint64_t bytes = 0;
  double read_us = 0, write_us = 0;
};

Result<Hop> measure(End& from, End& to, uint64_t bytes) {
  std::vector<std::byte> values(bytes);
  std::vector<double> reads, writes;
  for (int i = 0; i < kWarm + kTries; ++i) {
    const base::Timer read;
    PUNA_TRY(from.read(values));
    const double read_us = read.ms() * 1000;
    const base::Timer write;
    PUNA_TRY(to.write(values));
    if (i < kWarm) continue;
    reads.push_back(read_us);
    writes.push_back(write.ms() * 1000);
  }
  const auto median = [](std::vector<double> values) {
    return rate_json(std::move(values)).find("median")->number();
  };
  return Hop{bytes, median(std::move(reads)), median(std::move(writes))};
}

// Milliseconds of the same work on each of the ends, begun together; the best of some tries.
Result<double> work_ms(std::span<End* const> ends) {
  double best = 1e30;
  for (int i = 0; i < 5; ++i) {
    const base::Timer timer;
    std::vector<gpu::SubmitId> submitted;
    for (End* end : ends) {
      PUNA_TRY(submitted.emplace_back(), end->work());
    }
    for (size_t e = 0; e < ends.size(); ++e) PUNA_TRY(ends[e]->device.wait(submitted[e]));
    best = std::min(best, timer.ms());
  }
  return best;
}

}  // namespace

Result<int> bench_hops(const ModelFlags& flags, bool json) {
  ProgressBar bar;
  PUNA_TRY(const service::OpenOptions options, open_options(flags, {}, bar));
  PUNA_TRY(const service::DeviceUse use, open_gpu(options, "--hops"));
  engine::MoreGpus::Devices more;
  if (use.open_more) {
    PUNA_TRY(more, use.open_more());
  }
  gpu::Device& second = more.empty() ? *use.device : *more.front();
  PUNA_TRY(End from, End::create(*use.device));
  PUNA_TRY(End to, End::create(second));
  Json hops = Json::array();
  if (!json) {
    print_out("from {} to {}\n{:>9} {:>9} {:>9} {:>9}\n", use.name,
              more.empty() ? "itself" : second.info().name, "bytes", "read us", "write us",
              "hop us");
  }
  for (const uint64_t bytes : kBytes) {
    PUNA_TRY(const Hop hop, measure(from, to, bytes));
    const double us = hop.read_us + hop.write_us;
    hops.push(Json::object()
                  .set("bytes", hop.bytes)
                  .set("read_us", hop.read_us)
                  .set("write_us", hop.write_us)
                  .set("us", us));
    if (json) continue;
    print_out("{:>9} {:>9.1f} {:>9.1f} {:>9.1f}\n", hop.bytes, hop.read_us, hop.write_us, us);
  }
  std::array<End*, 2> both = {&from, &to};
  PUNA_TRY(const double alone, work_ms(std::span(both).first(1)));
  PUNA_TRY(const double together, work_ms(both));
  if (json) {
    Json out = Json::object().set("from", use.name).set("to", second.info().name);
    out.set("hops", std::move(hops)).set("alone_ms", alone).set("together_ms", together);
    print_json(out);
  } else {
    print_out("the same work on one: {:.2f} ms, on both at once: {:.2f} ms\n", alone, together);
  }
  return 0;
}

}  // namespace puna::cli
