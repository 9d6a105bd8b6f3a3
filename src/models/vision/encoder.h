// Encoders of pictures and sounds, read from mmproj files (GGUF, "clip.*" keys). Each file of this
// folder and of audio/ turns one kind's keys into an EncoderConfig and its layers into builder
// words; the table in encoders.cpp is the index. What a kind's rows are made of is data
// (RowRecipe), so that one function unfolds all pictures (rows.h). Read next: gemma3.cpp, the
// plainest one.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/model_file.h"
#include "kernels/common/activation.h"
#include "models/vision/projector.h"
#include "plan/graph.h"

namespace puna::models {

// What is added to the rows of a picture before the first block.
enum class AddedRows : uint8_t {
  kNone,
  kTable,         // the row of the patch in v.position_embd, a table for the one size there is
  kInterpolated,  // the same of a square table, bilinearly between its rows, corners aligned
  kByAxis,        // a row of v.position_embd for x and one for y
};

// What the rows of a tile are made of.
struct RowRecipe {
  bool any_size = false;  // tiles of any whole number of cells; else image_size squared
  uint32_t merge = 1;     // patches of a cell along each axis: they stand together, cell by cell
  AddedRows added = AddedRows::kNone;
  bool class_row = false;      // v.class_embd, the last row; its position is the table's first
  bool grid = false;           // positions of rows and columns for a rope
  uint32_t window = 0;         // cells of a window along each axis; they stand window by window
  bool signed_pixels = false;  // 2 v - 1 of each value
  bool breaks = false;         // v.token_embd.img_break behind each line of cells but the last
};

// What the rows of a sound are made of: a row of two frames, or of a cell of frames and bins.
struct SoundRecipe {
  uint32_t padded_seconds = 30;  // media::MelRecipe
  uint32_t stack = 1;            // rows that become one
  // The silence behind a sound makes no rows, and rows do not see it.
  bool sounding_only = false;
  bool partly = false;        // the last rows may be less than a stack, zeros filled up
  uint32_t chunk_frames = 0;  // frames that see each other alone, their positions from 0; 0: all
  bool cells = false;         // audio/cells.h; of all else `stack` alone counts then

  // The least frames that give a row.
  uint32_t least_frames() const { return sounding_only && !partly ? 2 * stack - 1 : 1; }
};

// What an encoder's keys say.
struct EncoderConfig {
  Projector projector;
  std::string prefix;  // of its tensors, "v" or "a"
  uint32_t n_layers = 0;
  uint32_t hidden = 0;
  uint32_t ffn = 0;
  uint32_t n_heads = 0;
  float eps = 1e-6f;
  kernels::Activation activation = kernels::Activation::kGeluQuick;
  uint32_t image_size = 0, patch_size = 0;  // of pictures
  std::array<float, 3> mean = {}, std = {};
  uint32_t n_bins = 0;              // of sounds
  uint32_t full_every = 0;          // of blocks with windows: each n-th sees all
  std::vector<uint32_t> deepstack;  // blocks whose results are projected too
  RowRecipe rows;
  SoundRecipe sound;

