"""Families of models with pictures or sounds that transformers knows: a tiny one of each, the names that its tensors have in GGUF files, and how
transformers encodes a picture or sound and goes on from there."""
import gguf
import numpy as np
import torch
import transformers
from transformers import WhisperFeatureExtractor

TEXT = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "max_position_embeddings": 4096, "rms_norm_eps": 1e-6, "tie_word_embeddings": False}
BOUNDS = (".input_max", ".input_min", ".output_max", ".output_min")
AUDIO = {"d_model": 32, "encoder_layers": 2, "encoder_attention_heads": 2, "encoder_ffn_dim": 40, "num_mel_bins": 16}


class Family:
    text_prefix = "model.language_model."
    rope_sections, max_tokens, n_greedy = None, 0, 16

    def __init__(self):
        self.text_names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN2, TEXT["num_hidden_layers"])
        self.media_names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.MMPROJ, 8)
        a = self.architecture
        self.text_keys = {f"{a}.block_count": TEXT["num_hidden_layers"], f"{a}.context_length": 4096, f"{a}.embedding_length": TEXT["hidden_size"],
                          f"{a}.feed_forward_length": TEXT["intermediate_size"], f"{a}.attention.head_count": TEXT["num_attention_heads"],
                          f"{a}.attention.head_count_kv": TEXT["num_key_value_heads"], f"{a}.rope.freq_base": 10000.0,
                          f"{a}.attention.layer_norm_rms_epsilon": TEXT["rms_norm_eps"]}
        if self.rope_sections:
            self.text_keys[f"{a}.rope.dimension_sections"] = self.rope_sections + [0]

    def rename(self, name):
        """(whether of the text model, the name in the file), or nothing for what files do not have."""
        if name == "lm_head.weight":
            return True, "output.weight"
        if name.startswith(self.text_prefix):
            return True, self.text_names.get_name("model." + name.removeprefix(self.text_prefix), (".weight", ".bias"))
        found = self.media_names.get_name(self.media_name(name), (".weight", ".bias"))
        assert found, name
        return False, found

    def media_name(self, name):
        return name

    def finish_text(self, tensors, model):
        return tensors

    def finish(self, tensors, model):
        """As converters: biases of convolutions are columns, the kernel over two frames is two tensors, q, k and v are apart."""
        out = {}
        for name, data in tensors.items():
            if name.startswith("a.conv1d") and name.endswith("bias"):
                data = data[:, None]
            if name == "v.patch_embd.weight":
                out[name + ".1"], data = data[:, :, 1], data[:, :, 0]
            if ".attn_qkv." in name:
                for part, piece in zip("qkv", np.split(data, 3)):
                    out[name.replace("attn_qkv", "attn_" + part)] = piece
                continue
            out[name] = data
        return out

    def audio_keys(self, kind):
        keys = {"projection_dim": TEXT["hidden_size"], "embedding_length": AUDIO["d_model"], "feed_forward_length": AUDIO["encoder_ffn_dim"],
                "block_count": AUDIO["encoder_layers"], "attention.head_count": AUDIO["encoder_attention_heads"],
                "num_mel_bins": AUDIO["num_mel_bins"], "attention.layer_norm_epsilon": 1e-5}
        return {"clip.has_audio_encoder": True, "clip.projector_type": kind} | {"clip.audio." + k: v for k, v in keys.items()}

    def vision_keys(self, kind, vision, eps):
        keys = {"projection_dim": TEXT["hidden_size"], "image_size": 560, "patch_size": vision["patch_size"], "embedding_length": vision["width"],
                "feed_forward_length": vision["ffn"], "block_count": vision["depth"], "attention.head_count": vision["num_heads"],
                "attention.layer_norm_epsilon": eps, "image_mean": MEAN, "image_std": STD}
        return {"clip.has_vision_encoder": True, "clip.projector_type": kind} | {"clip.vision." + k: v for k, v in keys.items()}


MEAN, STD = [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]
EXTRA = [f"<|{name}|>" for name in ("audio_bos", "audio_eos", "AUDIO", "vision_bos", "vision_eos", "vision_start", "vision_end", "IMAGE", "VIDEO")]


def mel(sound, chunk_length):
    extractor = WhisperFeatureExtractor(feature_size=AUDIO["num_mel_bins"], chunk_length=chunk_length)
    out = extractor(sound, sampling_rate=16000, return_attention_mask=True, padding="max_length", return_tensors="pt")
    return out.input_features, out.attention_mask


