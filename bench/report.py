#!/usr/bin/env python3
"""Draws results of benchmarks: one HTML file with heat maps, ratios to peers, groups of devices, and a table of all figures.

usage: bench/report.py [-o report.html] [--clusters K] [LABEL=]FILE...

FILE: a result of bench/browser/sweep.mjs, bench/browser/compare.mjs or `puna bench --json`, in any mixture. LABEL replaces the device's name, to
tell apart or to join what comes from different machines. K: groups of devices, 1 to 5 (3, or fewer where there are not so many different ones).
Needs nothing but Python 3.9. Read next: report_input.py (the formats), report_svg.py, report_clusters.py.
"""
import argparse
import sys
from html import escape
from pathlib import Path

from report_clusters import MAX_K, cluster_devices
from report_input import InputError, PHASES, ROUND_METRICS, read_files
from report_svg import geomean, heat_map, inertia_chart, number, ratio_chart

WIDE_SPREAD = 0.25  # of the median, from which a figure is marked as shaky

STYLE = """
:root { color-scheme: light dark; --ink: light-dark(#22201d, #ece7e0); --soft: light-dark(#6d665d, #a39a8e); --line: light-dark(#e2dcd3, #3a3631);
  --paper: light-dark(#faf7f2, #1b1917); --card: light-dark(#fff, #262320); --accent: light-dark(#b4552d, #e08a5f); --good: light-dark(#1f6f8b, #67b7d1); }
body { margin: 0 auto; max-width: 84rem; padding: 1.5rem; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { margin: 0 0 0.25rem; font-size: 1.5rem; } h2 { margin: 2.25rem 0 0.5rem; font-size: 1.15rem; color: var(--accent); }
p { margin: 0.4rem 0; max-width: 60rem; } .soft { color: var(--soft); }
.charts { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 0.6rem; padding: 1rem; overflow-x: auto; max-width: 100%; box-sizing: border-box; }
.note { border-left: 3px solid var(--accent); padding-left: 0.75rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.87rem; }
th, td { padding: 0.25rem 0.7rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { color: var(--soft); font-weight: 600; } .n { text-align: right; white-space: nowrap; } .shaky { color: var(--accent); font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; margin: 0.25rem 0 1rem; font-size: 0.87rem; } dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; } h3 { margin: 1rem 0 0; font-size: 1rem; }
svg { display: block; } svg text { font: 12px system-ui, sans-serif; fill: var(--ink); } svg .soft { fill: var(--soft); } svg .title { font-size: 14px; font-weight: 600; }
svg .blank { fill: none; stroke: var(--line); } svg .failed { fill: none; stroke: var(--accent); stroke-dasharray: 3 3; }
svg .grid { stroke: var(--line); } svg .axis { stroke: var(--ink); } svg .mean { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 5 4; }
svg .ahead { stroke: var(--good); fill: var(--good); stroke-width: 2; } svg .behind { stroke: var(--accent); fill: var(--accent); stroke-width: 2; }
svg .bar { fill: var(--line); } svg .chosen { fill: var(--good); }
"""


def plural(n, word):
    return f"{n} {word}{'' if n == 1 else 's'}"


def fastest_first(speeds, key):
    """The values of `key` by the geometric mean of their figures."""
    groups = {}
    for s in speeds:
        groups.setdefault(key(s), []).append(s.median)
    return sorted(groups, key=lambda name: -geomean(groups[name]))


def heat_maps(results, clusters):
    """One map an engine, phase, depth and number of tokens; one colour scale a phase, so that its maps can be compared."""
    order = [d for group in clusters.groups for d in group]
    n_grouped = len(order)
    order += [d for d in fastest_first(results.speeds, lambda s: s.device) if d not in order]
    # Small models, which decode faster, to the left.
    models = fastest_first([s for s in results.speeds if s.phase == "decode"] or results.speeds, lambda s: s.model)
    models += sorted({s.model for s in results.speeds} - set(models))
    breaks = {group[0] for group in clusters.groups[1:]} | set(order[n_grouped:n_grouped + 1] if n_grouped else ())
    maps = []
    for engine in sorted({s.engine for s in results.speeds}, key=lambda e: (e != "puna", e)):
        for phase in PHASES:
            in_phase = [s for s in results.speeds if s.phase == phase]
            for depth, tokens in sorted({(s.depth, s.tokens) for s in in_phase if s.engine == engine}):
                shown = [s for s in in_phase if (s.engine, s.depth, s.tokens) == (engine, depth, tokens)]
                cells = {(s.device, s.model): (s.median, f"{s.device}, {s.model}: {number(s.median)} tok/s, {number(s.low)} to {number(s.high)}, {s.tokens} tokens") for s in shown}
                for f in results.failures:
                    if f.engine == engine and f.where in ("", f"{phase} of {tokens}, depth {depth}"):
                        cells.setdefault((f.device, f.model), (None, f"{f.device}, {f.model}: {f.why}"))
                rows = [d for d in order + sorted(results.devices) if any(c[0] == d for c in cells)]
                columns = [m for m in models if any(c[1] == m for c in cells)]
                columns += sorted({c[1] for c in cells} - set(columns))
                title = f"{engine}: {phase} of {tokens} tokens, depth {depth}"
                maps.append(heat_map(title, list(dict.fromkeys(rows)), columns, cells, min(s.median for s in in_phase), max(s.median for s in in_phase), breaks))
    return maps


