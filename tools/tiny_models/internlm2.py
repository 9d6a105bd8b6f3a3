"""A Llama model as a folder of InternLM2, which is the same model under other names (InternLM2 report, Cai et al. 2024): q, k and v are one
weight wqkv, whose rows are, KV head by KV head, those of the query heads that share it, of its keys and of its values."""
import json

import torch
from safetensors.torch import save_file

NAMES = {"self_attn.o_proj": "attention.wo", "mlp.gate_proj": "feed_forward.w1", "mlp.up_proj": "feed_forward.w3",
         "mlp.down_proj": "feed_forward.w2", "input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm",
         "model.embed_tokens": "model.tok_embeddings", "lm_head": "output"}


def save(model, folder):
    config, state = model.config, {}
    n_kv, head_dim = config.num_key_value_heads, config.head_dim
    weights = model.state_dict()
    for name, weight in weights.items():
        if ".k_proj." in name or ".v_proj." in name:
            continue
        if ".q_proj." in name:
            parts = [weights[name.replace("q_proj", f"{part}_proj")].reshape(n_kv, -1, head_dim, config.hidden_size) for part in "qkv"]
            name, weight = name.replace("self_attn.q_proj", "attention.wqkv"), torch.cat(parts, 1).reshape(-1, config.hidden_size)
        for hf, own in NAMES.items():
            name = name.replace(hf, own)
        state[name] = weight.contiguous()
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    facts = {key: getattr(config, key) for key in ("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads",
                                                   "num_hidden_layers", "max_position_embeddings", "rms_norm_eps", "vocab_size", "hidden_act",
                                                   "bos_token_id", "eos_token_id")}
    facts |= {"model_type": "internlm2", "architectures": ["InternLM2ForCausalLM"], "rope_theta": config.rope_parameters["rope_theta"],
              "tie_word_embeddings": False, "bias": False, "torch_dtype": "float32"}
    (folder / "config.json").write_text(json.dumps(facts))