  uint32_t head_dim() const { return hidden / n_heads; }
};

// Tables of the file that the host works with, by name; of all elements in their order.
using EncoderTables = std::map<std::string, std::vector<float>, std::less<>>;

// What an encoder reads: [height, width, 3] normalised pixels, or [n_bins, width] of a sound
// (height is the bins).
struct EncoderInput {
  std::span<const float> values;
  uint32_t height = 0, width = 0;
  uint32_t n_sounding = 0;  // frames before a sound ends; 0: all
};

constexpr uint32_t kBreakRow = UINT32_MAX;

// One run of a graph: values of its inputs, and where the outputs go.
struct EncoderRows {
  uint32_t n_rows = 0, n_outputs = 0;
  std::vector<float> inputs;  // of each input of the graph in turn, [n_rows, its columns]
  Cells cells;
  // The rows of the tile, each the number of an output or kBreakRow.
  std::vector<uint32_t> places;
};

// One kind, by what the files call it.
struct EncoderKind {
  std::string_view name;
  Sense sense = Sense::kPictures;
  // Fills in what is peculiar to the kind; what all have is there.
  base::Result<void> (*read)(const formats::ModelFile& file, EncoderConfig& config);
  // Makes matrices of tensors that are none in the file.
  base::Result<void> (*arrange)(formats::ModelFile& file, const EncoderConfig& config);
  base::Result<plan::Graph> (*build)(const formats::ModelFile& file, const EncoderConfig& config);
  std::vector<MediaPiece> (*pieces)(const MediaShape& shape);
};

std::span<const EncoderKind> encoder_kinds();
// Whether the file has an encoder of this sense.
bool has_encoder(const formats::ModelFile& file, Sense sense);

// Errors: those of read_projector(); kCorrupt naming keys that do not belong together.
base::Result<EncoderConfig> read_encoder(const formats::ModelFile& file, Sense sense);
// Changes the file to what build_encoder() reads. To be called once.
base::Result<void> arrange_encoder(formats::ModelFile& file, const EncoderConfig& config);
// Errors: kNotFound (tensor), kCorrupt (shape), kUnsupported naming a tensor of the encoder that
// nothing reads.
base::Result<plan::Graph> build_encoder(const formats::ModelFile& file,
                                        const EncoderConfig& config);
// The names of EncoderTables.
std::vector<std::string> encoder_tables(const EncoderConfig& config);
// Errors: kInvalidArgument with both sizes where the encoder does not take such an input.
base::Result<EncoderRows> encoder_rows(const EncoderConfig& config, const EncoderTables& tables,
                                       const EncoderInput& input);
// The most rows of a tile of this size, without its values. Errors: as encoder_rows().
base::Result<uint32_t> count_rows(const EncoderConfig& config, uint32_t height, uint32_t width);
// The cells that a tile becomes, EncoderRows::cells, without its values. Errors: as encoder_rows().
base::Result<Cells> count_cells(const EncoderConfig& config, const EncoderInput& input);

// Parts of tables.
base::Result<void> read_gemma3_encoder(const formats::ModelFile& file, EncoderConfig& config);
base::Result<void> read_gemma4_audio_encoder(const formats::ModelFile& file, EncoderConfig& config);
base::Result<void> read_gemma4_encoder(const formats::ModelFile& file, EncoderConfig& config);
base::Result<void> read_idefics3_encoder(const formats::ModelFile& file, EncoderConfig& config);
base::Result<void> read_internvl_encoder(const formats::ModelFile& file, EncoderConfig& config);
base::Result<void> read_llava_encoder(const formats::ModelFile& file, EncoderConfig& config);
base::Result<void> read_pixtral_encoder(const formats::ModelFile& file, EncoderConfig& config);
base::Result<void> read_qwen2_5_vl_encoder(const formats::ModelFile& file, EncoderConfig& config);
base::Result<void> read_qwen3_vl_encoder(const formats::ModelFile& file, EncoderConfig& config);
base::Result<void> read_qwen2_audio_encoder(const formats::ModelFile& file, EncoderConfig& config);
base::Result<void> read_qwen2_omni_encoder(const formats::ModelFile& file, EncoderConfig& config);
base::Result<void> read_qwen2_vl_encoder(const formats::ModelFile& file, EncoderConfig& config);
base::Result<void> read_ultravox_encoder(const formats::ModelFile& file, EncoderConfig& config);
base::Result<void> read_voxtral_encoder(const formats::ModelFile& file, EncoderConfig& config);

base::Result<void> arrange_patches(formats::ModelFile& file, const EncoderConfig& config);
base::Result<void> arrange_gemma3_encoder(formats::ModelFile& file, const EncoderConfig& config);
base::Result<void> arrange_gemma4_audio_encoder(formats::ModelFile& file,
                                                const EncoderConfig& config);
base::Result<void> arrange_gemma4_encoder(formats::ModelFile& file, const EncoderConfig& config);
base::Result<void> arrange_whisper_encoder(formats::ModelFile& file, const EncoderConfig& config);
base::Result<void> arrange_ultravox_encoder(formats::ModelFile& file, const EncoderConfig& config);

using BuiltEncoder = base::Result<plan::Graph>;
BuiltEncoder build_gemma3_encoder(const formats::ModelFile& file, const EncoderConfig& config);
BuiltEncoder build_gemma4_audio_encoder(const formats::ModelFile& file,
                                        const EncoderConfig& config);
BuiltEncoder build_gemma4_encoder(const formats::ModelFile& file, const EncoderConfig& config);
BuiltEncoder build_idefics3_encoder(const formats::ModelFile& file, const EncoderConfig& config);
BuiltEncoder build_internvl_encoder(const formats::ModelFile& file, const EncoderConfig& config);
BuiltEncoder build_llava_encoder(const formats::ModelFile& file, const EncoderConfig& config);
BuiltEncoder build_pixtral_encoder(const formats::ModelFile& file, const EncoderConfig& config);
BuiltEncoder build_qwen2_5_vl_encoder(const formats::ModelFile& file, const EncoderConfig& config);
BuiltEncoder build_qwen3_vl_encoder(const formats::ModelFile& file, const EncoderConfig& config);
BuiltEncoder build_qwen2_audio_encoder(const formats::ModelFile& file, const EncoderConfig& config);
BuiltEncoder build_ultravox_encoder(const formats::ModelFile& file, const EncoderConfig& config);
BuiltEncoder build_voxtral_encoder(const formats::ModelFile& file, const EncoderConfig& config);

}  // namespace puna::models
