#!/usr/bin/env python3
"""Writes tests/fixtures/media/: small pictures and sounds in every format, and what the reference libraries make of them.

usage: pip install numpy==2.4.6 pillow==13.0.0 transformers==5.23.0 soundfile==0.14.0 && tools/make_media_fixtures.py

pictures.json   decoded: of each file the size and the CRC-32 of Pillow's RGB bytes, turned as EXIF says; resized: CRC-32 of Image.resize;
                cut: CRC-32s of the tiles that transformers' image processors (of the Pillow backend) make of it
sounds.json     heard: of each file the number of samples at 16 kHz, and some of them; mel, gemma4_mel: some values of WhisperFeatureExtractor and
                Gemma4AudioFeatureExtractor
"""
import io
import json
import os
import zlib
from pathlib import Path

import numpy as np
import soundfile
from PIL import Image, ImageOps, PngImagePlugin

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
from transformers import WhisperFeatureExtractor
from transformers.models.gemma4.feature_extraction_gemma4 import Gemma4AudioFeatureExtractor
from transformers.image_utils import SizeDict
from transformers.models.gemma4.image_processing_pil_gemma4 import get_aspect_ratio_preserving_size
from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import get_optimal_tiled_canvas
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
from transformers.models.pixtral.image_processing_pil_pixtral import get_resize_output_image_size
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import smart_resize

OUT = Path(__file__).resolve().parent.parent / "tests/fixtures/media"
FILTERS = [Image.BILINEAR, Image.BICUBIC, Image.LANCZOS]  # in the order of puna::media::Filter


