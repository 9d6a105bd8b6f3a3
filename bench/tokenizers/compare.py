#!/usr/bin/env python3
"""Ids and speed of Puna's tokenizers beside Hugging Face `tokenizers`, in one run on one thread.

The speed is that of the fastest of several rounds, in each of which both encode the text in turn, by CPU time: what else the machine does can
only slow a round down.

usage: pip install tokenizers==0.23.3
       cmake --preset bench && cmake --build --preset bench --target puna_encode_bench
       bench/tokenizers/compare.py FOLDER... [--text FILE] [--json OUT] [--rounds N]

A FOLDER holds a tokenizer.json (and a tokenizer_config.json, where there is one). Three texts: prose and program text in equal parts
(--text, else made of this repository's own files, 1 MB), the mixed text of tools/compare_tokenizers.py (words, every kind of white space, runs of
neighbouring code points from all over Unicode, 1.2 MB), and the same with the vocabulary's own added tokens strewn in (0.3 MB). Truncation and padding
that a tokenizer.json asks for are switched off. Exit code 1 when an id differs.
"""
import argparse
import array
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
os.environ["TOKENIZERS_PARALLELISM"] = "false"
from compare_tokenizers import mixed_text  # noqa: E402
from tokenizers import Tokenizer, __version__  # noqa: E402


def repository_text(n_bytes=1_000_000):
    """Half documentation, half program text, from the files of this repository."""
    def take(patterns):
        files = sorted(p for pattern in patterns for p in ROOT.glob(pattern))
        text = "".join(p.read_text(errors="ignore") for p in files if "fixtures" not in p.parts and not p.name.endswith("_data.cpp"))
        return (text * (1 + n_bytes // 2 // len(text)))[:n_bytes // 2]
    return take(["*.md", "docs/**/*.md", "src/**/README.md"]) + take(["src/**/*.cpp", "tools/*.py"])


def with_added_tokens(tokenizer, n_bytes=300_000):
    r = random.Random(5)
    added = [t.content for t in tokenizer.get_added_tokens_decoder().values()]
    text, out = mixed_text(n_bytes, seed=3), []
    while text:
        n = r.randint(1, 40)
        out += [text[:n], r.choice(["", "", " ", "\n", "  "]), r.choice(added) if added else "", r.choice(["", "", " ", "\n"])]
        text = text[n:]
    return "".join(out)


def rate(run, mb):
    start = time.process_time()
    run()
    return mb / (time.process_time() - start)


def compare(folder, name, text, bench, rounds, tokenizer):
    mb = len(text.encode()) / 1e6
    want = tokenizer.encode(text, add_special_tokens=False).ids
    with tempfile.NamedTemporaryFile() as file:
        file.write(text.encode())
        file.flush()
        run = lambda *more: subprocess.run([bench, folder, file.name, *more], stdout=subprocess.PIPE, check=True).stdout
        got = list(array.array("i", run("0")))
        row = {"vocabulary": Path(folder).name, "text": name, "mb": round(mb, 3), "tokens": len(want), "equal": got == want}
        if got != want:
            at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
            show = lambda ids: [tokenizer.id_to_token(i) for i in ids[max(0, at - 3):at + 5]]
            row.update(first_difference=at, puna=show(got), reference=show(want), puna_tokens=len(got))
        if name != "added":
            figures, theirs = [], []
            for _ in range(rounds):
                figures.append(json.loads(run("5")))
                theirs.append(rate(lambda: tokenizer.encode(text, add_special_tokens=False), mb))
            best = lambda key: max(f[key] for f in figures)
            row.update(puna_mb_s=best("mb_s"), hf_mb_s=round(max(theirs), 2), puna_decode_mb_s=best("decode_mb_s"),
                       puna_load_ms=min(f["load_ms"] for f in figures))
    return row


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("folders", nargs="+")
    ap.add_argument("--text", type=Path)
    ap.add_argument("--json", type=Path)
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--bench", default=str(ROOT / "build/bench/src/formats/puna_encode_bench"))
    a = ap.parse_args()
    plain = a.text.read_bytes().decode() if a.text else repository_text()
    rows, failed = [], False
    print(f"{'vocabulary':14} {'text':6} {'tokens':>8} {'ids':7} {'Puna':>7} {'HF':>7} {'decode':>7} MB/s")
    for folder in a.folders:
        start = time.process_time()
        tokenizer = Tokenizer.from_file(folder + "/tokenizer.json")
        load = time.process_time() - start
        tokenizer.no_truncation()
        tokenizer.no_padding()
        for name, text in (("plain", plain), ("mixed", mixed_text()), ("added", with_added_tokens(tokenizer))):
            row = compare(folder, name, text, a.bench, a.rounds, tokenizer)
            row["hf_load_ms"] = round(load * 1e3)
            rows.append(row)
            failed |= not row["equal"]
            print(f"{row['vocabulary']:14} {name:6} {row['tokens']:8} {'equal' if row['equal'] else 'DIFFER':7} "
                  f"{row.get('puna_mb_s', ''):>7} {row.get('hf_mb_s', ''):>7} {row.get('puna_decode_mb_s', ''):>7}", flush=True)
            if not row["equal"]:
                print(f"  at {row['first_difference']} of {row['puna_tokens']}: HF {row['reference']}\n  Puna {row['puna']}")
    if a.json:
        cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
        a.json.write_text(json.dumps({"cpu": cpu, "tokenizers": __version__, "command": "bench/tokenizers/compare.py FOLDER...",
                                      "load_average": [round(x, 1) for x in os.getloadavg()], "results": rows},
                                     ensure_ascii=False, indent=1) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
