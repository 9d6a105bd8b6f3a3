#include "cli/command.h"

namespace puna::cli {
namespace {

constexpr Command kCommands[] = {
    {"run", "Answer a prompt, or chat on the terminal",
     "puna run smollm2 \"Why is the sky blue?\" --temp 0 -n 64", add_run},
    {"serve", "Serve a model over HTTP, for many clients at once",
     "puna serve --model smollm2 --port 8080", add_serve, spell_serve},
    {"pull", "Fetch a model into the store",
     "puna pull hf.co/bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M", add_pull},
    {"push", "Send a stored model to the registry of its name",
     "puna push localhost:5000/me/model:v1", add_push},
    {"list", "List the models of this machine, and where each is kept", "puna list --json",
     add_list},
    {"show", "Tell of a model: what it is, can do, and was made with",
     "puna show smollm2 --modelfile", add_show},
    {"create", "Make a model from a Modelfile", "puna create brief -f Modelfile --quantize q4_k_m",
     add_create},
    {"ps", "List the models that a running server has loaded", "puna ps --json", add_ps},
    {"stop", "Have a running server unload a model", "puna stop smollm2", add_stop},
    {"launch", "Start a coding agent that uses the models of a running server",
     "puna launch claude --model qwen3 -- --verbose", add_launch},
    {"cp", "Give a stored model a second name", "puna cp smollm2 localhost:5000/me/smollm2",
     add_copy},
    {"rm", "Delete models of the store", "puna rm smollm2", add_remove},
    {"verify", "Check every file of the store, and mend what is damaged", "puna verify --repair",
     add_verify},
    {"logits", "Write the logits of every position of a token list",
     "puna logits --model model.gguf --tokens 1,2,3 --output x.npy --device cpu", add_logits},
    {"embed", "Write the embeddings of texts or of a token list",
     "puna embed --model model.gguf \"A text\" \"Another\" --output x.npy", add_embed},
    {"perplexity", "Measure how well a model foretells a text, and how far it is from another",
     "puna perplexity text.txt --model model-q4.gguf --kl-base f16.kld", add_perplexity},
    {"tokenize", "Print the token ids of a text", "puna tokenize --model smollm2 \"Hello world\"",
     add_tokenize},
    {"detokenize", "Print the text of token ids", "puna detokenize --model smollm2 19556,905",
     add_detokenize},
    {"inspect", "Show what a model file holds, and the plan it would run",
     "puna inspect model.gguf --plan", add_inspect},
    {"devices", "List the devices and say which one is chosen", "puna devices --json", add_devices},
    {"bench", "Measure prefill and decode speed",
     "puna bench --synthetic llama3.2-1b:q4_0 -p 512 -n 128 -d 0,2048", add_bench},
    {"quantize", "Write a model again with other weight types",
     "puna quantize model-f16.gguf model-q4.gguf q4_k_m", add_quantize},
    {"selftest", "Check every kernel against its plain reference on a device",
     "puna selftest --device gpu", add_selftest},
    {"convert", "Write a folder of Hugging Face or MLC weights as a GGUF file",
     "puna convert Qwen3-0.6B qwen3.gguf --type q8_0", add_convert},
    {"tune", "Find faster settings for a model's kernels on a GPU, and keep them",
     "puna tune --synthetic llama3.1-8b:q4_k_m --device gpu --budget 120", add_tune},
    {"completions", "Print what completes command lines in a shell",
     "puna completions bash > ~/.local/share/bash-completion/completions/puna", add_completions},
    {"man", "Print the manual page of the program or of a command", "puna man run | man -l -",
     add_man},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

}  // namespace puna::cli