def ratio_charts(ratios):
    charts = []
    for peer in sorted({r.peer for r in ratios}):
        for metric, (name, unit, more_is_better) in ROUND_METRICS.items():
            chosen = [r for r in ratios if r.peer == peer and r.metric == metric]
            if not chosen:
                continue
            one_device = len({r.device for r in chosen}) == 1
            rows = [(r.model if one_device else f"{r.model}, {r.device}", r.low, r.middle, r.high, f"{r.model}, {r.device}: Puna {number(r.puna)} {unit}, {r.peer} {number(r.other)} {unit}; "
                     f"{r.middle:.3g}x, {r.low:.3g} to {r.high:.3g}") for r in sorted(chosen, key=lambda r: -r.middle)]
            charts.append(ratio_chart(f"{name}: Puna to {peer}{'' if more_is_better else ' (less is better)'}", rows))
    return charts


def row(cells, tag="td"):
    return "<tr>" + "".join(f'<{tag}{f" class={chr(34)}{kind}{chr(34)}" if kind else ""}>{escape(str(content))}</{tag}>' for content, kind in cells) + "</tr>"


def figures_table(results):
    heads = [("device", ""), ("ran on", ""), ("model", ""), ("engine", ""), ("phase", ""), ("tokens", "n"), ("depth", "n"), ("min tok/s", "n"), ("median", "n"),
             ("max", "n"), ("spread", "n"), ("file", "")]
    lines = [row(heads, "th")]
    for s in sorted(results.speeds, key=lambda s: (s.device, s.model, s.engine != "puna", s.engine, s.phase != "prefill", s.depth)):
        ran_on = ", ".join(sorted(results.devices[s.device].ran_on)) or "not told"
        spread = (f"{s.spread * 100:.0f} %", "n shaky" if s.spread > WIDE_SPREAD else "n")
        lines.append(row([(s.device, ""), (ran_on, ""), (s.model, ""), (s.engine, ""), (s.phase, ""), (s.tokens, "n"), (s.depth, "n"), (number(s.low), "n"),
                          (number(s.median), "n"), (number(s.high), "n"), spread, (Path(s.file).name, "")]))
    return f"<table>{''.join(lines)}</table>"


def ratios_table(ratios):
    lines = [row([("device", ""), ("model", ""), ("figure", ""), ("Puna", "n"), ("peer", ""), ("its figure", "n"), ("ratio", "n"), ("least", "n"), ("greatest", "n")], "th")]
    for r in ratios:
        name, unit, _ = ROUND_METRICS[r.metric]
        lines.append(row([(r.device, ""), (r.model, ""), (f"{name}, {unit}", ""), (number(r.puna), "n"), (r.peer, ""), (number(r.other), "n"), (f"{r.middle:.3g}", "n"),
                          (f"{r.low:.3g}", "n"), (f"{r.high:.3g}", "n")]))
    return f"<table>{''.join(lines)}</table>"


def clusters_section(clusters):
    parts = ["<h2>Groups of devices</h2>"]
    if clusters.why_not:
        parts.append(f'<p class="note">No groups. {escape(clusters.why_not)}</p>')
    else:
        names = ("high", "middle", "low") if clusters.k == 3 else [str(i + 1) for i in range(clusters.k)]
        parts.append(f"<p>k-means with k = {clusters.k} on log2 of tok/s in the {plural(len(clusters.cells), 'cell')} (model, phase, depth) that "
                     f"{len(clusters.devices)} devices have in common; the inertia is the sum of squared distances, and 1 a factor of two in one cell.</p>")
        lines = "".join(row([(name, ""), (", ".join(group), "")]) for name, group in zip(names, clusters.groups))
        parts.append(f'<div class="charts"><div class="card">{inertia_chart(clusters.inertias, clusters.k)}</div><div class="card"><table>{row([("group", ""), ("devices", "")], "th")}{lines}</table></div></div>')
    if clusters.left_out:
        parts.append(f'<p class="soft">Left out, as they have less than half of the figures: {escape(", ".join(clusters.left_out))}.</p>')
    return "".join(parts)