def joined(features):
    """The rows of the one picture that was encoded."""
    rows = getattr(features, "pooler_output", features)
    rows = torch.cat(list(rows)) if isinstance(rows, (tuple, list)) else rows
    return rows.reshape(-1, rows.shape[-1])


def picture(image, patch):
    """Patches and their grid, and the resized pixels as they are cut."""
    processor = transformers.models.qwen2_vl.image_processing_pil_qwen2_vl.Qwen2VLImageProcessorPil(
        patch_size=patch, merge_size=2, temporal_patch_size=2, min_pixels=8 * 4 * patch * patch, max_pixels=4096 * 4 * patch * patch, image_mean=MEAN,
        image_std=STD)
    out = processor(images=[image], return_tensors="pt")
    _, rows, columns = (int(n) for n in out.image_grid_thw[0])
    sized = image.resize((columns * patch, rows * patch), 3)
    return out.pixel_values, out.image_grid_thw, np.asarray(sized)


class Qwen2Audio(Family):
    name, architecture, seed, media, specials = "qwen2audio", "qwen2", 31, ("audio",), EXTRA
    around = {"audio": ("<|audio_bos|>", "<|AUDIO|>", "<|audio_eos|>")}

    def __init__(self):
        super().__init__()
        self.keys = self.audio_keys("qwen2a")

    def model(self, tokens):
        text = TEXT | {"model_type": "qwen2", "vocab_size": len(tokens), "rope_theta": 10000.0}
        config = transformers.Qwen2AudioConfig(audio_config=AUDIO | {"max_source_positions": 1500}, text_config=text,
                                               audio_token_index=tokens.index("<|AUDIO|>"))
        config._attn_implementation = "eager"
        return transformers.Qwen2AudioForConditionalGeneration(config)

    def media_name(self, name):
        name = name.removeprefix("model.")
        return "audio." + name if name.startswith("multi_modal_projector") else name

    def encode(self, model, kind, sound):
        features, mask = mel(sound, 30)
        self.args = {"input_features": features, "feature_attention_mask": mask}
        # The rows that stand in the prompt, as the model puts them there.
        frames = int(mask.sum())
        n = ((frames - 1) // 2 + 1 - 2) // 2 + 1
        seen = []
        hook = model.model.multi_modal_projector.register_forward_hook(lambda _, __, y: seen.append(y))
        audio_token = model.config.audio_token_id
        model(input_ids=torch.tensor([[audio_token] * n]), attention_mask=torch.ones(1, n), **self.args)
        hook.remove()
        return {"rows": seen[0][0, :n], "tiles": [features[0].numpy()], "sounding": frames}

    def logits(self, model, kind, ids, media):
        return model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False, **self.args).logits


