#!/usr/bin/env python3
"""Compares two float32 .npy files of logits [positions, vocabulary].

usage: compare_logits.py X.npy REFERENCE.npy [--nmse 1e-6] [--top1 0.93]

Prints NMSE = sum((x - ref)^2) / sum(ref^2), the worst row, the share of positions with the same argmax, and the first position whose
argmax differs although the reference's two largest logits are at least 1e-3 of their standard deviation apart. Exit code 1 when a
given limit is missed. Needs numpy.
"""
import argparse
import sys

import numpy as np


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("x")
    ap.add_argument("reference")
    ap.add_argument("--nmse", type=float, help="largest NMSE allowed")
    ap.add_argument("--top1", type=float, help="smallest share of equal argmax allowed")
    a = ap.parse_args()
    x, ref = np.load(a.x).astype(np.float64), np.load(a.reference).astype(np.float64)
    if x.shape != ref.shape:
        sys.exit(f"error: shapes differ: {x.shape} and {ref.shape}")
    if not np.isfinite(x).all():
        sys.exit("error: the logits are not finite")
    error = ((x - ref) ** 2).sum(1)
    energy = (ref**2).sum(1)
    nmse = float(error.sum() / energy.sum())
    same = x.argmax(1) == ref.argmax(1)
    top2 = np.sort(ref, axis=1)[:, -2:]
    clear = (top2[:, 1] - top2[:, 0]) >= 1e-3 * ref.std(1)
    wrong = np.flatnonzero(~same & clear)
    print(f"nmse={nmse:.3e} worst_row={float((error / energy).max()):.3e} max_diff={float(np.abs(x - ref).max()):.3e} "
          f"top1={same.mean():.4f} first_clear_difference={int(wrong[0]) if wrong.size else 'none'}")
    bad = (a.nmse is not None and nmse > a.nmse) or (a.top1 is not None and same.mean() < a.top1)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
