#!/usr/bin/env python3
"""Tests of report.py: reading results, k-means, charts. usage: bench/report_test.py"""
import contextlib
import io
import json
import math
import random
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import report  # noqa: E402
import report_clusters as clusters  # noqa: E402
import report_svg as svg  # noqa: E402
from report_input import InputError, Speed, model_name, read_files  # noqa: E402


def rate(median, around=0.1):
    return {"min": median * (1 - around), "median": median, "max": median * (1 + around)}


def cells(speed, depths=(0, 2048)):
    return [{"phase": phase, "tokens": tokens, "depth": depth, "tokens_per_s": rate(speed * factor)}
            for depth in depths for phase, tokens, factor in (("prefill", 512, 20), ("decode", 128, 1))]


def sweep(name, speeds, ran_on="gpu"):
    """A made-up result of a browser; speeds: {model: decode tok/s, or a text: why it failed}."""
    models = []
    for model, speed in speeds.items():
        entry = {"model": {"name": model}, "results": [], "failures": []}
        if isinstance(speed, str):
            entry["error"] = speed
        else:
            entry |= {"results": cells(speed), "threads": 1, "device": {"type": "gpu", "name": "made up", "why": "a test", "features": ["shader-f16"], "ran_on": ran_on}}
        models.append(entry)
    adapter = {"vendor": "acme", "software": ran_on != "gpu", "features": ["shader-f16"], "limits": {"maxBufferSize": 1 << 30}}
    return {"kind": "puna browser sweep", "version": 1, "name": name, "browser": "Chrome 156", "settings": {},
            "facts": {"user_agent": "Test <1>", "cores": 8, "cross_origin_isolated": True, "adapter": adapter}, "models": models}


def native(model="/models/tiny.gguf", backend="vulkan"):
    return {"engine": "puna", "device": "Acme 1", "model": model, "backend": backend, "adapter": "Acme 1", "driver": "7", "threads": 2, "results": cells(50)}


def comparison(puna=2.0):
    one = lambda f: {"said": {"device": {"type": "cpu", "name": "CPU", "why": "asked"}}, "prefill_tokens": 510, "prefill_tokens_per_s": 100 * f,  # noqa: E731
                     "decode_tokens_per_s": 10 * f, "first_visit_ms": 900 / f, "load_ms": 300 / f, "first_token_ms": 50 / f, "peak_mib": 400 / f}
    return {"model": "tiny.gguf", "device": "cpu", "medians": {}, "rounds": {"puna": [one(puna), one(puna * 1.1), one(puna * 0.9)], "wllama": [one(1) for _ in range(3)]}}


class WithFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, value):
        path = self.folder / name
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
        return str(path)

    def report(self, *arguments):
        """(exit code, standard error, HTML)"""
        out, error = self.folder / "r.html", io.StringIO()
        with contextlib.redirect_stderr(error), contextlib.redirect_stdout(io.StringIO()):
            code = report.main(["-o", str(out), *arguments])
        return code, error.getvalue(), out.read_text(encoding="utf-8") if out.exists() else ""


