// What llama-batched-bench measures, over the public interface of an installed libllama: for where
// the program itself is not packaged (Debian's llama.cpp-tools). Prints one JSON line for each
// number of texts, with that program's names: pl, speed_pp, speed_tg (tokens a second of all
// texts).
//
// usage: llama_batched -m MODEL.gguf -npp P -ntg N -npl 1,2,4 -t THREADS [further flags are passed
// over] build: c++ -O2 -std=c++17 llama_batched.cpp -lllama -lggml -lggml-base -o llama_batched
#include <llama.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace {

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string flag(int argc, char** argv, const char* name, const char* otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string(argv[i]) == name) return argv[i + 1];
  }
  return otherwise;
}

// One token of each text, or several of the prompts, the logits of the last of each text.
void decode(llama_context* context, llama_batch& batch) {
  if (batch.n_tokens == 0) return;
  if (llama_decode(context, batch) != 0) {
    std::fprintf(stderr, "llama_decode failed\n");
    std::exit(1);
  }
  llama_synchronize(context);
  batch.n_tokens = 0;
}

void add(llama_batch& batch, int token, int position, int sequence, bool logits) {
  const int i = batch.n_tokens++;
  batch.token[i] = token;
  batch.pos[i] = position;
  batch.n_seq_id[i] = 1;
  batch.seq_id[i][0] = sequence;
  batch.logits[i] = logits;
}

}  // namespace

int main(int argc, char** argv) {
  const int n_prompt = std::stoi(flag(argc, argv, "-npp", "128"));
  const int n_answer = std::stoi(flag(argc, argv, "-ntg", "64"));
  const int n_threads = std::stoi(flag(argc, argv, "-t", "2"));
  std::vector<int> parallel;
  std::stringstream list(flag(argc, argv, "-npl", "1"));
  for (std::string n; std::getline(list, n, ',');) parallel.push_back(std::stoi(n));
  int most = 1;
  for (const int n : parallel) most = n > most ? n : most;

  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  ggml_backend_load_all();
  llama_model_params model_params = llama_model_default_params();
  model_params.n_gpu_layers = 0;
  llama_model* model = llama_model_load_from_file(flag(argc, argv, "-m", "").c_str(), model_params);
  if (!model) {
    std::fprintf(stderr, "the model cannot be loaded\n");
    return 1;
  }
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<uint32_t>(most * (n_prompt + n_answer));
  params.n_batch = 2048;
  params.n_ubatch = 512;
  params.n_seq_max = static_cast<uint32_t>(most);
  params.n_threads = params.n_threads_batch = n_threads;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
  params.kv_unified = true;
  llama_context* context = llama_init_from_model(model, params);
  if (!context) {
    std::fprintf(stderr, "the context cannot be made\n");
    return 1;
  }
  const int vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
  llama_batch batch = llama_batch_init(2048, 0, 1);
  const auto token = [&] { return std::rand() % vocab; };
  for (int i = 0; i < 16; ++i) add(batch, token(), i, 0, i == 15);
  decode(context, batch);  // warm
  for (const int n : parallel) {
    llama_memory_clear(llama_get_memory(context), false);
    const double begin = seconds();
    for (int s = 0; s < n; ++s) {
      for (int i = 0; i < n_prompt; ++i) {
        add(batch, token(), i, s, i == n_prompt - 1);
        if (batch.n_tokens == 2048) decode(context, batch);
      }
    }
    decode(context, batch);
    const double answers = seconds();
    for (int step = 0; step < n_answer; ++step) {
      for (int s = 0; s < n; ++s) add(batch, token(), n_prompt + step, s, true);
      decode(context, batch);
    }
    const double end = seconds();
    std::printf("{\"pl\": %d, \"speed_pp\": %.3f, \"speed_tg\": %.3f}\n", n,
                n * n_prompt / (answers - begin), n * n_answer / (end - answers));
    std::fflush(stdout);
  }
  llama_batch_free(batch);
  llama_free(context);
  llama_model_free(model);
  return 0;
}
