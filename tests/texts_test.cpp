// Golden texts: the plans of two tiny models as `puna inspect --plan` prints them, and the expanded
// WGSL of some of their kernels, compared with the files of tests/texts/ without a GPU. A change
// that should change nothing shows no difference; for one that should, tools/renew_texts rewrites
// the files, and the commit shows what changed.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "base/task.h"
#include "formats/open.h"
#include "models/models.h"
#include "models/testing/tiny_model.h"
#include "plan/fuse.h"
#include "plan/gpu_plan.h"

using namespace puna;

namespace {

const std::filesystem::path kFolder = "tests/texts";

// A plan with the device it is for.
struct Planned {
  gpu::DeviceInfo device;
  plan::GpuPlan plan;
};

Planned plan_of(const formats::ModelFile& file, gpu::DeviceInfo device, kernels::KvType kv_type,
                kernels::Numerics numerics) {
  const auto config = models::read_config(file);
  REQUIRE_MESSAGE(config.has_value(), config.error().text());
  auto graph = models::build(file, *config);
  REQUIRE_MESSAGE(graph.has_value(), graph.error().text());
  plan::CacheConfig cache;
  cache.type = kv_type;
  cache.pages_per_sequence = cache.n_pages = config->context / kernels::kPageTokens;
  auto plan = plan::plan_gpu(plan::fuse(*std::move(graph)), cache, device, {.numerics = numerics});
  REQUIRE_MESSAGE(plan.has_value(), plan.error().text());
  return {std::move(device), *std::move(plan)};
}

// One layer of mixed k-types as `puna run` plans it for a GPU that has what most have.
Planned llama() {
  auto file = base::run_until(
      formats::open_model("tests/goldens/llama-q4_k_m.gguf", {.map = false}), [] {});
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  gpu::DeviceInfo device;
  device.f16 = device.subgroups = device.dot4 = true;
  device.subgroup_min = device.subgroup_max = 32;
  return plan_of(*file, device, kernels::KvType::kF16, kernels::Numerics::kFast);
}

// Two layers of f32 weights, local and global, as `puna logits` plans them for the WebGPU baseline.
Planned gemma3() {
  fixtures::TinyShape shape;
  shape.architecture = "gemma3";
  return plan_of(fixtures::tiny_model(shape), {}, kernels::KvType::kF32, kernels::Numerics::kExact);
}

// The WGSL of the first call with this template and label.
std::string wgsl(const Planned& planned, std::string_view kernel, std::string_view label) {
  for (const auto* part : {&planned.plan.body, &planned.plan.head, &planned.plan.sample}) {
    for (const plan::GpuPlan::BatchClass& c : *part) {
      const auto call = std::ranges::find_if(c.calls, [&](const kernels::KernelCall& k) {
        return k.kernel == kernel && k.label == label;
      });
      if (call == c.calls.end()) continue;
      auto text = kernels::expand(*call, planned.device);
      REQUIRE_MESSAGE(text.has_value(), text.error().text());
      return *std::move(text);
    }
  }
  FAIL("the plan has no ", kernel, " with the label ", label);
  return {};
}

struct Text {
  std::string file, content;
};

std::vector<Text> texts() {
  const Planned a = llama(), b = gemma3();
  std::vector<Text> out = {{"llama.plan.txt", describe(a.plan)},
                           {"gemma3.plan.txt", describe(b.plan)}};
  const auto add = [&](const Planned& planned, const char* file, std::string_view kernel,
                       std::string_view label) {
    out.push_back({file, wgsl(planned, kernel, label)});
  };
  add(a, "llama.matvec.wgsl", "matmul/matvec.wgsl", "blk.0.ffn_down.weight");
  add(a, "llama.gemm_int8.wgsl", "matmul/gemm_int8.wgsl", "blk.0.attn_output.weight");
  add(b, "gemma3.norm.wgsl", "norm/norm.wgsl",
      "blk.0.post_attention_norm.weight+blk.0.ffn_norm.weight");
  add(b, "gemma3.rope.wgsl", "rope/rope.wgsl", "blk.0.rope");
  add(b, "gemma3.attention_decode.wgsl", "attention/attention_decode.wgsl", "blk.0.attention");
  return out;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The first line in which two texts differ, with both versions.
std::string difference(const std::string& old_text, const std::string& new_text) {
  const auto [a, b] = std::ranges::mismatch(old_text, new_text);
  const auto at = static_cast<size_t>(a - old_text.begin());
  const size_t begin = old_text.rfind('\n', at == 0 ? 0 : at - 1) + 1;
  const auto line = [&](const std::string& text) {
    return text.substr(std::min(begin, text.size()), text.find('\n', begin) - begin);
  };
  return fmt::format("line {}\n- {}\n+ {}",
                     1 + std::count(old_text.begin(), old_text.begin() + ptrdiff_t(begin), '\n'),
                     line(old_text), line(new_text));
}

}  // namespace

TEST_CASE("plans and expanded WGSL are the golden texts") {
  const bool renew = std::getenv("PUNA_RENEW_TEXTS") != nullptr;
  std::set<std::string> known = {"README.md"};
  for (const Text& text : texts()) {
    known.insert(text.file);
    const std::filesystem::path path = kFolder / text.file;
    const std::string golden = read(path);
    if (golden == text.content) continue;
    if (renew) {
      std::ofstream(path, std::ios::binary) << text.content;
      MESSAGE("renewed ", path.string());
    } else {
      FAIL_CHECK(path.string(), ", ", difference(golden, text.content),
                 "\nIf this change is meant, run tools/renew_texts and commit what it rewrites.");
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    CHECK_MESSAGE(known.contains(entry.path().filename().string()), entry.path().string(),
                  " is no golden text any more; remove it.");
  }
}
