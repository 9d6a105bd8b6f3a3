"""What sentence-transformers puts behind a model: a pooling and products, each a folder beside the model's files."""
import json

import torch
from safetensors.torch import save_file

# By family, the width that each product gives.
DENSE = {"gemma_embedding": [128, 64], "sentence_t5": [48]}


def save(family, folder, columns, seed):
    """Writes the modules of a family that has some, and returns what turns a pooled row into an embedding."""
    random = torch.Generator().manual_seed(seed + 1)
    modules = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
               {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]
    products = []
    for number, rows in enumerate(DENSE.get(family, []), 2):
        path = f"{number}_Dense"
        weight = torch.randn((rows, columns), generator=random) / columns**0.5
        (folder / path).mkdir(exist_ok=True)
        (folder / path / "config.json").write_text(json.dumps(
            {"in_features": columns, "out_features": rows, "bias": False, "activation_function": "torch.nn.modules.linear.Identity"}))
        save_file({"linear.weight": weight}, folder / path / "model.safetensors")
        modules.append({"idx": number, "name": str(number), "path": path, "type": "sentence_transformers.models.Dense"})
        products.append(weight.double())
        columns = rows
    if products:
        (folder / "1_Pooling").mkdir(exist_ok=True)
        (folder / "1_Pooling/config.json").write_text(json.dumps({"word_embedding_dimension": products[0].shape[1], "pooling_mode_mean_tokens": True}))
        (folder / "modules.json").write_text(json.dumps(modules))

    def embedding(row):
        for weight in products:
            row = weight @ row
        return row

    return embedding
