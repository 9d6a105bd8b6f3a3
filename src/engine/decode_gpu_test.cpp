// Decoding on an adapter (software Vulkan will do) with tiny models: the text does not depend on
// how many steps are in flight, what else is in the batch, or the device; nothing is allocated
// while it goes on.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "engine/scheduler.h"
#include "engine/testing/fast_compiler.h"
#include "engine/testing/load_engine.h"
#include "engine/testing/test_filter.h"
#include "models/testing/tiny_model.h"
#include "models/testing/tiny_recurrent.h"

using namespace puna;
using engine::Engine;

namespace {

constexpr uint32_t kVocab = 1003;
constexpr double kLongestChains = 1e9;

// Counts what a device holds.
class CountingDevice : public engine::test::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;

  base::Result<gpu::BufferId> create_buffer(uint64_t bytes, gpu::BufferUse use,
                                            std::string_view label) override {
    PUNA_TRY(const gpu::BufferId id, ForwardingDevice::create_buffer(bytes, use, label));
    buffers_[id.value] = bytes;
    ++n_created_;
    return id;
  }
  void destroy_buffer(gpu::BufferId buffer) override {
    buffers_.erase(buffer.value);
    ForwardingDevice::destroy_buffer(buffer);
  }
  base::Result<gpu::BindGroupId> create_bind_group(
      gpu::PipelineId pipeline, std::span<const gpu::Binding> bindings) override {
    ++n_created_;
    return ForwardingDevice::create_bind_group(pipeline, bindings);
  }
  base::Result<gpu::SubmitId> submit(const gpu::CommandList& list) override {
    ++n_submits_;
    return ForwardingDevice::submit(list);
  }

  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const auto& [id, bytes] : buffers_) sum += bytes;
    return sum;
  }
  uint64_t n_created() const { return n_created_; }  // buffers and bind groups, ever
  uint64_t n_submits() const { return n_submits_; }

 private:
  std::map<uint32_t, uint64_t> buffers_;
  uint64_t n_created_ = 0, n_submits_ = 0;
};

// Null, said loudly, without an adapter.
std::unique_ptr<CountingDevice> open_gpu(bool baseline = false) {
  auto device = engine::test::open_gpu(baseline);
  return device ? std::make_unique<CountingDevice>(std::move(device)) : nullptr;
}

// Null device: the CPU.
std::unique_ptr<Engine> load(std::unique_ptr<gpu::Device> device, uint32_t n_sequences = 1,
                             double chain_ms = kLongestChains, uint32_t context = 256,
                             uint32_t n_drafts = 0,
                             uint32_t step_tokens = kernels::kMaxStepTokens) {
  fixtures::TinyShape shape;
  shape.n_layers = 1;
  shape.vocab = kVocab;
  shape.context = context;
  engine::EngineOptions options;
  options.numerics = kernels::Numerics::kExact;
  options.kv_type = kernels::KvType::kF32;
  options.n_threads = 2;
  options.n_sequences = n_sequences;
  options.chain_ms = chain_ms;
  options.n_drafts = n_drafts;
  options.step_tokens = step_tokens;
  return engine::test::load_engine(fixtures::tiny_model(shape), std::move(device),
                                   std::move(options));
}

template <class T>
void run(Engine& engine, base::Task<base::Result<T>> task) {
  const auto done = base::run_until(std::move(task), [&] { engine.poll(); });
  REQUIRE_MESSAGE(done.has_value(), done.error().text());
}

std::vector<int32_t> prompt(uint32_t n, uint32_t seed = 0) {
  std::vector<int32_t> out;
  for (uint32_t i = 0; i < n; ++i)
    out.push_back(static_cast<int32_t>((i * 37 + 11 + 101 * seed) % kVocab));
  return out;
}

// One of each kind: greedy; the defaults; hot with penalties that change every step; bias.
std::vector<kernels::SamplingParams> kinds() {
  std::vector<kernels::SamplingParams> out(4);
  out[0].temperature = 0;
  out[1].seed = 3;
  out[2].temperature = 2;
  out[2].top_k = 300;
  out[2].repeat_penalty = 1.5f;
  out[2].presence_penalty = 0.5f;
  out[2].frequency_penalty = 1;
  out[2].repeat_last = 20;
  out[2].seed = 77;
  out[3].temperature = 1.2f;
  out[3].top_k = 0;
  out[3].min_p = 0;
  out[3].logit_bias = {{5, 2.5f}, {900, 3}, {7, -INFINITY}};
  return out;
}

