#include "cli/write_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/thread_pool.h"
#include "cli/output.h"
#include "cli/output_file.h"
#include "cli/plan_warnings.h"
#include "service/find_encoder.h"

namespace puna::cli {

using base::ErrorCode;
using base::Result;

namespace {

// What the file will take, against what there is: a disk that fills up costs the whole run.
Result<void> check_space(const io::OutputPlace& place, uint64_t bytes) {
  if (place.kind != io::OutputPlace::Kind::kFile) return {};
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::absolute(place.path, failed).parent_path();
  const std::filesystem::space_info space = std::filesystem::space(folder, failed);
  if (failed || space.available >= bytes) return {};
  return base::fail(ErrorCode::kIo,
                    fmt::format("Writing \"{}\" takes {}, but {} are free there.", place.name,
                                human_bytes(bytes), human_bytes(space.available)));
}

Result<void> write(formats::ModelFile in, int n_threads, const formats::QuantizeOptions& options,
                   const std::string& output, ProgressBar& bar) {
  PUNA_TRY(const io::OutputPlace place, io::find_output(output, in.paths));
  const std::vector<formats::TensorPlan> plans = formats::plan_tensors(in, options);
  warn_of_plans(in, plans);
  uint64_t bytes_before = 0, bytes_after = 0, n_weights = 0;
  for (size_t i = 0; i < plans.size(); ++i) {
    const formats::Tensor& t = in.tensors[i];
    bytes_before += plans[i].opaque ? plans[i].bytes : t.bytes;
    bytes_after += plans[i].bytes;
    n_weights += t.rows() * t.columns();
  }
  PUNA_TRY(check_space(place, bytes_after));
  base::ThreadPool pool(n_threads);
  PUNA_TRY(const auto out, create_output(place));
  const auto show = [&](const formats::QuantizeProgress& p) {
    bar.update(fmt::format("writing {}", options.mix ? options.mix->name : "gguf"), p.done_bytes,
               p.total_bytes);
    return !interrupted();
  };
  PUNA_TRY_CONTEXT(base::run_until(formats::quantize(in, options, *out, pool, show), [] {}),
                   fmt::format("While writing {}", output));
  bar.clear();
  const std::string summary =
      fmt::format("{}: {} tensors, {} to {}, {:.2f} bits per weight\n", base::printable(output),
                  plans.size(), human_bytes(bytes_before), human_bytes(bytes_after),
                  8.0 * static_cast<double>(bytes_after) /
                      static_cast<double>(std::max<uint64_t>(n_weights, 1)));
  write_raw(place.is_stdout ? stderr : stdout, summary);
  return {};
}

}  // namespace

Result<void> write_model(const ModelFlags& model, const formats::QuantizeOptions& options,
                         const std::string& output) {
  catch_interrupts();
  ProgressBar bar;
  PUNA_TRY(const service::OpenOptions open, open_options(model, {}, bar));
  PUNA_TRY(formats::ModelFile in, service::open_file(open));
  return write(std::move(in), open.engine.n_threads, options, output, bar);
}

Result<void> write_encoder(const ModelFlags& model, const std::string& output) {
  catch_interrupts();
  ProgressBar bar;
  PUNA_TRY(const service::OpenOptions open, open_options(model, {}, bar));
  PUNA_TRY(formats::ModelFile in, service::open_encoder_file(open));
  return write(std::move(in), open.engine.n_threads, {}, output, bar);
}

}  // namespace puna::cli
