// Models as Hugging Face has them: config.json and *.safetensors in f32, f16 or bf16 (gpt-oss also
// in mxfp4), seen as a GGUF file would have them. Nothing is converted before it is read. Read
// next: hf/families.h.
#pragma once

#include <string>

#include "formats/folder.h"
#include "formats/hf/config.h"
#include "formats/raw_tensor.h"

namespace puna::formats {

// Errors: kNotFound naming a missing file, key or tensor; kCorrupt; kUnsupported naming the model
// type, quantization or option.
base::Task<base::Result<ModelFile>> load_hf_folder(const ModelFolder& folder, std::string config);

// The encoder of pictures or sounds of the same folder, as an mmproj file. Errors: as above.
base::Task<base::Result<ModelFile>> load_hf_encoder(const ModelFolder& folder);
// Whether config.json tells of one that is known. Errors: kIo, kCorrupt.
base::Task<base::Result<bool>> has_hf_encoder(const ModelFolder& folder);

// The mapping alone: a model of the tensors of `raw`, called as Hugging Face does. Errors: as
// above.
base::Result<ModelFile> map_hf_model(std::string name, hf::Config config, RawModel raw);

}  // namespace puna::formats