// Those of which some come to the host.
std::vector<kernels::SamplingParams> once_kinds() {
  std::vector<kernels::SamplingParams> out = kinds();
  out[0].n_probs = out[2].n_probs = 2;
  out[2].mirostat = {.version = 2, .tau = 4, .eta = 0.5f};
  out[2].dry = {.multiplier = 1, .base = 1.5f, .allowed_length = 1, .last = 100};
  return out;
}

// Half of the vocabulary.
std::shared_ptr<engine::TokenFilter> odd() {
  return std::make_shared<engine::test::TestFilter>(engine::test::TestFilter::Rules{
      .vocab = kVocab,
      .allows = [](std::span<const int32_t>, int32_t id) { return id % 2 == 1; },
      .forces = {}});
}

// Two of three, the same ones until a token is written that is a multiple of 16.
std::shared_ptr<engine::TokenFilter> turning() {
  return std::make_shared<engine::test::TestFilter>(engine::test::TestFilter::Rules{
      .vocab = kVocab,
      .allows =
          [](std::span<const int32_t> text, int32_t id) {
            const auto n = std::ranges::count_if(text, [](int32_t own) { return own % 16 == 0; });
            return id % 3 != n % 3;
          },
      .forces = {}});
}

// Another half behind each token.
bool alternates(std::span<const int32_t> text, int32_t id) {
  return id % 2 == static_cast<int32_t>(text.size() % 2);
}
std::shared_ptr<engine::TokenFilter> alternating(size_t most = SIZE_MAX) {
  return std::make_shared<engine::test::TestFilter>(engine::test::TestFilter::Rules{
      .vocab = kVocab, .allows = alternates, .forces = {}, .most = most});
}

// The same, with two tokens that are forced behind each fifth.
std::shared_ptr<engine::TokenFilter> forcing() {
  return std::make_shared<engine::test::TestFilter>(engine::test::TestFilter::Rules{
      .vocab = kVocab, .allows = alternates, .forces = [](std::span<const int32_t> text) {
        const auto odd = static_cast<int32_t>(text.size() % 2);
        return text.size() % 7 == 5 ? std::vector<int32_t>{10 + odd, 401 - odd}
                                    : std::vector<int32_t>();
      }});
}

std::vector<int32_t> generate(Engine& engine, std::vector<int32_t> tokens,
                              const kernels::SamplingParams& sampling, uint32_t n,
                              std::shared_ptr<engine::TokenFilter> filter = {}) {
  std::vector<int32_t> text;
  engine::GenerateOptions options;
  options.sampling = sampling;
  options.filter = std::move(filter);
  options.max_tokens = n;
  engine.cache().forget(0);
  run(engine, engine::Scheduler(engine).generate(std::move(tokens), options, {},
                                                 [&](const kernels::Chosen& chosen) {
                                                   text.push_back(chosen.id);
                                                   return true;
                                                 }));
  REQUIRE(text.size() == n);
  return text;
}

// A step at a time, through the host.
std::vector<int32_t> generate_by_steps(Engine& engine, std::vector<int32_t> tokens,
                                       const kernels::SamplingParams& sampling, uint32_t n,
                                       const std::shared_ptr<engine::TokenFilter>& filter = {}) {
  std::vector<int32_t> text;
  engine.cache().forget(0);
  for (uint32_t i = 0; i < n; ++i) {
    engine::BatchRow row{0, tokens, sampling};
    row.filter = filter.get();
    run(engine, engine.decode({std::move(row)}, 1, [&](std::span<const kernels::Chosen> chosen) {
      tokens = {chosen[0].id};
      return true;
    }));
    text.push_back(tokens[0]);
    if (filter) filter->take(tokens[0]);
  }
  return text;
}

}  // namespace