def devices_section(results):
    parts = ["<h2>Devices</h2>"]
    for name in sorted(results.devices):
        device = results.devices[name]
        facts = {}
        for key, value in [("ran on", ", ".join(sorted(device.ran_on)) or "not told by the engine"), *device.facts]:
            facts.setdefault(key, []).append(value)
        lines = "".join(f"<dt>{escape(key)}</dt><dd>{escape(' · '.join(values))}</dd>" for key, values in facts.items())
        parts.append(f"<h3>{escape(name)}</h3><dl>{lines}</dl>")
    return "".join(parts)


def notes(results):
    said = []
    software = sorted(d.name for d in results.devices.values() if "software gpu" in d.ran_on)
    if software:
        said.append(f"A software adapter, no GPU: {', '.join(software)}.")
    mixed = sorted(d.name for d in results.devices.values() if len(d.ran_on) > 1)
    if mixed:
        said.append(f"Not all models ran on the same kind of device: {', '.join(mixed)}.")
    shaky = sum(s.spread > WIDE_SPREAD for s in results.speeds)
    if shaky:
        said.append(f"{shaky} of {plural(len(results.speeds), 'figure')} vary by more than {WIDE_SPREAD:.0%} of the median over the repeats; the table marks them.")
    if results.failures:
        said.append(f"{plural(len(results.failures), 'measurement')} failed; they are listed below.")
    return "".join(f'<p class="note">{escape(line)}</p>' for line in said)


def failures_section(failures):
    lines = "".join(row([(f.device, ""), (f.model, ""), (f.where or "all", ""), (f.why, "")]) for f in failures)
    return f'<h2>Failed</h2><div class="card"><table>{row([("device", ""), ("model", ""), ("what", ""), ("why", "")], "th")}{lines}</table></div>'


def html(results, clusters):
    cards = lambda charts: f'<div class="charts">{"".join(f"<div class={chr(34)}card{chr(34)}>{c}</div>" for c in charts)}</div>'  # noqa: E731
    models = {s.model for s in results.speeds} | {f.model for f in results.failures}
    body = [f"<h1>Speed of models</h1><p class=soft>{plural(len(results.devices), 'device')}, {plural(len(models), 'model')}, {plural(len(results.speeds), 'figure')}: "
            "medians over the repeats, in tokens per second.</p>", notes(results)]
    if results.speeds:
        body += ["<h2>Heat maps</h2><p class=soft>Maps of one phase share a colour scale; lines part the groups of devices (below). Blank: not measured.</p>", cards(heat_maps(results, clusters))]
    if results.ratios:
        body += ["<h2>Ratios to peers</h2><p class=soft>The same file, in turns. A dot is the ratio of medians; right of 1 Puna is ahead, also where less is better.</p>",
                 cards(ratio_charts(results.ratios)), f'<div class="card" style="margin-top:1rem">{ratios_table(results.ratios)}</div>']
    body.append(clusters_section(clusters))
    if results.failures:
        body.append(failures_section(results.failures))
    if results.speeds:
        body += ["<h2>All figures</h2><p class=soft>Spread: max - min as a share of the median.</p>", f'<div class="card">{figures_table(results)}</div>']
    body.append(devices_section(results))
    return ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>Speed of models</title><style>{STYLE}</style></head><body>{''.join(body)}</body></html>\n")


def main(arguments):
    parser = argparse.ArgumentParser(prog="report.py", description=__doc__.split("\n\n")[0], epilog=__doc__.split("\n\n", 2)[2], formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", default="report.html", metavar="HTML")
    parser.add_argument("--clusters", type=int, choices=range(1, MAX_K + 1), metavar="K", help="groups of devices, 1 to 5")
    parser.add_argument("files", nargs="+", metavar="[LABEL=]FILE")
    flags = parser.parse_args(arguments)
    try:
        results = read_files(flags.files)
        if not results.speeds and not results.failures:
            raise InputError(f"{', '.join(flags.files)}: there is no figure in it")
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    clusters = cluster_devices([s for s in results.speeds if s.engine == "puna"], flags.clusters)
    Path(flags.output).write_text(html(results, clusters), encoding="utf-8")
    print(f"{flags.output}: {plural(len(results.devices), 'device')}, {plural(len(results.speeds), 'figure')}, {plural(len(results.ratios), 'ratio')}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
