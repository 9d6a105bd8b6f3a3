"""A dense DeepSeek-V3 model as a folder of MiniCPM3, which transformers lacks: the same layers, with multipliers on the embeddings, on what a block
adds to the residual stream and on the logits. The folder's weights are divided by them, so that both models compute the same."""
import json

import torch
from safetensors.torch import save_file

SCALE_EMB, SCALE_DEPTH, BASE_WIDTH = 4.0, 1.4, 32


def save(model, folder, dtype):
    """Writes the weights in dtype; the model gets what was written."""
    config, state = model.config, {}
    residual = SCALE_DEPTH / config.num_hidden_layers**0.5
    divisors = {"embed_tokens": SCALE_EMB, "o_proj": residual, "down_proj": residual, "lm_head": BASE_WIDTH / config.hidden_size}
    with torch.no_grad():
        for name, weight in model.state_dict().items():
            divisor = next((by for part, by in divisors.items() if part in name), 1.0)
            state[name] = (weight / divisor).to(dtype).contiguous()
            weight.copy_(state[name].float() * divisor)
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    facts = {key: getattr(config, key) for key in (
        "hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads", "num_hidden_layers", "max_position_embeddings",
        "rms_norm_eps", "vocab_size", "hidden_act", "bos_token_id", "eos_token_id", "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim",
        "qk_rope_head_dim", "attention_bias")}
    rope = dict(config.rope_parameters)
    facts |= {"model_type": "minicpm3", "architectures": ["MiniCPM3ForCausalLM"], "scale_emb": SCALE_EMB, "scale_depth": SCALE_DEPTH,
              "dim_model_base": BASE_WIDTH, "rope_theta": rope.pop("rope_theta"), "rope_scaling": {"type": rope.pop("rope_type"), **rope},
              "tie_word_embeddings": False, "torch_dtype": str(dtype).removeprefix("torch.")}
    (folder / "config.json").write_text(json.dumps(facts))