TEST_CASE("the text is the same with one step in flight, with eight, and on the CPU") {
  for (const bool baseline : {false, true}) {
    auto device = open_gpu(baseline);
    if (!device) return;
    CountingDevice& counts = *device;
    const auto chained = load(std::move(device));
    const auto single = load(open_gpu(baseline), 1, /*chain_ms=*/0);
    const auto cpu = load(nullptr);
    for (const kernels::SamplingParams& sampling : kinds()) {
      CAPTURE(sampling.temperature);
      constexpr uint32_t kTokens = 60;
      const uint64_t before = counts.n_submits();
      const auto text = generate(*chained, prompt(40), sampling, kTokens);
      CHECK(counts.n_submits() - before < 20);  // 1 + 1 + 2 + 2 + 4 + 4 + 8 ...
      CHECK(generate(*single, prompt(40), sampling, kTokens) == text);
      CHECK(generate_by_steps(*single, prompt(40), sampling, kTokens) == text);
      CHECK(generate(*cpu, prompt(40), sampling, kTokens) == text);
      CHECK(generate_by_steps(*cpu, prompt(40), sampling, kTokens) == text);
    }
  }
}

TEST_CASE("what follows a prompt is the same whether it is read in large steps or in small ones") {
  constexpr uint32_t kContext = 2048, kPrompt = 1500, kTokens = 6;
  auto device = open_gpu();
  if (!device) return;
  const auto large = load(std::move(device), 1, kLongestChains, kContext, 0, kContext);
  for (int i = 0; i < 2000; ++i) large->budget().read(1000, 1);
  REQUIRE(large->step_tokens(kPrompt) == kPrompt);
  const auto small = load(open_gpu(), 1, kLongestChains, kContext);
  REQUIRE(small->step_tokens(kPrompt) == kernels::kMaxStepTokens);
  const auto cpu = load(nullptr, 1, kLongestChains, kContext);
  const kernels::SamplingParams greedy = kinds()[0];
  const auto text = generate(*large, prompt(kPrompt), greedy, kTokens);
  CHECK(generate(*small, prompt(kPrompt), greedy, kTokens) == text);
  CHECK(generate(*cpu, prompt(kPrompt), greedy, kTokens) == text);
}

TEST_CASE("what a filter allows for long is chosen from in chains, which end where it changes") {
  auto device = open_gpu();
  if (!device) return;
  CountingDevice& counts = *device;
  const auto chained = load(std::move(device));
  const auto cpu = load(nullptr);
  for (const kernels::SamplingParams& sampling : kinds()) {
    CAPTURE(sampling.temperature);
    constexpr uint32_t kTokens = 80;
    const auto by_steps = generate_by_steps(*cpu, prompt(40), sampling, kTokens, turning());
    const bool turned =
        std::ranges::any_of(by_steps, [](int32_t id) { return id > 0 && id % 16 == 0; });
    CHECK(generate(*chained, prompt(40), sampling, kTokens, turning()) == by_steps);
    CHECK(generate(*cpu, prompt(40), sampling, kTokens, turning()) == by_steps);
    if (sampling.temperature >= 1) CHECK(turned);
    const uint64_t before = counts.n_submits();
    generate(*chained, prompt(40), sampling, kTokens, odd());
    // Some tokens one by one, in two parts each, then in chains that grow.
    CHECK(counts.n_submits() - before < 75);
  }
}

