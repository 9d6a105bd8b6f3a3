"""JINA Embeddings 3 (Sturua et al. 2024) as a folder of the form that its makers first published: as transformers writes it (q, k and v one
weight), and beside each weight adapters for tasks, which are not applied where no task is given."""
import json

import torch
from safetensors.torch import save_file

NAMES = {"embeddings.LayerNorm": "emb_ln", "layers.": "encoder.layers.", "self_attn.o_proj": "mixer.out_proj",
         "post_attention_layernorm": "norm1", "post_mlp_layernorm": "norm2"}
RANK, TASKS = 2, ["retrieval.query", "retrieval.passage"]


def save(model, folder):
    config, state = model.config, {}
    weights = model.state_dict()
    for name, weight in weights.items():
        if ".k_proj." in name or ".v_proj." in name:
            continue
        if ".q_proj." in name:
            weight = torch.cat([weights[name.replace("q_proj", f"{part}_proj")] for part in "qkv"])
            name = name.replace("self_attn.q_proj", "mixer.Wqkv")
        for hf, own in NAMES.items():
            name = name.replace(hf, own)
        name = f"roberta.{name}"
        if weight.dim() == 2:
            module = f"{name.removesuffix('.weight')}.parametrizations.weight"
            rows, columns = weight.shape if "embeddings" not in name else weight.shape[::-1]
            state[f"{module}.0.lora_A"] = torch.ones(len(TASKS), *((RANK, columns) if "embeddings" not in name else (columns, RANK)))
            state[f"{module}.0.lora_B"] = torch.ones(len(TASKS), *((rows, RANK) if "embeddings" not in name else (RANK, rows)))
            name = f"{module}.original"
        state[name] = weight.contiguous()
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    facts = {key: getattr(config, key) for key in ("hidden_size", "intermediate_size", "num_attention_heads", "num_hidden_layers", "vocab_size",
                                                   "max_position_embeddings", "layer_norm_eps", "hidden_act", "type_vocab_size")}
    facts |= {"model_type": "xlm-roberta", "architectures": ["XLMRobertaModel"], "position_embedding_type": "rotary",
              "rotary_emb_base": config.rope_parameters["rope_theta"], "lora_adaptations": TASKS, "lora_rank": RANK, "truncate_dim": None}
    (folder / "config.json").write_text(json.dumps(facts))