def scene(width, height):
    """Slopes, edges and noise, so that every filter and every rounding shows."""
    rng = np.random.default_rng(width * 1000 + height)
    y, x = np.mgrid[0:height, 0:width]
    pixels = np.stack([x * 255 // max(width - 1, 1), y * 255 // max(height - 1, 1), (x * 7 + y * 3) % 256], axis=2)
    pixels[height // 4:height // 2, width // 3:width // 2] = [250, 30, 5]
    noisy = pixels[height // 2:, :width // 3]
    noisy[:] = rng.integers(0, 256, noisy.shape)
    return Image.fromarray(pixels.astype(np.uint8))


def saved(image, kind, **options):
    data = io.BytesIO()
    image.save(data, kind, **options)
    return data.getvalue()


def png(width, height, bits, colours, pixels, chunks=()):
    def chunk(kind, data):
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    n = len(pixels) // height
    rows = b"".join(b"\0" + pixels[i * n:(i + 1) * n] for i in range(height))
    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([bits, colours, 0, 0, 0])
    middle = b"".join(chunk(*c) for c in chunks)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + middle + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def palette_of(rng, n):
    return rng.integers(0, 256, 3 * n, dtype=np.uint8).tobytes()


def bmp(width, height, bits, compression, pixels, palette=b"", masks=b""):
    offset = 54 + len(masks) + len(palette)
    fields = [(40, 4), (width, 4), (height, 4), (1, 2), (bits, 2), (compression, 4), (len(pixels), 4), (0, 4), (0, 4), (0, 4), (0, 4)]
    head = b"".join(value.to_bytes(size, "little") for value, size in fields)
    return b"BM" + (offset + len(pixels)).to_bytes(4, "little") + bytes(4) + offset.to_bytes(4, "little") + head + masks + palette + pixels


def pictures():
    """Name and bytes of each file."""
    photo, small = scene(61, 43), scene(19, 13)
    alpha = small.convert("RGBA")
    alpha.putalpha(Image.fromarray(np.random.default_rng(1).integers(0, 256, (13, 19), dtype=np.uint8)))
    turned = Image.Exif()
    turned[274] = 6
    yield "photo.png", saved(photo, "PNG", optimize=True)
    yield "photo.jpg", saved(photo, "JPEG", quality=85)
    yield "progressive.jpg", saved(small, "JPEG", quality=70, progressive=True, subsampling=1)
    yield "grey.jpg", saved(small.convert("L"), "JPEG")
    yield "cmyk.jpg", saved(small.convert("CMYK"), "JPEG")
    yield "turned.jpg", saved(small, "JPEG", exif=turned)
    yield "turned.png", saved(small, "PNG", exif=turned)
    yield "turned.webp", saved(small, "WEBP", exif=turned, lossless=True)
    yield "palette.png", saved(small.quantize(11), "PNG", transparency=3)
    yield "bits.png", saved(small.convert("1"), "PNG")
    yield "grey_alpha.png", saved(alpha.convert("LA"), "PNG")
    yield "alpha.png", saved(alpha, "PNG")
    yield "sixteen.png", png(9, 5, 16, 2, np.random.default_rng(16).integers(0, 65536, 135).astype(">u2").tobytes())
    yield "lossy.webp", saved(alpha, "WEBP", quality=60)
    yield "animated.webp", saved(small, "WEBP", save_all=True, append_images=[small.rotate(90)], quality=80)
    yield "animated.gif", saved(small.quantize(30), "GIF", save_all=True, append_images=[small.rotate(90).quantize(30)])
    yield "interlaced.gif", saved(small.quantize(9), "GIF", interlace=1, transparency=2)
    xmp = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description %s</x:xmpmeta>'
    attribute, element = xmp % b'tiff:Orientation="8"/>', xmp % b"><tiff:Orientation>3</tiff:Orientation></rdf:Description>"
    silent = Image.Exif()
    silent[271] = "nobody"
    yield "xmp.jpg", saved(small, "JPEG", xmp=attribute)
    yield "xmp_beside_exif.jpg", saved(small, "JPEG", xmp=element, exif=silent)
    yield "exif_beside_xmp.jpg", saved(small, "JPEG", xmp=element, exif=turned)
    yield "xmp.webp", saved(small, "WEBP", xmp=element, lossless=True)
    texts = PngImagePlugin.PngInfo()
    texts.add_itxt("XML:com.adobe.xmp", attribute.decode(), zip=True)
    yield "xmp.png", saved(small, "PNG", pnginfo=texts)
    profile = turned.tobytes()
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Raw profile type exif", f"\nexif\n{len(profile):8}\n{profile.hex()}\n", zip=True)
    yield "profile.png", saved(small, "PNG", pnginfo=texts)
    rng = np.random.default_rng(3)
    yield "grey16.png", png(9, 5, 16, 0, rng.integers(0, 65536, 45).astype(">u2").tobytes())
    yield "grey_alpha16.png", png(9, 5, 16, 4, rng.integers(0, 65536, 90).astype(">u2").tobytes())
    yield "alpha16.png", png(9, 5, 16, 6, rng.integers(0, 65536, 180).astype(">u2").tobytes())
    yield "grey2.png", png(8, 5, 2, 0, rng.integers(0, 256, 10, dtype=np.uint8).tobytes())
    yield "grey4.png", png(8, 5, 4, 0, rng.integers(0, 256, 20, dtype=np.uint8).tobytes(), [(b"tRNS", b"\0\3")])
    yield "palette2.png", png(8, 5, 2, 3, rng.integers(0, 256, 10, dtype=np.uint8).tobytes(), [(b"PLTE", palette_of(rng, 4)), (b"tRNS", b"\0\x80")])
    yield "animated.png", saved(small, "PNG", save_all=True, append_images=[small.rotate(90)])
    yield "apart.png", saved(photo, "PNG", save_all=True, append_images=[small, small.rotate(90)], default_image=True)
    ink = np.random.default_rng(4).integers(0, 256, (13, 19, 4), dtype=np.uint8)
    yield "ycck.jpg", saved(Image.fromarray(ink, "CMYK"), "JPEG", quality=90)
    clear = alpha.copy()
    clear.paste((9, 200, 30, 0), (4, 3, 12, 9))
    yield "animated_alpha.webp", saved(clear, "WEBP", save_all=True, append_images=[alpha.rotate(90)], lossless=True, exact=True)
    yield "clear.gif", saved(clear, "GIF", save_all=True, append_images=[alpha.rotate(90)])
    yield "true.bmp", saved(small, "BMP")
    yield "palette.bmp", saved(small.quantize(200), "BMP")
    yield "bits.bmp", saved(small.convert("1"), "BMP")
    rng = np.random.default_rng(2)
    yield "masks.bmp", bmp(7, 3, 16, 3, rng.integers(0, 256, 48, dtype=np.uint8).tobytes(), masks=b"".join(
        m.to_bytes(4, "little") for m in (0xF800, 0x07E0, 0x001F)))
    palette = rng.integers(0, 256, 1024, dtype=np.uint8).tobytes()
    row = bytes([5, 7, 0, 6, 1, 2, 3, 4, 5, 6, 2, 9, 0, 0])
    yield "runs8.bmp", bmp(13, 4, 8, 1, row * 4 + b"\0\1", palette)
    row = bytes([5, 0x73, 0, 5, 0x12, 0x34, 0x50, 0, 3, 0x9A, 0, 0])
    yield "runs4.bmp", bmp(13, 4, 4, 2, row * 4 + b"\0\1", palette[:64])


def crc(image):
    return zlib.crc32(np.asarray(image, dtype=np.uint8).tobytes())


def grid(image, columns, rows, side, whole):
    tiles = [image.crop((c * side, r * side, (c + 1) * side, (r + 1) * side)) for r in range(rows) for c in range(columns)]
    return tiles + ([whole.resize((side, side), Image.BICUBIC)] if len(tiles) > 1 else [])


def cut(image, recipe):
    """What transformers makes of a picture: columns, rows and tiles."""
    w, h = image.size
    planes = np.asarray(image).transpose(2, 0, 1)
    f = recipe.get("patch_size", 1) * recipe.get("merge", 1)
    side = recipe.get("image_size", 0)
    kind = recipe["kind"]
    if kind == "gemma3":
        return 1, 1, [image.resize((side, side), Image.BILINEAR)]
    if kind == "gemma4":
        high, wide = get_aspect_ratio_preserving_size(h, w, recipe["patch_size"], recipe["max_tokens"] * recipe["merge"]**2, recipe["merge"])
    elif kind == "qwen":
        high, wide = smart_resize(h, w, f, recipe["min_pixels"], recipe["max_pixels"])
    elif kind == "pixtral":
        high, wide = get_resize_output_image_size(planes, side, f, "channels_first")
    elif kind == "llava":
        longer = max(w, h)
        padded = Image.new("RGB", (longer, longer), (122, 116, 104))
        padded.paste(image, ((longer - w) // 2, (longer - h) // 2))
        return 1, 1, [padded.resize((side, side), Image.BICUBIC)]
    elif kind == "internvl":
        columns, rows = get_optimal_tiled_canvas((h, w), (side, side), 1, recipe["max_tiles"])
        return columns, rows, grid(image.resize((columns * side, rows * side), Image.BICUBIC), columns, rows, side, image)
    elif kind == "idefics3":
        processor = Idefics3ImageProcessorPil()
        sized = processor.resize(planes, SizeDict(longest_edge=recipe["longer_side"]), Image.LANCZOS)
        sized = processor.resize_for_vision_encoder(sized, side, Image.LANCZOS)
        tiles, rows, columns = processor.split_images(sized, {"longest_edge": side}, Image.LANCZOS)
        return max(columns, 1), max(rows, 1), [Image.fromarray(tile.transpose(1, 2, 0)) for tile in tiles]
    return 1, 1, [image.resize((wide, high), Image.BICUBIC)]


RECIPES = [
    {"kind": "gemma3", "image_size": 48},
    {"kind": "gemma4", "patch_size": 4, "merge": 3, "max_tokens": 70},
    {"kind": "qwen", "patch_size": 14, "merge": 2, "min_pixels": 6272, "max_pixels": 3211264},
    {"kind": "qwen", "patch_size": 4, "merge": 2, "min_pixels": 64, "max_pixels": 1000},
    {"kind": "idefics3", "image_size": 32, "longer_side": 80},
    {"kind": "idefics3", "image_size": 64, "longer_side": 60},
    {"kind": "llava", "image_size": 56},
    {"kind": "pixtral", "image_size": 40, "patch_size": 8},
    {"kind": "pixtral", "image_size": 160, "patch_size": 8, "merge": 2},
    {"kind": "internvl", "image_size": 32, "max_tiles": 4},
    {"kind": "internvl", "image_size": 32, "max_tiles": 12},
]
SIZES = [(61, 43), (40, 43), (61, 20), (30, 21), (122, 86), (200, 7), (7, 200), (1, 1), (60, 10)]


def write_pictures():
    facts = {"decoded": {}, "resized": [], "cut": []}
    for name, data in pictures():
        (OUT / name).write_bytes(data)
        image = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
        # Pillow takes grey of 16 bits by its value up to 255, so that all else is white; here it is the high byte, as with colours.
        if image.mode == "I;16":
            image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
        image = image.convert("RGB")
        facts["decoded"][name] = [image.width, image.height, crc(image)]
    image = Image.open(OUT / "photo.png").convert("RGB")
    for number, kind in enumerate(FILTERS):
        facts["resized"] += [[number, w, h, crc(image.resize((w, h), kind))] for w, h in SIZES]
    for name in ("photo.png", "alpha.png", "turned.png"):
        image = ImageOps.exif_transpose(Image.open(OUT / name)).convert("RGB")
        for recipe in RECIPES:
            columns, rows, tiles = cut(image, recipe)
            facts["cut"].append({"file": name, **recipe, "columns": columns, "rows": rows, "tiles": [[*t.size, crc(t)] for t in tiles]})
    write("pictures.json", facts)


def sounds():
    """Name and what soundfile hears in it, as one channel."""
    for name, rate, channels, kind, coding in [
        ("plain.wav", 16000, 1, "WAV", "PCM_16"), ("bytes.wav", 16000, 2, "WAV", "PCM_U8"), ("float.wav", 16000, 1, "WAV", "FLOAT"),
        ("sound.flac", 16000, 2, "FLAC", "PCM_16"), ("sound.ogg", 16000, 1, "OGG", "VORBIS"), ("sound.mp3", 16000, 1, "MP3", "MPEG_LAYER_III"),
        ("fast.wav", 44100, 1, "WAV", "PCM_16"), ("slow.wav", 8000, 1, "WAV", "PCM_16"),
    ]:
        t = np.arange(rate // 8) / rate
        wave = sum(0.2 * np.sin(2 * np.pi * hz * t + phase) for hz, phase in ((220, 0), (997, 1), (2600, 2)))
        wave = wave * np.sin(np.pi * t * 8)
        soundfile.write(OUT / name, np.stack([wave * (1 - 0.3 * c) for c in range(channels)], axis=1), rate, format=kind, subtype=coding)
        # What is resampled is compared with the formula it was made by.
        heard, _ = soundfile.read(OUT / name, always_2d=True)
        if rate != 16000:
            t = np.arange(2000) / 16000
            heard = (sum(0.2 * np.sin(2 * np.pi * hz * t + phase) for hz, phase in ((220, 0), (997, 1), (2600, 2))) * np.sin(np.pi * t * 8))[:, None]
        yield name, heard.mean(axis=1)


def write_sounds():
    facts = {"heard": {}, "mel": [], "gemma4_mel": []}
    for name, samples in sounds():
        facts["heard"][name] = {"n": len(samples), "samples": [[i, round(float(samples[i]), 7)] for i in range(150, len(samples) - 150, 97)]}
    samples, _ = soundfile.read(OUT / "plain.wav", dtype="float32")
    for n_bins in (80, 128):
        for repeats in (1, 241):  # 0.125 s, and more than a window of 30 s
            extractor = WhisperFeatureExtractor(feature_size=n_bins)
            mel = extractor(np.tile(samples, repeats), sampling_rate=16000, padding=True, truncation=False, pad_to_multiple_of=480000,
                            return_tensors="np")["input_features"][0]
            places = [(b, t) for b in range(0, n_bins, 11) for t in range(0, mel.shape[1], 293)]
            places += [(5, t) for t in range(12)]
            facts["mel"].append({"n_bins": n_bins, "repeats": repeats, "frames": mel.shape[1],
                                 "values": [[b, t, round(float(mel[b, t]), 6)] for b, t in places]})
    facts["gemma4_mel"] = gemma4_mel(samples)
    write("sounds.json", facts)


def gemma4_mel(samples):
    """Of a sound of 0.125 s and of one of more than 30 s, of which the extractor hears so much."""
    facts = []
    for n_bins, repeats in ((128, 1), (20, 241)):
        out = Gemma4AudioFeatureExtractor(feature_size=n_bins)([np.tile(samples, repeats)], return_tensors="np")
        mel, frames = out["input_features"][0], int(out["input_features_mask"].sum())
        places = [(b, t) for b in range(0, n_bins, 11) for t in range(0, frames, 293)] + [(5, t) for t in (*range(min(12, frames)), frames - 1)]
        facts.append({"n_bins": n_bins, "repeats": repeats, "frames": frames, "values": [[b, t, round(float(mel[t, b]), 6)] for b, t in places]})
    return facts


def write(name, facts):
    """A line for each fact."""
    parts = []
    for key, value in facts.items():
        items = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in value.items()] if isinstance(value, dict) else [json.dumps(v) for v in value]
        left, right = "{}" if isinstance(value, dict) else "[]"
        parts.append(f"{json.dumps(key)}: {left}\n" + ",\n".join(items) + f"\n{right}")
    (OUT / name).write_text("{" + ",\n".join(parts) + "}\n")


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    write_pictures()
    write_sounds()
