// The logits of every position of a prompt as llama.cpp computes them with the least rounding: the
// file expanded to F32 (as llama-quantize --allow-requantize IN OUT F32 does: no int8 activations),
// f32 KV cache, no flash attention. usage: llamacpp_logits MODEL.gguf IDS OUT.npy [THREADS] IDS:
// token ids separated by commas Writes float32 [n_tokens, n_vocab], and OUT.npy.gguf while it
// works. Built by llamacpp_logits.sh.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "llama.h"

namespace {

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  std::exit(1);
}

std::vector<llama_token> parse_ids(const char* text) {
  std::vector<llama_token> ids;
  for (const char* at = text; *at != '\0';) {
    char* end = nullptr;
    ids.push_back(static_cast<llama_token>(std::strtol(at, &end, 10)));
    if (end == at || (*end != ',' && *end != '\0')) fail(std::string("not a list of ids: ") + at);
    at = *end == ',' ? end + 1 : end;
  }
  return ids;
}

// .npy version 1.0: magic, header length, a Python literal padded to 64 bytes, the values.
void write_npy(const char* path, const float* values, size_t rows, size_t columns) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                       std::to_string(rows) + ", " + std::to_string(columns) + "), }";
  header.append(63 - (10 + header.size()) % 64, ' ').push_back('\n');
  const auto length = static_cast<uint16_t>(header.size());
  std::FILE* file = std::fopen(path, "wb");
  if (file == nullptr) fail(std::string("cannot write ") + path);
  std::fwrite("\x93NUMPY\x01\x00", 1, 8, file);
  std::fwrite(&length, sizeof(length), 1, file);
  std::fwrite(header.data(), 1, header.size(), file);
  const size_t written = std::fwrite(values, sizeof(float), rows * columns, file);
  if (std::fclose(file) != 0 || written != rows * columns)
    fail(std::string("cannot write all of ") + path);
}

// Four bytes a weight: 1.1 GB for 270 M.
void expand(const char* model, const std::string& out) {
  llama_model_quantize_params params = llama_model_quantize_default_params();
  params.ftype = LLAMA_FTYPE_ALL_F32;
  params.allow_requantize = true;
  if (llama_model_quantize(model, out.c_str(), &params) != 0)
    fail(std::string("llama.cpp does not expand ") + model);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) fail("usage: llamacpp_logits MODEL.gguf IDS OUT.npy [THREADS]");
  std::vector<llama_token> ids = parse_ids(argv[2]);
  const auto n = static_cast<uint32_t>(ids.size());
  if (n == 0) fail("no token ids");
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  llama_backend_init();

  llama_model_params model_params = llama_model_default_params();
  model_params.n_gpu_layers = 0;
  model_params.use_extra_bufts = false;  // no repacked weights
  const std::string expanded = std::string(argv[3]) + ".gguf";
  expand(argv[1], expanded);
  llama_model* model = llama_model_load_from_file(expanded.c_str(), model_params);
  std::remove(expanded.c_str());  // its mapping stays
  if (model == nullptr) fail(std::string("llama.cpp does not load ") + argv[1]);
  const int n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));

  llama_context_params params = llama_context_default_params();
  params.n_ctx = n;
  params.n_batch = n;
  params.n_ubatch = n;
  params.n_threads = params.n_threads_batch = argc > 4 ? std::atoi(argv[4]) : 2;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.type_k = params.type_v = GGML_TYPE_F32;
  llama_context* context = llama_init_from_model(model, params);
  if (context == nullptr) fail("llama.cpp makes no context");

  llama_batch batch = llama_batch_init(static_cast<int32_t>(n), 0, 1);
  batch.n_tokens = static_cast<int32_t>(n);
  for (uint32_t i = 0; i < n; ++i) {
    batch.token[i] = ids[i];
    batch.pos[i] = static_cast<llama_pos>(i);
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = 1;
  }
  if (llama_decode(context, batch) != 0) fail("llama.cpp does not evaluate the prompt");
  write_npy(argv[3], llama_get_logits(context), n, static_cast<size_t>(n_vocab));
  llama_batch_free(batch);
  llama_free(context);
  llama_model_free(model);
  llama_backend_free();
}
