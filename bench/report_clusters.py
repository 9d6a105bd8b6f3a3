"""Devices in groups of like speed: k-means (Lloyd's algorithm from k-means++ seeds) on the logarithms of their tokens per second, as the LlamaWeb
paper groups its devices. The same input gives the same groups."""
import math
import random
from dataclasses import dataclass

SEED = 7
RESTARTS = 32
MAX_K = 5
# Below this, groups would be the devices themselves.
MIN_DEVICES = 4


@dataclass
class Clustering:
    groups: list  # lists of indices of points, fastest group first
    inertia: float  # sum of squared distances to the centres


def distance2(a, b):
    return sum((x - y) ** 2 for x, y in zip(a, b))


def centre(points):
    return [sum(values) / len(points) for values in zip(*points)]


def seeds(points, k, rng):
    """k-means++: each further centre with a chance in proportion to its squared distance to the nearest one so far."""
    chosen = [list(rng.choice(points))]
    while len(chosen) < k:
        weights = [min(distance2(p, c) for c in chosen) for p in points]
        chosen.append(list(rng.choices(points, weights)[0]))
    return chosen


def lloyd(points, centres):
    assigned = None
    while True:
        nearest = [min(range(len(centres)), key=lambda c: distance2(p, centres[c])) for p in points]
        if nearest == assigned:
            break
        assigned = nearest
        for c in range(len(centres)):
            members = [p for p, a in zip(points, assigned) if a == c]
            if members:  # a centre that lost all of its points stays where it is
                centres[c] = centre(members)
    return assigned, sum(distance2(p, centres[a]) for p, a in zip(points, assigned))


def k_means(points, k):
    """The best of RESTARTS runs. points: lists of one length. k: 1 to the number of different points."""
    different = {tuple(p) for p in points}
    if not 1 <= k <= len(different):
        raise ValueError(f"{k} clusters of {len(different)} different points are asked for")
    rng = random.Random(SEED)
    assigned, inertia = min((lloyd(points, seeds(points, k, rng)) for _ in range(RESTARTS)), key=lambda run: run[1])
    groups = [[i for i, a in enumerate(assigned) if a == c] for c in sorted(set(assigned))]
    speed = lambda group: sum(sum(points[i]) for i in group) / len(group)  # noqa: E731
    return Clustering(sorted(groups, key=speed, reverse=True), inertia)


@dataclass
class DeviceClusters:
    devices: list  # names that take part
    left_out: list  # names of those with less than half of the cells
    cells: list  # (model, phase, tokens, depth) that all of them have
    inertias: list  # [(k, inertia)]
    k: int
    groups: list  # lists of device names; groups and their members fastest first
    why_not: str = ""  # why there are no groups


def cluster_devices(speeds, k=None):
    """speeds: Speed rows of one engine. Distances are in powers of two: 1 is twice as fast in one cell."""
    table = {}
    for s in speeds:
        table.setdefault(s.device, {})[(s.model, s.phase, s.tokens, s.depth)] = math.log2(s.median)
    all_cells = {cell for row in table.values() for cell in row}
    devices = [d for d, row in table.items() if 2 * len(row) >= len(all_cells)]
    left_out = [d for d in table if d not in devices]
    cells = sorted(set.intersection(*(set(table[d]) for d in devices))) if devices else []
    out = DeviceClusters(devices, left_out, cells, [], 0, [])
    if len(devices) < MIN_DEVICES:
        out.why_not = f"{len(devices)} device{'s' if len(devices) != 1 else ''} with comparable figures; groups need at least {MIN_DEVICES}."
        return out
    if not cells:
        out.why_not = "There is no model, phase and depth that all devices have figures of."
        return out
    points = [[table[d][cell] for cell in cells] for d in devices]
    most = min(MAX_K, len({tuple(p) for p in points}))
    wanted = k if k is not None else min(3, most)
    if wanted > most:
        out.why_not = f"{wanted} groups are asked for, but there are {most} at most here."
        return out
    found = {n: k_means(points, n) for n in range(1, most + 1)}
    out.inertias = [(n, found[n].inertia) for n in found]
    out.k = wanted
    out.groups = [[devices[i] for i in sorted(group, key=lambda i: -sum(points[i]))] for group in found[wanted].groups]
    return out
