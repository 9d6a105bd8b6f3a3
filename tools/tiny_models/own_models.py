"""Encoders that transformers has no code for, after their published descriptions: JINA BERT (Günther et al. 2023, "Jina Embeddings 2": BERT
with ALiBi both ways and a gated feed-forward block) and Nomic BERT with experts (Nussbaum and Duderstadt 2025, "Training Sparse Mixture Of
Experts Text Embedding Models"). Parts are called as in the folders that their makers publish."""
from types import SimpleNamespace

import torch
from torch import nn
from torch.nn import functional as F
from transformers import PreTrainedConfig, PreTrainedModel


def attention(q, k, v, bias=None):
    """[heads, tokens, dim] each; every token sees all."""
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    return ((scores if bias is None else scores + bias).softmax(-1) @ v).transpose(0, 1).flatten(1)


class Embeddings(nn.Module):
    def __init__(self, config, normed):
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, config.hidden_size)
        if normed:
            self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def forward(self, tokens):
        return self.word_embeddings(tokens) + self.token_type_embeddings.weight[0]


class JinaBertConfig(PreTrainedConfig):
    model_type = "bert"


def alibi(n_heads, n_tokens):
    """Of 2^n heads slope i is 2^(-8 i / 2^n); further heads have every second slope of twice as many."""
    def slopes(n):
        return [2 ** (-8 * (i + 1) / n) for i in range(n)]

    power = 1 << (n_heads.bit_length() - 1)
    slope = torch.tensor(slopes(power) + slopes(2 * power)[0::2][:n_heads - power])
    position = torch.arange(n_tokens)
    return -slope[:, None, None] * (position[None, :, None] - position[None, None, :]).abs()


class JinaBertLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        n, eps = config.hidden_size, config.layer_norm_eps
        self.n_heads = config.num_attention_heads
        self.attention = nn.Module()
        self.attention.self = nn.ModuleDict({part: nn.Linear(n, n) for part in ("query", "key", "value")})
        self.attention.output = nn.ModuleDict({"dense": nn.Linear(n, n), "LayerNorm": nn.LayerNorm(n, eps=eps)})
        self.mlp = nn.ModuleDict({"gated_layers": nn.Linear(n, 2 * config.intermediate_size, bias=False),
                                  "wo": nn.Linear(config.intermediate_size, n), "layernorm": nn.LayerNorm(n, eps=eps)})

    def forward(self, x, bias):
        q, k, v = (self.attention.self[part](x).unflatten(-1, (self.n_heads, -1)).transpose(0, 1) for part in ("query", "key", "value"))
        out = self.attention.output
        x = out["LayerNorm"](x + out["dense"](attention(q, k, v, bias)))
        gate, up = self.mlp["gated_layers"](x).chunk(2, dim=-1)
        return self.mlp["layernorm"](x + self.mlp["wo"](F.gelu(gate) * up))


class JinaBertModel(PreTrainedModel):
    config_class = JinaBertConfig

    def __init__(self, config):
        super().__init__(config)
        self.embeddings = Embeddings(config, normed=True)
        self.encoder = nn.Module()
        self.encoder.layer = nn.ModuleList(JinaBertLayer(config) for _ in range(config.num_hidden_layers))
        self.post_init()

    def forward(self, tokens):
        x = self.embeddings.LayerNorm(self.embeddings(tokens[0]))
        bias = alibi(self.config.num_attention_heads, len(x))
        for layer in self.encoder.layer:
            x = layer(x, bias)
        return SimpleNamespace(last_hidden_state=x[None])


class NomicMoeConfig(PreTrainedConfig):
    model_type = "nomic_bert"
    attribute_map = {"hidden_size": "n_embd", "num_attention_heads": "n_head", "num_hidden_layers": "n_layer", "intermediate_size": "n_inner",
                     "layer_norm_eps": "layer_norm_epsilon", "max_position_embeddings": "n_positions"}


class Experts(nn.Module):
    """One bias for all, behind the sum. Weights of the chosen are those of a softmax over all, and not normed again."""
    def __init__(self, config):
        super().__init__()
        self.n, self.k = config.num_experts, config.moe_top_k
        rows = self.n * config.n_inner
        self.router = nn.ModuleDict({"layer": nn.Linear(config.n_embd, self.n, bias=False)})
        self.experts = nn.Module()
        self.experts.mlp = nn.ParameterDict({"w1": torch.zeros(rows, config.n_embd), "w2": torch.zeros(rows, config.n_embd)})
        self.experts.bias = nn.Parameter(torch.zeros(config.n_embd))

    def forward(self, x):
        shares, chosen = self.router["layer"](x).softmax(-1).topk(self.k)
        up, down = (self.experts.mlp[name].unflatten(0, (self.n, -1)) for name in ("w1", "w2"))
        rows = [sum(share * (F.gelu(up[e] @ row) @ down[e]) for share, e in zip(*of_row)) for row, *of_row in zip(x, shares, chosen)]
        return torch.stack(rows) + self.experts.bias


class NomicMlp(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(config.n_embd, config.n_inner), nn.Linear(config.n_inner, config.n_embd)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class NomicLayer(nn.Module):
    def __init__(self, config, has_experts):
        super().__init__()
        n = config.n_embd
        self.n_heads = config.n_head
        self.base = config.rotary_emb_base
        self.attn = nn.ModuleDict({"Wqkv": nn.Linear(n, 3 * n), "out_proj": nn.Linear(n, n)})
        self.mlp = Experts(config) if has_experts else NomicMlp(config)
        self.norm1, self.norm2 = (nn.LayerNorm(n, eps=config.layer_norm_epsilon) for _ in range(2))

    def turn(self, x):
        dim = x.shape[-1]
        angles = torch.arange(x.shape[1])[:, None] * self.base ** (-torch.arange(0, dim, 2) / dim)
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], dim=-1)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (self.n_heads, -1)).transpose(0, 1) for part in self.attn["Wqkv"](x).chunk(3, dim=-1))
        x = self.norm1(x + self.attn["out_proj"](attention(self.turn(q), self.turn(k), v)))
        return self.norm2(x + self.mlp(x))


class NomicBertMoeModel(PreTrainedModel):
    config_class = NomicMoeConfig

    def __init__(self, config):
        super().__init__(config)
        self.embeddings = Embeddings(config, normed=False)
        self.emb_ln = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.encoder = nn.Module()
        self.encoder.layers = nn.ModuleList(NomicLayer(config, i % config.moe_every_n_layers == 1) for i in range(config.n_layer))
        self.post_init()

    def forward(self, tokens):
        x = self.emb_ln(self.embeddings(tokens[0]))
        for layer in self.encoder.layers:
            x = layer(x)
        return SimpleNamespace(last_hidden_state=x[None])