TEST_CASE("what a filter allows may change with each token while the next step has begun") {
  auto device = open_gpu();
  if (!device) return;
  CountingDevice& counts = *device;
  const auto alone = load(std::move(device));
  const auto cpu = load(nullptr);
  constexpr uint32_t kTokens = 30;
  for (const kernels::SamplingParams& sampling : kinds()) {
    CAPTURE(sampling.temperature);
    const uint64_t before = counts.n_submits();
    const auto text = generate(*alone, prompt(40), sampling, kTokens, alternating());
    // The prompt and the first step as a whole, all others in two parts; a page may be copied.
    const uint64_t n_submits = counts.n_submits() - before;
    CHECK(n_submits >= 2 + 2 * (kTokens - 2));
    CHECK(n_submits <= 3 + 2 * (kTokens - 2));
    CHECK(text == generate_by_steps(*cpu, prompt(40), sampling, kTokens, alternating()));
    CHECK(text == generate(*cpu, prompt(40), sampling, kTokens, alternating()));
    CHECK(generate(*alone, prompt(40), sampling, kTokens, forcing()) ==
          generate(*cpu, prompt(40), sampling, kTokens, forcing()));
  }
  // Beside each other: one without a filter, one that ends, one with forced tokens.
  const auto together = load(open_gpu(), 4);
  engine::Scheduler scheduler(*together);
  const std::array<std::shared_ptr<engine::TokenFilter>, 4> filters = {nullptr, alternating(),
                                                                       alternating(9), forcing()};
  std::vector<std::vector<int32_t>> texts(4);
  size_t n_ended = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    engine::GenerateOptions options;
    options.sampling = kinds()[i];
    options.filter = filters[i];
    options.max_tokens = kTokens;
    base::deliver<base::Result<engine::GenerateStats>>(
        scheduler.generate(prompt(5 + 30 * i, i), options, {},
                           [&, i](const kernels::Chosen& chosen) {
                             texts[i].push_back(chosen.id);
                             return true;
                           }),
        [&](const base::Result<engine::GenerateStats>& done) {
          CHECK(done.has_value());
          ++n_ended;
        });
  }
  while (n_ended < 4) together->poll();
  const auto wanted = [&](uint32_t i, std::shared_ptr<engine::TokenFilter> filter) {
    return generate(*cpu, prompt(5 + 30 * i, i), kinds()[i], i == 2 ? 9 : kTokens,
                    std::move(filter));
  };
  CHECK(texts[0] == wanted(0, nullptr));
  CHECK(texts[1] == wanted(1, alternating()));
  CHECK(texts[2] == wanted(2, alternating()));
  CHECK(texts[3] == wanted(3, forcing()));
}

TEST_CASE("a recurrent state is that of the text where a step that had begun is not wanted") {
  const auto load_recurrent = [](const char* architecture, std::unique_ptr<gpu::Device> device) {
    fixtures::TinyShape shape;
    shape.architecture = architecture;
    shape.vocab = kVocab;
    engine::EngineOptions options;
    options.numerics = kernels::Numerics::kExact;
    options.kv_type = kernels::KvType::kF32;
    options.n_threads = 2;
    options.n_sequences = 2;
    return engine::test::load_engine(fixtures::tiny_recurrent_model(shape), std::move(device),
                                     std::move(options));
  };
  // Where tokens are forced a decode ends, behind which the text goes on from the state.
  for (const char* architecture : {"lfm2", "qwen35"}) {
    auto device = open_gpu();
    if (!device) return;
    const auto gpu = load_recurrent(architecture, std::move(device));
    const auto cpu = load_recurrent(architecture, nullptr);
    for (const kernels::SamplingParams& sampling : kinds()) {
      CHECK(generate(*gpu, prompt(20), sampling, 40, forcing()) ==
            generate(*cpu, prompt(20), sampling, 40, forcing()));
    }
  }
}

TEST_CASE("what runs on after an end token is dropped, and the next request does not see it") {
  auto device = open_gpu();
  if (!device) return;
  const auto engine = load(std::move(device));
  const kernels::SamplingParams sampling = kinds()[2];
  const auto whole = generate(*engine, prompt(30), sampling, 40);
  std::vector<int32_t> text;
  engine::GenerateOptions options;
  options.sampling = sampling;
  engine->cache().forget(0);
  run(*engine, engine::Scheduler(*engine).generate(prompt(30), options, {whole[25]},
                                                   [&](const kernels::Chosen& chosen) {
                                                     text.push_back(chosen.id);
                                                     return true;
                                                   }));
  const auto end = std::find(whole.begin(), whole.end(), whole[25]);
  CHECK(text == std::vector<int32_t>(whole.begin(), end));
  // Going on from what is kept gives what would have come.
  std::vector<int32_t> more = prompt(30);
  more.insert(more.end(), text.begin(), text.end());
  more.push_back(*end);
  CHECK(engine->cache().n_known(more) == more.size() - 1);
  std::vector<int32_t> rest;
  options.max_tokens = 10;
  run(*engine,
      engine::Scheduler(*engine).generate(more, options, {}, [&](const kernels::Chosen& chosen) {
        rest.push_back(chosen.id);
        return true;
      }));
  CHECK(rest == std::vector<int32_t>(end + 1, end + 11));
}