class Reading(WithFiles):
    def test_the_three_kinds_of_files_give_rows_of_one_kind(self):
        files = [self.write("a.json", sweep("m2", {"tiny": 20, "large": "out of memory"})), self.write("b.json", native()), self.write("c.json", comparison())]
        results = read_files(files)
        self.assertEqual({s.model for s in results.speeds}, {"tiny"})
        self.assertEqual({s.device for s in results.speeds}, {"m2", "Acme 1 (vulkan)", "c (cpu)"})
        self.assertEqual([(f.device, f.model, f.why) for f in results.failures], [("m2", "large", "out of memory")])
        self.assertEqual(results.devices["c (cpu)"].ran_on, {"cpu"})

    def test_a_ratio_is_above_one_where_puna_is_ahead_for_times_too(self):
        ratios = {r.metric: r for r in read_files([self.write("c.json", comparison(2.0))]).ratios}
        for metric in ("decode_tokens_per_s", "load_ms", "peak_mib"):
            self.assertAlmostEqual(ratios[metric].middle, 2.0)
            self.assertAlmostEqual(ratios[metric].low, 1.8)
            self.assertAlmostEqual(ratios[metric].high, 2.2)

    def test_a_label_names_the_device(self):
        results = read_files(["my phone=" + self.write("a.json", sweep("m2", {"tiny": 20}))])
        self.assertEqual(set(results.devices), {"my phone"})

    def test_names_of_models_are_paths_ends(self):
        self.assertEqual([model_name(t) for t in ("/m/a.gguf", "C:\\m\\a.GGUF", "hf/a/", "smollm2:latest")], ["a", "a", "a", "smollm2:latest"])

    def test_bad_files_are_errors_that_name_file_and_place(self):
        def without(value, *path):
            at = value
            for key in path[:-1]:
                at = at[key]
            del at[path[-1]]
            return value

        backwards = native()
        backwards["results"][1]["tokens_per_s"]["min"] = 1e9
        phase = native()
        phase["results"][0]["phase"] = "sleep"
        nothing = native()
        nothing["results"][0]["tokens_per_s"]["median"] = 0
        flag = native()
        flag["results"][0]["depth"] = True
        uneven = comparison()
        uneven["rounds"]["wllama"].pop()
        cases = [("{", "no JSON"), ("[]", "a JSON object is expected"), ({"a": 1}, "this is no result"),
                 (without(native(), "results", 2, "tokens_per_s", "max"), '"results[2].tokens_per_s.max" is missing'), (backwards, "not in order"),
                 (phase, '"results[0].phase" is "sleep"'), (nothing, '"results[0].tokens_per_s.median" is 0'), (flag, '"results[0].depth" is true'),
                 (without(sweep("x", {"tiny": 1}), "facts"), '"facts" is missing'), (without(sweep("x", {"tiny": 1}), "models", 0, "device", "ran_on"), '"models[0].device.ran_on"'),
                 (without(comparison(), "rounds", "puna"), '"rounds.puna" is missing'), (uneven, "one length"),
                 (without(comparison(), "rounds", "wllama", 1, "load_ms"), '"rounds.wllama[1].load_ms" is missing')]
        for value, wanted in cases:
            with self.subTest(wanted):
                code, error, html = self.report(self.write("bad.json", value))
                self.assertEqual((code, html), (1, ""))
                self.assertIn("bad.json", error)
                self.assertIn(wanted, error)

    def test_a_file_that_is_not_there_is_named(self):
        code, error, _ = self.report(str(self.folder / "none.json"))
        self.assertEqual(code, 1)
        self.assertIn("none.json: No such file", error)

    def test_one_cell_in_two_files_is_an_error(self):
        a, b = self.write("a.json", native()), self.write("b.json", native())
        with self.assertRaisesRegex(InputError, r"b\.json: prefill of tiny at depth 0 .* is in .*a\.json already"):
            read_files([a, b])
        self.assertEqual(len(read_files(["one=" + a, "two=" + b]).devices), 2)


class KMeans(unittest.TestCase):
    def test_groups_that_lie_apart_are_found_fastest_first(self):
        rng = random.Random(1)
        points = [[level + rng.uniform(-0.3, 0.3) for _ in range(4)] for level in (1, 9, 5) for _ in range(5)]
        found = clusters.k_means(points, 3)
        self.assertEqual([sorted(g) for g in found.groups], [list(range(5, 10)), list(range(10, 15)), list(range(5))])

    def test_inertia_of_one_group_is_the_sum_of_squares_and_of_as_many_as_points_zero(self):
        points = [[0.0, 0.0], [2.0, 0.0], [4.0, 6.0]]
        self.assertAlmostEqual(clusters.k_means(points, 1).inertia, 8 + 24)
        self.assertAlmostEqual(clusters.k_means(points, 3).inertia, 0)

    def test_it_is_the_best_split_of_a_small_case(self):
        points = [[0.0], [1.0], [2.1], [3.0], [7.0], [8.5]]
        best = min(sum(clusters.distance2(points[i], clusters.centre([points[j] for j in group])) for group in groups for i in group)
                   for mask in range(1, 2**6 - 1) for groups in [[[i for i in range(6) if mask >> i & 1 == bit] for bit in (0, 1)]])
        self.assertAlmostEqual(clusters.k_means(points, 2).inertia, best)

    def test_the_same_input_gives_the_same_groups(self):
        rng = random.Random(5)
        points = [[rng.gauss(0, 1) for _ in range(3)] for _ in range(20)]
        self.assertEqual(clusters.k_means(points, 4), clusters.k_means(points, 4))

    def test_equal_points_stay_together_and_bound_k(self):
        points = [[1.0], [1.0], [1.0], [4.0]]
        self.assertEqual([sorted(g) for g in clusters.k_means(points, 2).groups], [[3], [0, 1, 2]])
        with self.assertRaises(ValueError):
            clusters.k_means(points, 3)