class Qwen2Omni(Family):
    name, architecture, seed, media, specials = "qwen2omni", "qwen2vl", 32, ("audio", "image"), EXTRA
    around = {"audio": ("<|audio_bos|>", "<|AUDIO|>", "<|audio_eos|>"), "image": ("<|vision_bos|>", "<|IMAGE|>", "<|vision_eos|>")}
    text_prefix, rope_sections = "model.", [2, 3, 3]
    vision = {"patch_size": 14, "depth": 2, "num_heads": 2, "width": 32, "ffn": 40}

    def __init__(self):
        super().__init__()
        self.keys = self.audio_keys("qwen2.5o") | self.vision_keys("qwen2.5o", self.vision, 1e-6) | {"clip.use_silu": True,
                                                                                                   "clip.vision.n_wa_pattern": 2}

    def model(self, tokens):
        text = TEXT | {"vocab_size": len(tokens), "rope_theta": 10000.0,
                       "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": self.rope_sections}}
        vision = {"patch_size": 14, "depth": 2, "num_heads": 2, "hidden_size": 32, "intermediate_size": 40, "out_hidden_size": TEXT["hidden_size"],
                  "fullatt_block_indexes": [1], "window_size": 112, "spatial_merge_size": 2, "temporal_patch_size": 2, "hidden_act": "silu"}
        names = {"audio_token_index": "<|AUDIO|>", "image_token_index": "<|IMAGE|>", "video_token_index": "<|VIDEO|>",
                 "audio_start_token_id": "<|audio_bos|>", "audio_end_token_id": "<|audio_eos|>", "vision_start_token_id": "<|vision_bos|>",
                 "vision_end_token_id": "<|vision_eos|>"}
        config = transformers.models.qwen2_5_omni.configuration_qwen2_5_omni.Qwen2_5OmniThinkerConfig(
            audio_config=AUDIO | {"max_source_positions": 1500, "n_window": 100, "output_dim": TEXT["hidden_size"]}, vision_config=vision,
            text_config=text, **{k: tokens.index(v) for k, v in names.items()})
        config._attn_implementation = "eager"
        return transformers.Qwen2_5OmniThinkerForConditionalGeneration(config)

    def rename(self, name):
        if "audio_bos_eos_token" in name:
            return None
        # Below "model." stand the text model and both encoders.
        inner = name.removeprefix("model.")
        if inner.startswith(("audio_tower.", "visual.")):
            found = self.media_names.get_name(inner, (".weight", ".bias"))
            assert found, name
            return False, found
        return super().rename(name.replace("model.language_model.", "model."))

    def finish(self, tensors, model):
        n, width = 1500, AUDIO["d_model"]
        turn = np.exp(-np.log(10000) / (width // 2 - 1) * np.arange(width // 2, dtype=np.float32))
        angle = np.arange(n, dtype=np.float32)[:, None] * turn
        table = np.concatenate([np.sin(angle), np.cos(angle)], 1).astype(np.float32)
        return super().finish(tensors, model) | {"a.position_embd.weight": table}

    def encode(self, model, kind, media):
        if kind == "image":
            pixels, grid, sized = picture(media, 14)
            self.args = {"pixel_values": pixels, "image_grid_thw": grid}
            return {"rows": joined(model.model.get_image_features(pixels, grid)), "tiles": [sized]}
        features, mask = mel(media, 300)
        self.args = {"input_features": features, "feature_attention_mask": mask}
        rows = model.get_audio_features(features, mask).last_hidden_state
        frames = int(mask.sum())
        return {"rows": rows, "tiles": [features[0, :, :frames].numpy()], "sounding": frames}

    def logits(self, model, kind, ids, media):
        return model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False, **self.args).logits


class Qwen2VL(Family):
    name, architecture, seed, media, specials = "qwen2vl", "qwen2vl", 33, ("image",), EXTRA
    around = {"image": ("<|vision_start|>", "<|IMAGE|>", "<|vision_end|>")}
    rope_sections = [2, 3, 3]
    vision = {"patch_size": 14, "depth": 2, "num_heads": 2, "width": 32, "ffn": 128}

    def __init__(self):
        super().__init__()
        self.keys = self.vision_keys("qwen2vl_merger", self.vision, 1e-6)

    def model(self, tokens):
        text = TEXT | {"vocab_size": len(tokens),
                       "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": self.rope_sections}}
        vision = {"patch_size": 14, "depth": 2, "num_heads": 2, "embed_dim": 32, "mlp_ratio": 4, "hidden_size": TEXT["hidden_size"],
                  "spatial_merge_size": 2, "temporal_patch_size": 2, "hidden_act": "quick_gelu"}
        names = {"image_token_id": "<|IMAGE|>", "video_token_id": "<|VIDEO|>", "vision_start_token_id": "<|vision_start|>",
                 "vision_end_token_id": "<|vision_end|>"}
        config = transformers.Qwen2VLConfig(text_config=text, vision_config=vision, **{k: tokens.index(v) for k, v in names.items()})
        config._attn_implementation = "eager"
        return transformers.Qwen2VLForConditionalGeneration(config)

    def media_name(self, name):
        return name.removeprefix("model.")

    def encode(self, model, kind, image):
        pixels, grid, sized = picture(image, 14)
        self.args = {"pixel_values": pixels, "image_grid_thw": grid}
        return {"rows": joined(model.model.get_image_features(pixels, grid)), "tiles": [sized]}

    def logits(self, model, kind, ids, media):
        types = (ids == model.config.image_token_id).int()
        return model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False, mm_token_type_ids=types, **self.args).logits