TEST_CASE("sequences decoded together, each by its own parameters, get the text they get alone") {
  auto device = open_gpu();
  if (!device) return;
  const auto alone = load(open_gpu());
  const auto together = load(std::move(device), 4);
  const auto cpu = load(nullptr, 4);
  constexpr uint32_t kTokens = 24;
  std::vector<std::vector<int32_t>> want(4);
  std::vector<engine::BatchRow> rows;
  for (uint32_t i = 0; i < 4; ++i) {
    want[i] = generate(*alone, prompt(5 + 30 * i, i), kinds()[i], kTokens);
    rows.push_back({3 - i, prompt(5 + 30 * i, i), kinds()[i]});
  }
  for (Engine* engine : {together.get(), cpu.get()}) {
    // All prompts in one step, then chains; then a step with fewer rows, as when a text has ended.
    std::vector<std::vector<int32_t>> texts(4);
    run(*engine, engine->decode(rows, kTokens - 4, [&](std::span<const kernels::Chosen> chosen) {
      for (size_t i = 0; i < 4; ++i) texts[i].push_back(chosen[i].id);
      return true;
    }));
    std::vector<engine::BatchRow> two = {{3, {texts[0].back()}, rows[0].sampling},
                                         {1, {texts[2].back()}, rows[2].sampling}};
    run(*engine, engine->decode(two, 4, [&](std::span<const kernels::Chosen> chosen) {
      texts[0].push_back(chosen[0].id);
      texts[2].push_back(chosen[1].id);
      return true;
    }));
    CHECK(texts[0] == want[0]);
    CHECK(texts[2] == want[2]);
    for (const size_t i : {1u, 3u})
      CHECK(texts[i] == std::vector<int32_t>(want[i].begin(), want[i].end() - 4));
  }
}

TEST_CASE("what is chosen once is what it is alone, by host or device, and so are the others") {
  auto device = open_gpu();
  if (!device) return;
  const auto alone = load(open_gpu());
  const auto engine = load(std::move(device), 4);
  constexpr uint32_t kTokens = 20;
  engine::Scheduler scheduler(*engine);
  std::vector<std::vector<int32_t>> texts(4);
  size_t n_ended = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    engine::GenerateOptions options;
    options.sampling = once_kinds()[i];
    if (i == 1) options.filter = odd();
    options.max_tokens = kTokens;
    base::deliver<base::Result<engine::GenerateStats>>(
        scheduler.generate(prompt(5 + 30 * i, i), options, {},
                           [&, i](const kernels::Chosen& chosen) {
                             texts[i].push_back(chosen.id);
                             CHECK(chosen.logprob.has_value() == (i % 2 == 0));
                             CHECK(chosen.top.size() == (i % 2 == 0 ? 2 : 0));
                             return true;
                           }),
        [&](const base::Result<engine::GenerateStats>& done) {
          CHECK(done.has_value());
          ++n_ended;
        });
  }
  while (n_ended < 4) engine->poll();
  for (uint32_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    const auto filter = i == 1 ? odd() : nullptr;
    CHECK(texts[i] == generate(*alone, prompt(5 + 30 * i, i), once_kinds()[i], kTokens, filter));
    for (const int32_t id : texts[1]) CHECK(id % 2 == 1);
  }
}

TEST_CASE("a prompt may join a step in which other sequences decode") {
  auto device = engine::test::open_gpu();
  if (!device) return;
  SUBCASE("in the class of whole steps") {}
  SUBCASE("in a class of short prompts") {
    device = std::make_unique<engine::test::FastCompiler>(std::move(device));
  }
  const auto alone = load(open_gpu());
  const auto engine = load(std::move(device), 2);
  const auto a = generate(*alone, prompt(20, 1), kinds()[1], 12);
  const auto b = generate(*alone, prompt(50, 2), kinds()[2], 6);
  std::vector<int32_t> got_a, got_b;
  run(*engine, engine->decode({{0, prompt(20, 1), kinds()[1]}}, 6,
                              [&](std::span<const kernels::Chosen> chosen) {
                                got_a.push_back(chosen[0].id);
                                return true;
                              }));
  run(*engine, engine->decode({{0, {got_a.back()}, kinds()[1]}, {1, prompt(50, 2), kinds()[2]}}, 6,
                              [&](std::span<const kernels::Chosen> chosen) {
                                got_a.push_back(chosen[0].id);
                                got_b.push_back(chosen[1].id);
                                return true;
                              }));
  CHECK(got_a == a);
  CHECK(got_b == b);
}

