"""Tiny configurations of transformers' models, one for each architecture that Puna reads from a folder.

Each entry is (class of transformers, its config as keywords). Sizes are as small as the mechanisms allow: windows shorter than the
prompt, more value than key heads, groups of experts, a dense first layer, and so on.
"""

ROPE = {"rope_type": "default", "rope_theta": 10000.0}
BASE = dict(hidden_size=64, intermediate_size=96, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2, max_position_embeddings=256,
            rope_parameters=ROPE, tie_word_embeddings=False)
LLAMA3 = {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64}
YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 32, "beta_fast": 32.0, "beta_slow": 1.0}
DELTA = dict(linear_conv_kernel_dim=4, linear_key_head_dim=16, linear_value_head_dim=16, linear_num_key_heads=2, linear_num_value_heads=4,
             layer_types=["linear_attention", "linear_attention", "linear_attention", "full_attention"], num_hidden_layers=4, head_dim=32)
MAMBA = dict(mamba_n_heads=8, mamba_d_head=16, mamba_n_groups=2, mamba_d_state=16, mamba_d_conv=4, mamba_expand=2, mamba_chunk_size=8)

# What GPT-2's line calls its sizes.
GPT2 = dict(n_embd=64, n_head=4, n_layer=2, n_positions=128)
PARTIAL = ROPE | {"partial_rotary_factor": 0.5}
MODERN_BERT = dict(hidden_size=64, intermediate_size=96, num_attention_heads=4, num_hidden_layers=4, max_position_embeddings=128, local_attention=16,
                   pad_token_id=0, cls_token_id=0, sep_token_id=1)
T5 = dict(d_model=64, d_kv=16, d_ff=96, num_layers=2, num_heads=4)
BERT = dict(hidden_size=64, intermediate_size=96, num_attention_heads=4, num_hidden_layers=2, max_position_embeddings=128)