class Gemma4(Family):
    """With 1,120 tokens a picture, all of which attend to each other: more rows than a step of texts has."""
    name, architecture, seed, media, max_tokens = "gemma4", "gemma4", 34, ("image",), 1120
    n_greedy = 0  # ten thousand patches for each token
    specials = ["<|image>", "<image|>", "<|IMAGE|>", "<pad>", "<|video|>"]
    around = {"image": ("<|image>", "<|IMAGE|>", "<image|>")}
    text = TEXT | {"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32, "hidden_size_per_layer_input": 0, "sliding_window": 96,
                   "num_hidden_layers": 3, "layer_types": ["full_attention", "sliding_attention", "full_attention"],
                   "final_logit_softcapping": 0.5, "use_bidirectional_attention": "vision",
                   "num_kv_shared_layers": 0, "tie_word_embeddings": True}
    vision = {"patch_size": 4, "depth": 2, "num_heads": 4, "width": 64, "ffn": 128}
    clips = False

    def __init__(self):
        super().__init__()
        self.text_names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.GEMMA4, 3)
        self.text_keys |= {"gemma4." + k: v for k, v in {
            "block_count": 3, "attention.head_count": 2, "attention.head_count_kv": 1, "rope.freq_base": 1e6, "rope.freq_base_swa": 1e4,
            "attention.key_length": 64, "attention.value_length": 64, "attention.key_length_swa": 32, "attention.value_length_swa": 32, "final_logit_softcapping": 0.5,
            "attention.sliding_window": self.text["sliding_window"], "attention.shared_kv_layers": 0, "embedding_length_per_layer_input": 0,
            "attention.sliding_window_pattern": [False, True, False], "rope.dimension_count": 64, "rope.dimension_count_swa": 32}.items()}
        keys = self.vision_keys("gemma4v", self.vision, 1e-6)
        keys |= {"clip.vision.image_size": 224, "clip.vision.image_mean": [0.0] * 3, "clip.vision.image_std": [1.0] * 3}
        del keys["clip.projector_type"]
        self.keys = keys | {"clip.vision.projector_type": "gemma4v"}

    def model(self, tokens):
        vision = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4,
                  "head_dim": 16, "patch_size": 4, "position_embedding_size": 256, "standardize": True, "use_clipped_linears": self.clips}
        text = self.text | {"global_head_dim": 64, "vocab_size": len(tokens), "vocab_size_per_layer_input": len(tokens),
                            "pad_token_id": tokens.index("<pad>")}
        config = transformers.Gemma4Config(text_config=text, vision_config=vision, audio_config=None, image_token_id=tokens.index("<|IMAGE|>"),
                                           boi_token_id=tokens.index("<|image>"), eoi_token_id=tokens.index("<image|>"),
                                           video_token_id=tokens.index("<|video|>"))
        config._attn_implementation = "eager"
        return transformers.Gemma4ForConditionalGeneration(config)

    def rename(self, name):
        if name.startswith(self.text_prefix):
            return super().rename(name)
        name = name.replace("model.vision_tower.encoder.", "vision_model.model.").replace(".linear.weight", ".weight")
        if name.endswith("position_embedding_table"):
            name += ".weight"
        return False, self.media_names.get_name(name, (".weight", ".bias") + BOUNDS)

    def finish(self, tensors, model):
        tower, p = model.model.vision_tower, self.vision["patch_size"]
        for name, buffer in tower.named_buffers():
            if name.endswith(BOUNDS):
                tensors[self.rename("model.vision_tower." + name)[1]] = buffer.numpy().reshape(1)
        with torch.no_grad():
            tower.std_bias.copy_(0.2 * torch.randn_like(tower.std_bias))
            tower.std_scale.copy_(1 + 0.1 * torch.randn_like(tower.std_scale))
        patches = tensors["v.patch_embd.weight"]
        kernel = patches.reshape(len(patches), p, p, 3).transpose(0, 3, 1, 2)
        return tensors | {"v.patch_embd.weight": kernel, "v.std_bias": tower.std_bias.numpy(), "v.std_scale": tower.std_scale.numpy()}

    def finish_text(self, tensors, model):
        """Scales of layers, and what a quarter of the pairs of layers without windows turn by: the others stand still."""
        for l, layer in enumerate(model.model.language_model.layers):
            tensors[f"blk.{l}.layer_output_scale.weight"] = layer.layer_scalar.numpy()
        still = np.ones(32, np.float32)
        still[8:] = 1e30
        return tensors | {"rope_freqs.weight": still}

    def encode(self, model, kind, image):
        processor = transformers.models.gemma4.image_processing_pil_gemma4.Gemma4ImageProcessorPil(
            patch_size=4, pooling_kernel_size=3, max_soft_tokens=self.max_tokens)
        out = processor(images=[image], return_tensors="pt")
        self.args = {"pixel_values": out["pixel_values"], "image_position_ids": out["image_position_ids"]}
        columns, lines = (int(n) + 1 for n in out["image_position_ids"][0].max(0).values)
        sized = image.resize((columns * 4, lines * 4), 3)
        return {"rows": joined(model.model.get_image_features(**self.args)), "tiles": [np.asarray(sized)]}

    def logits(self, model, kind, ids, media):
        types = (ids == model.config.image_token_id).int()
        return model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False, mm_token_type_ids=types, **self.args).logits


