#!/usr/bin/env python3
"""Compares an engine with the reference logits of tiny models (tools/make_tiny_models.py, make_tiny_folders.py). Needs numpy.

usage: tests/goldens/check.py [--folder DIR] [--limit N] [PUNA [ARGUMENT...]]

Runs `PUNA logits --model F --tokens IDS --output x.npy ARGUMENT...` (embed, for models that give embeddings) and `PUNA run F --tokens
IDS --output-tokens ...` for every NAME.json with its model, NAME.gguf or a folder NAME, in the folder (default: this one) and prints
NMSE and whether the greedy text agrees. PUNA is build/release/puna unless given; an ARGUMENT is for example --device gpu. Exit code 1 if a model is above the limit or differs.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
LIMIT = 1e-6      # exact numerics against the stored weights; see docs/decisions/goldens.md
F16_LIMIT = 1e-4  # f16 and bf16 weights may be multiplied with f16 activations


def run(command):
    result = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if result.returncode:
        raise RuntimeError((result.stderr.strip().splitlines() or [f"exit code {result.returncode}"])[-1])
    return result.stdout


def check(puna, arguments, path, facts, limit):
    """(NMSE, what is wrong or "")"""
    ids = ",".join(map(str, facts["tokens"]))
    arguments = [*arguments, *(["--ctx", str(facts["context"])] if "context" in facts else [])]
    reference = np.load(path.with_suffix(".npy")).astype(np.float64)
    embeds = facts["kind"] == "embedding"
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/logits.npy"
        run([puna, "embed" if embeds else "logits", "--model", str(path), "--tokens", ids, "--output", out, *arguments])
        found = np.load(out).astype(np.float64)
    if found.shape != reference.shape:
        return None, f"shape {found.shape}, expected {reference.shape}"
    nmse = float(((found - reference) ** 2).sum() / (reference**2).sum())
    if not nmse <= limit:
        return nmse, f"above {limit:.0e}"
    if embeds:
        return nmse, ""
    text = run([puna, "run", str(path), "--tokens", ids, "--output-tokens", "--ignore-eos", "--temp", "0", "--numerics", "exact",
                "--kv-type", "f32", "-n", str(len(facts["greedy"])), *arguments])
    greedy = [int(word) for word in text.split()][-len(facts["greedy"]):]
    differs = [i for i, (a, b) in enumerate(zip(greedy, facts["greedy"])) if a != b]
    if differs or len(greedy) < len(facts["greedy"]):
        return nmse, f"greedy text differs at token {differs[0] if differs else len(greedy)}"
    return nmse, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=HERE)
    parser.add_argument("--limit", type=float, help="one limit for all models")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    puna, *arguments = args.command or [str(HERE.parent.parent / "build/release/puna")]
    failed = 0
    models = [p for p in sorted(args.folder.iterdir()) if (p.is_dir() or p.suffix == ".gguf") and p.with_suffix(".json").exists()]
    for path in models:
        facts = json.loads(path.with_suffix(".json").read_text())
        limit = args.limit or (F16_LIMIT if facts["weights"] in ("f16", "bf16") else LIMIT)
        try:
            nmse, wrong = check(puna, arguments, path, facts, limit)
        except RuntimeError as error:
            nmse, wrong = None, str(error)
        failed += bool(wrong)
        print(f"{path.stem:16s} {'-' if nmse is None else format(nmse, '.1e'):>8s}  {wrong or 'ok'}", flush=True)
    print(f"{len(models) - failed} of {len(models)} agree")
    return 1 if failed or not models else 0


if __name__ == "__main__":
    sys.exit(main())