TEST_CASE("drafts change how many steps a text takes, and nothing of the text") {
  auto device = open_gpu();
  if (!device) return;
  const auto alone = load(open_gpu());
  constexpr uint32_t kTokens = 24, kDrafts = 5;
  const auto gpu = load(std::move(device), 2, kLongestChains, 256, kDrafts);
  const auto cpu = load(nullptr, 2, kLongestChains, 256, kDrafts);
  std::vector<kernels::SamplingParams> params = kinds();
  params.push_back(once_kinds()[0]);
  for (size_t kind = 0; kind <= params.size(); ++kind) {
    CAPTURE(kind);
    const bool filtered = kind == params.size();
    const kernels::SamplingParams& sampling = params[filtered ? 1 : kind];
    const auto want =
        generate(*alone, prompt(30), sampling, kTokens + kDrafts, filtered ? odd() : nullptr);
    const auto beside = generate(*alone, prompt(12, 1), kinds()[1], kTokens);
    for (Engine* engine : {gpu.get(), cpu.get()}) {
      // Every third draft is wrong, and with the filter one that it does not let pass; in every
      // second step those before it are all there are.
      const auto filter = filtered ? odd() : nullptr;
      std::vector<int32_t> text, other, next = prompt(30), other_next = prompt(12, 1);
      uint32_t n_steps = 0;
      for (uint32_t sequence = 0; sequence < 2; ++sequence) engine->cache().forget(sequence);
      for (; text.size() < kTokens; ++n_steps) {
        std::vector<int32_t> drafts;
        for (size_t i = 0; i < kDrafts; ++i) {
          const size_t at = text.size() + i;
          if (n_steps % 2 == 1 && at % 3 == 2) break;
          drafts.push_back(at % 3 == 2 ? (want[at] + (filtered ? 1 : 2)) % 1000 : want[at]);
        }
        engine::BatchRow row{0, next, sampling};
        row.filter = filter.get();
        row.drafts = drafts;
        std::vector<engine::BatchRow> rows = {row, {1, other_next, kinds()[1]}};
        run(*engine, engine->decode(rows, 1, [&](std::span<const kernels::Chosen> chosen) {
          size_t n = 0;  // drafts that stand
          for (;; ++n) {
            text.push_back(chosen[n].id);
            if (filter) filter->take(text.back());
            if (n == drafts.size() || text.back() != drafts[n]) break;
          }
          REQUIRE(chosen.size() == n + 2);
          next = {text.back()};
          other_next = {chosen.back().id};
          other.push_back(other_next[0]);
          return true;
        }));
        CHECK(engine->cache().n_tokens(0) == 30 + text.size() - 1);
      }
      CHECK(n_steps < kTokens / 2);
      CHECK(text == std::vector<int32_t>(want.begin(), want.begin() + text.size()));
      CHECK(other == std::vector<int32_t>(beside.begin(), beside.begin() + other.size()));
    }
  }
}

TEST_CASE("device memory is allocated at load and stays as it is over 2,000 tokens") {
  auto device = open_gpu();
  if (!device) return;
  CountingDevice& counts = *device;
  const auto engine = load(std::move(device), 1, engine::kChainMs, /*context=*/2112);
  const plan::MemoryUse use = engine->memory();
  const uint64_t bytes = counts.bytes(), created = counts.n_created();
  // The ring of the load is gone; what is reported beside it is all there is.
  CHECK(bytes <= use.weights + use.kv + use.arena + use.staging);
  CHECK(bytes >= use.weights + use.kv + use.arena);
  uint32_t n = 0;
  engine::GenerateOptions options;
  options.sampling = kinds()[2];
  options.max_tokens = 2000;
  run(*engine,
      engine::Scheduler(*engine).generate(prompt(100), options, {}, [&](const kernels::Chosen&) {
        ++n;
        if (n % 100 == 0) CHECK(counts.bytes() == bytes);
        return true;
      }));
  CHECK(n == 2000);
  CHECK(counts.n_created() == created);
}
