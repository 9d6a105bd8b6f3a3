// The GPU form of embed.h: one call for each chunk of the table.
#include "kernels/embed/embed.h"

#include "kernels/common/describe.h"
#include "kernels/common/weight_defines.h"

namespace puna::kernels {

base::Result<void> embed(const gpu::DeviceInfo&, const EmbedArgs& args,
                         std::vector<KernelCall>& out) {
  constexpr uint32_t kWorkgroup = 64;  // embed.wgsl
  for (const GpuWeight::Chunk& chunk : args.weight.chunks) {
    PUNA_TRY(check_weight_shape(args.label, args.weight.type, chunk.n_rows, args.weight.cols));
    Describe call(args.label, "embed/embed.wgsl");
    call.constant("B_W", chunk.slice).constant("B_STEP", args.step).arena("B_X", args.x);
    for (auto& [name, value] : weight_defines(args.weight.type, chunk.n_rows, args.weight.cols))
      call.text(name, value);
    call.text("FIRST_ROW", fmt::format("{}u", chunk.first_row)).real("SCALE", args.scale);
    static constexpr const char* kRows[] = {"step[STEP_TOKENS + t]", "step[STEP_POSITIONS + t]",
                                            "0u"};
    const bool clamped = args.row == EmbedRow::kToken && args.of_media == EmbedMedia::kFirst;
    call.text("TABLE_ROW", clamped ? "u32(max(bitcast<i32>(step[STEP_TOKENS + t]), 0))"
                                   : kRows[static_cast<size_t>(args.row)]);
    call.number("ADD", args.add);
    if (args.of_media == EmbedMedia::kRows) {
      call.number("MEDIA_ROWS", 1);
      call.constant("B_MEDIA", *args.media);
      call.number("MEDIA_COLUMNS", args.media_columns != 0 ? args.media_columns : args.weight.cols);
    }
    call.grid({Extent::kOne, div_up(args.weight.cols, 32 * kWorkgroup), 1}, {Extent::kTokens})
        .add_to(out);
  }
  return {};
}

}  // namespace puna::kernels