class Gemma4Clipped(Gemma4):
    """Bounds around the products of pictures."""
    name, seed, max_tokens, n_greedy = "gemma4clipped", 36, 70, 16
    text = Gemma4.text | {"final_logit_softcapping": 30.0}
    clips = True

    def __init__(self):
        super().__init__()
        self.text_keys["gemma4.final_logit_softcapping"] = 30.0

    def model(self, tokens):
        model = super().model(tokens)
        torch.manual_seed(self.seed)
        for name, buffer in model.model.vision_tower.named_buffers():
            if name.endswith(BOUNDS):
                buffer.copy_((1 if name.endswith("max") else -1) * (1.2 + 0.4 * torch.rand(())))
        return model


class Gemma4Audio(Gemma4):
    """Both encoders in one file, as the smaller ones of Gemma 4 have; of bounds of values some clip and some do not."""
    name, seed, media, max_tokens = "gemma4audio", 35, ("audio",), 0
    n_greedy = 16
    specials = Gemma4.specials + ["<|audio>", "<audio|>", "<|AUDIO|>"]
    around = {"audio": ("<|audio>", "<|AUDIO|>", "<audio|>")}
    audio = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "subsampling_conv_channels": [16, 6], "output_proj_dims": 40}
    n_bins = 16
    text = Gemma4.text | {"final_logit_softcapping": 30.0}

    def __init__(self):
        super().__init__()
        self.text_keys["gemma4.final_logit_softcapping"] = 30.0
        keys = {"projection_dim": TEXT["hidden_size"], "embedding_length": self.audio["hidden_size"], "num_mel_bins": self.n_bins,
                "feed_forward_length": 4 * self.audio["hidden_size"], "block_count": self.audio["num_hidden_layers"],
                "attention.head_count": self.audio["num_attention_heads"], "attention.layer_norm_epsilon": 1e-6, "projector_type": "gemma4a"}
        self.keys = self.keys | {"clip.has_audio_encoder": True} | {"clip.audio." + k: v for k, v in keys.items()}

    def model(self, tokens):
        config = super().model(tokens).config
        config.audio_config = transformers.models.gemma4.configuration_gemma4.Gemma4AudioConfig(**self.audio)
        config.audio_token_id, config.eoa_token_id = tokens.index("<|AUDIO|>"), tokens.index("<audio|>")
        config._attn_implementation = "eager"
        model = transformers.Gemma4ForConditionalGeneration(config)
        torch.manual_seed(self.seed)
        for name, buffer in model.model.audio_tower.named_buffers():
            if name.endswith(("_min", "_max")) and "v_proj" not in name:
                buffer.copy_((1 if name.endswith("max") else -1) * (1.5 + 0.2 * torch.rand(())))
        return model

    def rename(self, name):
        if "audio" not in name:
            return super().rename(name)
        name = name.replace("model.audio_tower.", "conformer.").replace(".linear.", ".")
        if name.endswith("per_dim_scale"):
            name += ".weight"
        found = self.media_names.get_name(name, (".weight", ".bias") + BOUNDS)
        return False, found or AUDIO_NAMES[name]

    def finish(self, tensors, model):
        for name, buffer in model.model.audio_tower.named_buffers():
            if name.endswith(("_min", "_max")):
                tensors[self.rename("model.audio_tower." + name)[1]] = buffer.numpy().reshape(1)
        for name in tensors:
            if name.endswith("per_dim_scale.weight"):
                tensors[name] = torch.nn.functional.softplus(torch.tensor(tensors[name])).numpy()
            if name.endswith("conv_dw.weight"):
                tensors[name] = tensors[name].reshape(len(tensors[name]), -1)
        return super().finish(tensors, model)

    def encode(self, model, kind, sound):
        extractor = transformers.models.gemma4.feature_extraction_gemma4.Gemma4AudioFeatureExtractor(feature_size=self.n_bins)
        out = extractor([sound], return_tensors="pt")
        self.args = {"input_features": out["input_features"], "input_features_mask": out["input_features_mask"]}
        found = model.model.get_audio_features(**self.args)
        frames = int(out["input_features_mask"].sum())
        return {"rows": found.pooler_output[found.attention_mask], "tiles": [out["input_features"][0, :frames].T.numpy()], "sounding": frames}


MODELS = {family.name: family for family in (Qwen2Audio, Qwen2Omni, Qwen2VL, Gemma4, Gemma4Audio, Gemma4Clipped)}