def speeds_of(devices):
    """devices: {name: {model: decode tok/s}}"""
    return [Speed(d, m, "puna", "decode", 128, 0, v, v, v, "f") for d, models in devices.items() for m, v in models.items()]


class Clusters(unittest.TestCase):
    def test_three_groups_unless_told_otherwise(self):
        speeds = speeds_of({f"{name}{i}": {"a": v * (1 + i / 50), "b": v / 2} for name, v in (("fast", 200), ("mid", 40), ("slow", 5)) for i in range(3)})
        found = clusters.cluster_devices(speeds)
        self.assertEqual((found.k, [k for k, _ in found.inertias]), (3, [1, 2, 3, 4, 5]))
        self.assertEqual(found.groups, [["fast2", "fast1", "fast0"], ["mid2", "mid1", "mid0"], ["slow2", "slow1", "slow0"]])
        self.assertEqual([i for _, i in found.inertias], sorted((i for _, i in found.inertias), reverse=True))
        self.assertEqual(clusters.cluster_devices(speeds, 2).k, 2)

    def test_too_few_devices_are_no_groups_and_that_is_said(self):
        found = clusters.cluster_devices(speeds_of({"a": {"m": 1}, "b": {"m": 2}, "c": {"m": 3}}))
        self.assertEqual(found.groups, [])
        self.assertIn("3 devices", found.why_not)
        self.assertIn("0 devices", clusters.cluster_devices([]).why_not)

    def test_devices_with_few_figures_are_left_out_by_name(self):
        full = {"a": 1, "b": 2, "c": 3}
        found = clusters.cluster_devices(speeds_of({"d1": full, "d2": full | {"a": 9}, "d3": full | {"b": 7}, "d4": full | {"c": 5}, "phone": {"a": 1}}))
        self.assertEqual(found.left_out, ["phone"])
        self.assertEqual(len(found.cells), 3)

    def test_nothing_in_common_is_said(self):
        pairs = {"d1": {"a": 1, "b": 2}, "d2": {"b": 1, "c": 2}, "d3": {"c": 1, "d": 2}, "d4": {"d": 1, "a": 2}}
        self.assertIn("no model", clusters.cluster_devices(speeds_of(pairs)).why_not)

    def test_more_groups_than_different_devices_are_refused(self):
        same = {"a": 1, "b": 2}
        self.assertIn("5 groups are asked for, but there are 1", clusters.cluster_devices(speeds_of({f"d{i}": same for i in range(5)}), 5).why_not)


