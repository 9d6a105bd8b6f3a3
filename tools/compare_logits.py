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

# Two logits closer than this share of the row's standard deviation are a tie: rounding may choose either.
TIE = 1e-3


def ties(logits):
    """Which rows of [n, vocabulary] have their two largest logits too close to call."""
    top2 = np.partition(logits, -2, axis=1)[:, -2:]
    return (top2[:, 1] - top2[:, 0]) < TIE * logits.std(1)


def compare(x, ref):
    """Figures of x against ref, both [n, vocabulary]. Raises ValueError when they cannot be compared."""
    if x.shape != ref.shape:
        raise ValueError(f"shapes differ: {x.shape} and {ref.shape}")
    error, energy, max_diff = [], [], 0.0
    # Row by row: in float64 all of a large vocabulary would take gigabytes.
    for row, ref_row in zip(x, ref):
        row, ref_row = row.astype(np.float64), ref_row.astype(np.float64)
        if not np.isfinite(row).all():
            raise ValueError("the logits are not finite")
        error.append(((row - ref_row) ** 2).sum())
        energy.append((ref_row**2).sum())
        max_diff = max(max_diff, float(np.abs(row - ref_row).max()))
    same = x.argmax(1) == ref.argmax(1)
    wrong = np.flatnonzero(~same & ~ties(ref))
    return {
        "nmse": float(np.sum(error) / np.sum(energy)),
        "worst_row": float(np.max(np.array(error) / np.array(energy))),
        "max_diff": max_diff,
        "top1": float(same.mean()),
        "first_clear_difference": int(wrong[0]) if wrong.size else None,
    }


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("x")
    ap.add_argument("reference")
    ap.add_argument("--nmse", type=float, help="largest NMSE allowed")
    ap.add_argument("--top1", type=float, help="smallest share of equal argmax allowed")
    a = ap.parse_args()
    try:
        r = compare(np.load(a.x), np.load(a.reference))
    except ValueError as e:
        sys.exit(f"error: {e}")
    clear = "none" if r["first_clear_difference"] is None else r["first_clear_difference"]
    print(f"nmse={r['nmse']:.3e} worst_row={r['worst_row']:.3e} max_diff={r['max_diff']:.3e} top1={r['top1']:.4f} "
          f"first_clear_difference={clear}")
    bad = (a.nmse is not None and r["nmse"] > a.nmse) or (a.top1 is not None and r["top1"] < a.top1)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