FAMILIES = {
    "bloom": ("BloomForCausalLM", dict(hidden_size=72, n_head=6, n_layer=2)),
    "falcon": ("FalconForCausalLM", dict(hidden_size=64, num_attention_heads=4, num_hidden_layers=2, ffn_hidden_size=96, rope_parameters=ROPE,
                                         multi_query=True, parallel_attn=True, new_decoder_architecture=False, max_position_embeddings=256)),
    "falcon_40b": ("FalconForCausalLM", dict(hidden_size=64, num_attention_heads=4, num_kv_heads=2, num_hidden_layers=2, ffn_hidden_size=96,
                                             rope_parameters=ROPE, new_decoder_architecture=True, max_position_embeddings=256)),
    "falcon_11b": ("FalconForCausalLM", dict(hidden_size=64, num_attention_heads=4, num_kv_heads=2, num_hidden_layers=2, ffn_hidden_size=96,
                                             rope_parameters=ROPE, new_decoder_architecture=True, num_ln_in_parallel_attn=1,
                                             tie_word_embeddings=False, max_position_embeddings=256)),
    "gpt2": ("GPT2LMHeadModel", GPT2),
    "gpt_bigcode": ("GPTBigCodeForCausalLM", GPT2 | dict(n_inner=96)),
    "gpt_neox": ("GPTNeoXForCausalLM", dict(hidden_size=64, num_attention_heads=4, num_hidden_layers=2, intermediate_size=96, hidden_act="gelu",
                                            max_position_embeddings=256, rope_parameters=PARTIAL)),
    "gpt_neox_serial": ("GPTNeoXForCausalLM", dict(hidden_size=64, num_attention_heads=4, num_hidden_layers=2, intermediate_size=96,
                                                   hidden_act="gelu", max_position_embeddings=256, rope_parameters=PARTIAL,
                                                   use_parallel_residual=False)),
    "internlm2": ("LlamaForCausalLM", BASE),
    "mixtral": ("MixtralForCausalLM", BASE | dict(num_local_experts=4, num_experts_per_tok=2, sliding_window=None)),
    "mpt": ("MptForCausalLM", dict(d_model=64, n_heads=4, n_layers=2, max_seq_len=256, attn_config={"clip_qkv": 0.7})),
    "olmo": ("OlmoForCausalLM", BASE | dict(clip_qkv=0.7)),
    "olmoe": ("OlmoeForCausalLM", BASE | dict(num_experts=6, num_experts_per_tok=2, intermediate_size=32, norm_topk_prob=False)),
    "phi": ("PhiForCausalLM", BASE | dict(num_key_value_heads=4, hidden_act="gelu_new", rope_parameters=PARTIAL)),
    "phimoe": ("PhimoeForCausalLM", BASE | dict(
        num_local_experts=4, num_experts_per_tok=2, intermediate_size=32, attention_bias=True, lm_head_bias=True, rope_parameters={
            "rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0 + 0.05 * i for i in range(8)], "short_mscale": 1.2,
            "long_factor": [1.0 + 0.5 * i for i in range(8)], "long_mscale": 1.2, "original_max_position_embeddings": 64})),
    "qwen2moe": ("Qwen2MoeForCausalLM", BASE | dict(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=32,
                                                   shared_expert_intermediate_size=48, norm_topk_prob=False)),
    "stablelm": ("StableLmForCausalLM", BASE | dict(use_qkv_bias=True, rope_parameters=PARTIAL)),
    "stablelm_12b": ("StableLmForCausalLM", BASE | dict(qk_layernorm=True, use_parallel_residual=True, rope_parameters=PARTIAL)),
    "starcoder2": ("Starcoder2ForCausalLM", BASE | dict(sliding_window=12, hidden_act="gelu_pytorch_tanh", use_bias=True, tie_word_embeddings=True)),
    "llama": ("LlamaForCausalLM", BASE | dict(rope_parameters=LLAMA3, tie_word_embeddings=True)),
    "smollm3": ("SmolLM3ForCausalLM", BASE | dict(num_hidden_layers=4, no_rope_layer_interval=4, use_sliding_window=False,
                                                   pad_token_id=None)),
    "qwen2": ("Qwen2ForCausalLM", BASE | dict(tie_word_embeddings=True)),
    "qwen3": ("Qwen3ForCausalLM", BASE | dict(head_dim=32, rope_parameters=YARN)),
    "qwen3_rank": ("Qwen3ForSequenceClassification", BASE | dict(head_dim=32, num_labels=2, pad_token_id=0)),
    "qwen3moe": ("Qwen3MoeForCausalLM", BASE | dict(head_dim=32, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=32, norm_topk_prob=True,
                                                   decoder_sparse_step=1, mlp_only_layers=[])),
    "qwen3next": ("Qwen3NextForCausalLM", BASE | DELTA | dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
                                                             shared_expert_intermediate_size=32, norm_topk_prob=True,
                                                             rope_parameters=ROPE | {"partial_rotary_factor": 0.25})),
    "qwen35": ("Qwen3_5ForCausalLM", BASE | DELTA | dict(
        rope_parameters=ROPE | {"partial_rotary_factor": 0.25, "mrope_section": [2, 1, 1], "mrope_interleaved": True})),
    "gemma2": ("Gemma2ForCausalLM", BASE | dict(head_dim=32, query_pre_attn_scalar=32, sliding_window=12, attn_logit_softcapping=2.0,
                                               final_logit_softcapping=3.0, tie_word_embeddings=True)),
    "gemma3": ("Gemma3ForCausalLM", BASE | dict(
        num_hidden_layers=6, head_dim=32, query_pre_attn_scalar=32, sliding_window=12, tie_word_embeddings=True,
        layer_types=["sliding_attention"] * 5 + ["full_attention"],
        rope_parameters={"full_attention": {"rope_type": "default", "rope_theta": 1000000.0}, "sliding_attention": ROPE})),
    "gemma4": ("Gemma4ForCausalLM", BASE | dict(
        num_hidden_layers=6, head_dim=16, global_head_dim=32, num_kv_shared_layers=2, hidden_size_per_layer_input=8, sliding_window=12,
        use_double_wide_mlp=True, tie_word_embeddings=True, enable_moe_block=False, attention_k_eq_v=False, final_logit_softcapping=30.0,
        layer_types=["sliding_attention", "sliding_attention", "full_attention"] * 2,
        rope_parameters={"full_attention": {"rope_type": "proportional", "rope_theta": 1000000.0, "partial_rotary_factor": 0.25},
                         "sliding_attention": ROPE})),
    "granite": ("GraniteForCausalLM", BASE | dict(embedding_multiplier=4.0, attention_multiplier=0.2, residual_multiplier=0.5, logits_scaling=2.0,
                                                 tie_word_embeddings=True)),
    "granitehybrid": ("GraniteMoeHybridForCausalLM", BASE | MAMBA | dict(
        num_hidden_layers=3, layer_types=["mamba", "attention", "mamba"], num_local_experts=4, num_experts_per_tok=2, intermediate_size=32,
        shared_intermediate_size=48, embedding_multiplier=4.0, attention_multiplier=0.2, residual_multiplier=0.5, logits_scaling=2.0,
        position_embedding_type="nope", mamba_n_groups=1)),
    "lfm2": ("Lfm2ForCausalLM", BASE | dict(num_hidden_layers=3, layer_types=["conv", "full_attention", "conv"], conv_L_cache=3, block_ff_dim=96,
                                           block_auto_adjust_ff_dim=True, block_multiple_of=32, block_ffn_dim_multiplier=1.0,
                                           tie_word_embeddings=True)),
    "ministral3": ("Ministral3ForCausalLM", BASE | dict(head_dim=32, rope_parameters=YARN | {
        "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1})),
    "mistral": ("MistralForCausalLM", BASE | dict(head_dim=32, sliding_window=None)),
    "phi3": ("Phi3ForCausalLM", BASE | dict(original_max_position_embeddings=64, max_position_embeddings=256, sliding_window=None, rope_parameters={
        "rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0 + 0.05 * i for i in range(8)], "original_max_position_embeddings": 64,
        "long_factor": [1.0 + 0.5 * i for i in range(8)], "partial_rotary_factor": 1.0}, pad_token_id=0)),
    # Phi-4-mini: half of a head turns; the texts are longer than the original context, so the long factors apply.
    "phi4_mini": ("Phi3ForCausalLM", BASE | dict(
        original_max_position_embeddings=24, max_position_embeddings=256, sliding_window=None, tie_word_embeddings=True, partial_rotary_factor=0.5,
        rope_parameters={"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0, 1.1, 1.2, 1.3], "long_factor": [1.0, 1.6, 2.4, 4.0],
                         "original_max_position_embeddings": 24, "partial_rotary_factor": 0.5}, pad_token_id=0)),
    "gpt_oss": ("GptOssForCausalLM", BASE | dict(head_dim=16, num_local_experts=4, num_experts_per_tok=2, sliding_window=12, intermediate_size=64,
                                                layer_types=["sliding_attention", "full_attention"],
                                                rope_parameters=YARN | {"rope_theta": 150000.0, "truncate": False})),
    "olmo2": ("Olmo2ForCausalLM", BASE),
    "olmo3": ("Olmo3ForCausalLM", BASE | dict(num_hidden_layers=4, sliding_window=12, layer_types=["sliding_attention"] * 3 + ["full_attention"],
                                             rope_parameters={"full_attention": YARN, "sliding_attention": ROPE})),
    "deepseek2": ("DeepseekV2ForCausalLM", BASE | dict(
        num_key_value_heads=4, kv_lora_rank=32, q_lora_rank=None, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16, n_routed_experts=4,
        num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=32, first_k_dense_replace=1, routed_scaling_factor=1.5,
        topk_method="greedy", n_group=1, topk_group=1, norm_topk_prob=False)),
    "deepseek3": ("DeepseekV3ForCausalLM", BASE | dict(
        num_key_value_heads=4, kv_lora_rank=32, q_lora_rank=24, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16, n_routed_experts=4,
        num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=32, first_k_dense_replace=1, routed_scaling_factor=1.5, n_group=2,
        topk_group=1, norm_topk_prob=True, rope_interleave=True)),
    "mamba": ("MambaForCausalLM", dict(hidden_size=64, num_hidden_layers=2, state_size=16, expand=2, conv_kernel=4, tie_word_embeddings=False)),
    "falcon_mamba": ("FalconMambaForCausalLM", dict(hidden_size=64, num_hidden_layers=2, state_size=8, intermediate_size=96, conv_kernel=4,
                                                    time_step_rank=8, mixer_rms_eps=0.05, tie_word_embeddings=False)),
    "jamba": ("JambaForCausalLM", {key: value for key, value in BASE.items() if key != "rope_parameters"} | dict(
        num_hidden_layers=4, attn_layer_period=3, attn_layer_offset=1, expert_layer_period=2, expert_layer_offset=1, num_experts=4,
        num_experts_per_tok=2, mamba_d_state=16, mamba_d_conv=4, mamba_expand=2, mamba_dt_rank=8, use_mamba_kernels=False, pad_token_id=0)),
    "mamba2": ("Mamba2ForCausalLM", dict(hidden_size=64, num_hidden_layers=2, num_heads=8, head_dim=16, n_groups=2, state_size=16, expand=2,
                                        conv_kernel=4, chunk_size=8, tie_word_embeddings=False)),
    "falcon_h1": ("FalconH1ForCausalLM", BASE | MAMBA | dict(
        head_dim=16, mamba_d_ssm=128, attention_in_multiplier=0.75, attention_out_multiplier=0.9, key_multiplier=0.5, ssm_in_multiplier=1.25,
        ssm_out_multiplier=0.7, embedding_multiplier=3.0, lm_head_multiplier=0.4, mlp_multipliers=[0.8, 0.6],
        ssm_multipliers=[0.9, 1.1, 0.5, 0.7, 1.3], mamba_rms_norm=True, mamba_norm_before_gate=False)),
    "nomic_bert": ("NomicBertModel", dict(hidden_size=64, intermediate_size=96, num_attention_heads=4, num_hidden_layers=2, head_dim=16,
                                           max_position_embeddings=128, type_vocab_size=2, rope_parameters=ROPE)),
    "bert": ("BertModel", dict(hidden_size=64, intermediate_size=96, num_attention_heads=4, num_hidden_layers=2, max_position_embeddings=128,
                               type_vocab_size=2, hidden_act="gelu")),
    # Windows that reach eight tokens either way; products behind the pooling (sentence.py).
    "gemma_embedding": ("Gemma3TextModel", BASE | dict(
        num_hidden_layers=6, head_dim=32, query_pre_attn_scalar=32, sliding_window=16, tie_word_embeddings=True, use_bidirectional_attention=True,
        layer_types=["sliding_attention"] * 5 + ["full_attention"],
        rope_parameters={"full_attention": {"rope_type": "default", "rope_theta": 1000000.0}, "sliding_attention": ROPE})),
    # These two are of own_models.py. Six heads have slopes of two kinds.
    "jina_bert_v2": ("JinaBertModel", dict(
        hidden_size=96, intermediate_size=64, num_attention_heads=6, num_hidden_layers=2, max_position_embeddings=128, type_vocab_size=2,
        layer_norm_eps=1e-12, hidden_act="gelu", feed_forward_type="geglu", position_embedding_type="alibi", emb_pooler="mean")),
    "nomic_bert_moe": ("NomicBertMoeModel", dict(
        n_embd=64, n_inner=96, n_head=4, n_layer=4, n_positions=128, max_trained_positions=128, type_vocab_size=1, layer_norm_epsilon=1e-5,
        activation_function="gelu", moe_every_n_layers=2, moe_top_k=2, num_experts=4, moe_normalize_expert_weights=False, prenorm=False, causal=False,
        rotary_emb_base=10000.0, rotary_emb_fraction=1.0, rotary_emb_interleaved=False, expert_choice_router=False, num_shared_experts=0)),
    # The same windows, on two layers of three.
    "modern_bert": ("ModernBertModel", MODERN_BERT),
    "modern_bert_rank": ("ModernBertForSequenceClassification", MODERN_BERT | dict(
        hidden_activation="silu", norm_bias=True, attention_bias=True, mlp_bias=True, classifier_bias=True, num_labels=3)),
    "bert_rank": ("BertForSequenceClassification", dict(
        hidden_size=64, intermediate_size=96, num_attention_heads=4, num_hidden_layers=2, max_position_embeddings=128, type_vocab_size=2,
        hidden_act="gelu", num_labels=3)),
}

HALF = ROPE | {"partial_rotary_factor": 0.5}
ALPHA = ROPE | {"rope_type": "dynamic", "alpha": 50.0, "factor": 1.0}
MULTIPLIERS = dict(embedding_multiplier=4.0, attention_multiplier=0.2, residual_multiplier=0.5, logits_scaling=2.0)

FAMILIES |= {
    "apertus": ("ApertusForCausalLM", BASE | dict(rope_parameters=LLAMA3)),
    "arcee": ("ArceeForCausalLM", BASE | dict(rope_parameters=LLAMA3)),
    "cohere": ("CohereForCausalLM", BASE | dict(use_qk_norm=True, logit_scale=0.25, tie_word_embeddings=True, pad_token_id=0)),
    "cohere2": ("Cohere2ForCausalLM", BASE | dict(num_hidden_layers=4, sliding_window=12, logit_scale=0.25, tie_word_embeddings=True, pad_token_id=0)),
    "ernie4_5": ("Ernie4_5ForCausalLM", BASE | dict(head_dim=32, tie_word_embeddings=True)),
    "ernie4_5_moe": ("Ernie4_5_MoeForCausalLM", BASE | dict(
        num_hidden_layers=4, moe_num_experts=6, moe_k=2, moe_num_shared_experts=2, moe_intermediate_size=32, moe_layer_start_index=1,
        moe_layer_interval=2, tie_word_embeddings=True)),
    "exaone4": ("Exaone4ForCausalLM", BASE | dict(num_hidden_layers=4, sliding_window=12, sliding_window_pattern=4, rope_parameters=LLAMA3)),
    "exaone4_small": ("Exaone4ForCausalLM", BASE | dict(sliding_window=None, layer_types=["full_attention"] * 2, tie_word_embeddings=True)),
    "glm4": ("Glm4ForCausalLM", BASE | dict(head_dim=16, attention_bias=True, rope_parameters=HALF, pad_token_id=0)),
    "glm4moe": ("Glm4MoeForCausalLM", BASE | dict(
        num_hidden_layers=3, head_dim=32, attention_bias=True, use_qk_norm=True, n_routed_experts=6, num_experts_per_tok=2, n_shared_experts=1,
        moe_intermediate_size=32, first_k_dense_replace=1, routed_scaling_factor=1.5, norm_topk_prob=True, n_group=1, topk_group=1,
        rope_parameters=HALF)),
    "granitemoe": ("GraniteMoeForCausalLM", BASE | MULTIPLIERS | dict(num_local_experts=4, num_experts_per_tok=2, intermediate_size=32)),
    "granitemoeshared": ("GraniteMoeSharedForCausalLM", BASE | MULTIPLIERS | dict(
        num_local_experts=4, num_experts_per_tok=2, intermediate_size=32, shared_intermediate_size=48)),
    "hunyuan_dense": ("HunYuanDenseV1ForCausalLM", BASE | dict(head_dim=32, rope_parameters=ALPHA)),
    "hunyuan_moe": ("HunYuanMoEV1ForCausalLM", BASE | dict(head_dim=16, num_experts=4, moe_topk=2, intermediate_size=32, rope_parameters=ALPHA)),
    "llama4": ("Llama4ForCausalLM", BASE | dict(
        num_hidden_layers=4, head_dim=16, attention_chunk_size=12, floor_scale=8, attn_scale=0.1, num_local_experts=4, num_experts_per_tok=1,
        interleave_moe_layer_step=2, intermediate_size=32, intermediate_size_mlp=96, rope_parameters=LLAMA3)),
    "minicpm": ("GraniteForCausalLM", BASE | dict(embedding_multiplier=4.0, attention_multiplier=0.25, residual_multiplier=1.4 / 2**0.5,
                                                 logits_scaling=2.0)),
    # Its layers are dense ones of DeepSeek-V3 with rotary pairs half a head apart; minicpm3.py takes the multipliers out of the weights.
    "minicpm3": ("DeepseekV3ForCausalLM", BASE | dict(
        num_key_value_heads=4, kv_lora_rank=32, q_lora_rank=24, qk_nope_head_dim=24, qk_rope_head_dim=8, v_head_dim=16, first_k_dense_replace=2,
        rope_interleave=False, rope_parameters={
            "rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0, 1.3, 1.7, 2.0], "long_factor": [1.0, 2.0, 3.0, 4.0],
            "original_max_position_embeddings": 64, "attention_factor": 1.1})),
    "nemotron": ("NemotronForCausalLM", BASE | dict(rope_parameters=HALF)),
    "nemotron_h": ("NemotronHForCausalLM", BASE | dict(
        num_hidden_layers=5, layer_types=["linear_attention", "mlp", "full_attention", "mlp", "linear_attention"], head_dim=16, mamba_num_heads=8,
        mamba_head_dim=16, n_groups=2, ssm_state_size=16, conv_kernel=4, chunk_size=8, time_step_min=1e-30)),
    "seed_oss": ("SeedOssForCausalLM", BASE | dict(head_dim=32, attention_bias=True, attention_out_bias=True)),
    "t5": ("T5EncoderModel", T5),
    "t5_v1_1": ("T5EncoderModel", T5 | dict(d_kv=24, feed_forward_proj="gated-gelu", relative_attention_num_buckets=12,
                                            relative_attention_max_distance=20)),
    "t5_whole": ("T5ForConditionalGeneration", T5 | dict(num_decoder_layers=1)),
    "sentence_t5": ("T5EncoderModel", T5),
    "mt5": ("MT5EncoderModel", T5 | dict(feed_forward_proj="gated-gelu")),
    "umt5": ("UMT5EncoderModel", T5 | dict(feed_forward_proj="gated-gelu")),
    "jina_bert_v3": ("JinaEmbeddingsV3Model", BERT),
    "jina_bert_v3_tasks": ("JinaEmbeddingsV3Model", BERT),
    "xlm_roberta": ("XLMRobertaModel", BERT | dict(pad_token_id=1)),
    "xlm_roberta_rank": ("XLMRobertaForSequenceClassification", BERT | dict(pad_token_id=1, num_labels=1)),
}

# Models that transformers has under another name, and what their own config.json says.
OWN_CONFIGS = {
    "minicpm": {"model_type": "minicpm", "architectures": ["MiniCPMForCausalLM"], "scale_emb": 4.0, "scale_depth": 1.4, "dim_model_base": 32},
}

# As small as they get, for tests/goldens/: an HF and an MLC folder, experts, latent attention, states, ALiBi and layer norms, a classifier,
# windows that reach either way, experts without a gate, biases by distance.
SMALL = BASE | dict(vocab_size=262, hidden_size=32, intermediate_size=32, num_attention_heads=2, num_key_value_heads=1, num_hidden_layers=2,
                    tie_word_embeddings=True)
FAMILIES |= {
    "small_llama": ("LlamaForCausalLM", SMALL | dict(rope_parameters=LLAMA3)),
    "small_qwen3moe": ("Qwen3MoeForCausalLM", FAMILIES["qwen3moe"][1] | SMALL | dict(head_dim=16, num_experts=4, moe_intermediate_size=16)),
    "small_deepseek3": ("DeepseekV3ForCausalLM", FAMILIES["deepseek3"][1] | SMALL | dict(
        num_key_value_heads=2, kv_lora_rank=16, q_lora_rank=16, n_routed_experts=4, moe_intermediate_size=16, num_hidden_layers=2)),
    "small_minicpm3": ("DeepseekV3ForCausalLM", FAMILIES["minicpm3"][1] | SMALL | dict(
        num_key_value_heads=2, kv_lora_rank=16, q_lora_rank=16, tie_word_embeddings=False,
        rope_parameters=FAMILIES["minicpm3"][1]["rope_parameters"] | {"original_max_position_embeddings": 256})),
    "small_jamba": ("JambaForCausalLM", FAMILIES["jamba"][1] | {key: value for key, value in SMALL.items() if key != "rope_parameters"} | dict(
        attn_layer_period=2, expert_layer_period=2, intermediate_size=16, mamba_d_state=8, mamba_dt_rank=4)),
    "small_qwen35": ("Qwen3_5ForCausalLM", FAMILIES["qwen35"][1] | SMALL | dict(
        head_dim=16, linear_num_key_heads=1, linear_num_value_heads=2, layer_types=["linear_attention", "full_attention"],
        rope_parameters=ROPE | {"partial_rotary_factor": 0.5, "mrope_section": [2, 1, 1], "mrope_interleaved": True})),
    "small_mpt": ("MptForCausalLM", dict(vocab_size=262, d_model=24, n_heads=3, n_layers=2, max_seq_len=256, attn_config={"clip_qkv": 0.7})),
    "small_bert_rank": ("BertForSequenceClassification", FAMILIES["bert_rank"][1] | dict(
        vocab_size=262, hidden_size=32, intermediate_size=32, num_attention_heads=2, max_position_embeddings=64, num_labels=1)),
    "small_modern_bert": ("ModernBertModel", MODERN_BERT | dict(
        vocab_size=262, hidden_size=32, intermediate_size=32, num_attention_heads=2, num_hidden_layers=3, max_position_embeddings=64,
        local_attention=8)),
    "small_nomic_moe": ("NomicBertMoeModel", FAMILIES["nomic_bert_moe"][1] | dict(
        vocab_size=262, n_embd=32, n_inner=32, n_head=2, n_layer=2, n_positions=64, max_trained_positions=64)),
    "small_t5": ("T5EncoderModel", FAMILIES["t5_v1_1"][1] | dict(vocab_size=262, d_model=32, d_kv=12, d_ff=32, num_heads=2)),
}