class Charts(unittest.TestCase):
    def parse(self, text):
        return ET.fromstring(text)

    def test_a_heat_map_has_a_cell_a_figure(self):
        values = {("d <1>", "a"): (10.0, "tip & tip"), ("d <1>", "b"): (None, "no memory"), ("d2", "a"): (1000.0, "")}
        root = self.parse(svg.heat_map("t <&>", ["d <1>", "d2"], ["a", "b"], values, 10, 1000))
        namespace = "{http://www.w3.org/2000/svg}"
        kinds = [r.get("class") for r in root.iter(f"{namespace}rect")]
        self.assertEqual((kinds.count("failed"), kinds.count("blank")), (1, 1))
        fills = [r.get("fill") for r in root.iter(f"{namespace}rect")]
        self.assertIn(f"rgb{svg.PALETTE[0]}", fills)
        self.assertIn(f"rgb{svg.PALETTE[-1]}", fills)
        self.assertIn("1,000", [t.text for t in root.iter(f"{namespace}text")])

    def test_colours_are_logarithmic(self):
        self.assertAlmostEqual(svg.log_fraction(10, 1, 100), 0.5)
        self.assertEqual(svg.log_fraction(5, 5, 5), 1.0)
        self.assertEqual(svg.colour(0.5), svg.PALETTE[4])

    def test_text_on_cells_can_be_read(self):
        def luminance(rgb):
            r, g, b = (c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in rgb)
            return 0.2126 * r + 0.7152 * g + 0.0722 * b
        for i in range(101):
            rgb = svg.colour(i / 100)
            back, ink = luminance(rgb), 0.0 if svg.ink_on(rgb) == "#000" else 1.0
            self.assertGreaterEqual((max(back, ink) + 0.05) / (min(back, ink) + 0.05), 4.5)

    def test_whiskers_lie_around_the_dot_and_one_on_its_line(self):
        root = self.parse(svg.ratio_chart("r", [("m", 0.5, 2.0, 4.0, "")]))
        namespace = "{http://www.w3.org/2000/svg}"
        group = next(g for g in root.iter(f"{namespace}g"))
        self.assertEqual(group.get("class"), "ahead")
        line = group.find(f"{namespace}line")
        least, most, dot = float(line.get("x1")), float(line.get("x2")), float(group.find(f"{namespace}circle").get("cx"))
        axis = next(float(x.get("x1")) for x in root.iter(f"{namespace}line") if x.get("class") == "axis")
        self.assertLess(least, axis)
        self.assertAlmostEqual((dot - least) / (most - least), math.log(4) / math.log(8), places=2)

    def test_ticks_are_few_and_inside(self):
        for low, high in ((0.01, 9e5), (1, 1.4), (3, 3), (80, 7000)):
            found = svg.ticks(low, high)
            self.assertLessEqual(len(found), 9)
            self.assertTrue(all(low * 0.99 <= t <= high * 1.01 for t in found))

    def test_numbers_have_three_digits(self):
        self.assertEqual([svg.number(v) for v in (0.01234, 7.7, 9.996, 45.67, 99.96, 512.3, 12345)], ["0.0123", "7.70", "10.0", "45.7", "100", "512", "12,345"])


class Whole(WithFiles):
    def test_a_report_is_one_file_with_all_figures(self):
        files = [self.write(f"d{i}.json", sweep(f"d{i} <b>", {"tiny": 4.0**i, "large": "does not fit" if i == 0 else 2.0**i})) for i in range(5)]
        code, error, html = self.report(*files, self.write("n.json", native()), self.write("c.json", comparison()))
        self.assertEqual((code, error), (0, ""))
        self.assertNotIn("<b>", html)
        self.assertNotRegex(html, r'(src|href)="')
        charts = re.findall(r"<svg.*?</svg>", html, re.S)
        for chart in charts:
            ET.fromstring(chart)
        # 2 phases x 2 depths, the comparison's prefill of 510 tokens, wllama's two, six ratios, the inertia.
        self.assertEqual(len(charts), 4 + 1 + 2 + 6 + 1)
        self.assertEqual(html.count("<tr>") - html.count("<tr><th"), 5 * 4 + 4 * 4 + 4 + 4 + 6 + 3 + 1)
        self.assertIn("1 measurement failed", html)
        self.assertEqual(html, self.report(*files, str(self.folder / "n.json"), str(self.folder / "c.json"))[2])

    def test_a_failed_cell_is_in_its_map_alone(self):
        result = sweep("here", {"tiny": 3, "other": 4})
        lost = result["models"][0]["results"].pop()
        result["models"][0]["failures"].append({key: lost[key] for key in ("phase", "tokens", "depth")} | {"error": "the GPU went away"})
        _, _, html = self.report(self.write("a.json", result))
        charts = re.findall(r"<svg.*?</svg>", html, re.S)
        self.assertEqual([">failed<" in chart for chart in charts], [False, False, False, True])

    def test_a_software_adapter_is_said_to_be_one(self):
        _, _, html = self.report(self.write("a.json", sweep("here", {"tiny": 3}, ran_on="software gpu")))
        self.assertIn("A software adapter, no GPU: here.", html)
        self.assertIn("No groups. 1 device with comparable figures", html)

    def test_only_failures_are_a_report_too_and_nothing_at_all_is_an_error(self):
        code, _, html = self.report(self.write("a.json", sweep("here", {"tiny": "lost"})))
        self.assertEqual(code, 0)
        self.assertIn("lost", html)
        code, error, _ = self.report(self.write("b.json", sweep("here", {})))
        self.assertEqual(code, 1)
        self.assertIn("no figure", error)


if __name__ == "__main__":
    unittest.main()
