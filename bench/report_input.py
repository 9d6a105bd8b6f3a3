"""Result files of benchmarks as rows: of a browser sweep (bench/browser/sweep.mjs), of Puna beside other engines (bench/browser/compare.mjs) and of
`puna bench --json`. Read next: report.py."""
import json
import math
import statistics
from dataclasses import dataclass, field
from pathlib import Path

PHASES = ("prefill", "decode")
BROWSER_KIND = "puna browser sweep"

# What compare.mjs measures in a round: name for readers, unit, whether more is better.
ROUND_METRICS = {
    "prefill_tokens_per_s": ("prefill", "tok/s", True),
    "decode_tokens_per_s": ("decode", "tok/s", True),
    "first_visit_ms": ("first visit", "ms", False),
    "load_ms": ("load from storage", "ms", False),
    "first_token_ms": ("first token", "ms", False),
    "peak_mib": ("peak memory", "MiB", False),
}


class InputError(Exception):
    """A file that is no result, with what is missing."""


@dataclass(frozen=True)
class Speed:
    """One cell: tokens per second of a phase behind a depth, over the repeats."""

    device: str
    model: str
    engine: str
    phase: str
    tokens: int
    depth: int
    low: float
    median: float
    high: float
    file: str

    @property
    def spread(self):
        """max - min as a share of the median."""
        return (self.high - self.low) / self.median


@dataclass(frozen=True)
class Failure:
    device: str
    model: str
    engine: str
    where: str  # a phase and depth, or "" for the whole model
    why: str
    file: str


@dataclass(frozen=True)
class Ratio:
    """Puna to a peer, above 1 where Puna is ahead; low and high over the rounds, which pair the two."""

    device: str
    model: str
    peer: str
    metric: str  # a key of ROUND_METRICS
    low: float
    middle: float
    high: float
    puna: float
    other: float
    file: str


@dataclass
class Device:
    name: str
    ran_on: set = field(default_factory=set)  # "gpu", "software gpu", "cpu": what the engine says
    facts: list = field(default_factory=list)  # (name, text)


@dataclass
class Results:
    speeds: list = field(default_factory=list)
    failures: list = field(default_factory=list)
    ratios: list = field(default_factory=list)
    devices: dict = field(default_factory=dict)

    def device(self, name):
        return self.devices.setdefault(name, Device(name))


class Reader:
    """Members of a JSON value that have to be there; errors name the file and the place."""

    def __init__(self, file, value, place=""):
        self.file, self.value, self.place = file, value, place

    def fail(self, what):
        raise InputError(f"{self.file}: {what}")

    def _member(self, key, kinds, what):
        place = f"{self.place}.{key}" if self.place else key
        if not isinstance(self.value, dict):
            self.fail(f'"{self.place}" is no object')
        if key not in self.value:
            self.fail(f'"{place}" is missing ({what} is expected)')
        value = self.value[key]
        if not isinstance(value, kinds) or isinstance(value, bool):
            self.fail(f'"{place}" is {json.dumps(value)[:60]}, but {what} is expected')
        return value, place

    def text(self, key):
        return self._member(key, str, "a string")[0]

    def object(self, key):
        value, place = self._member(key, dict, "an object")
        return Reader(self.file, value, place)

    def items(self, key):
        value, place = self._member(key, list, "a list")
        return [Reader(self.file, item, f"{place}[{i}]") for i, item in enumerate(value)]

    def count(self, key):
        value, place = self._member(key, int, "a whole number")
        if value < 0:
            self.fail(f'"{place}" is {value}, which is negative')
        return value

    def positive(self, key):
        value, place = self._member(key, (int, float), "a number")
        if not (math.isfinite(value) and value > 0):
            self.fail(f'"{place}" is {value}, but a number above 0 is expected')
        return float(value)

    def get(self, key, default=None):
        return self.value.get(key, default) if isinstance(self.value, dict) else default


def model_name(text):
    """What a model is called in all files: the last part of a path or address, without .gguf."""
    name = text.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    return name[:-5] if name.lower().endswith(".gguf") else name


def read_files(arguments):
    """Results of FILE or LABEL=FILE arguments. Two measurements of one cell are an error: which one counts?"""
    results = Results()
    for argument in arguments:
        label, _, file = argument.rpartition("=") if not Path(argument).exists() else ("", "", argument)
        read_file(results, file, label)
    seen = {}
    for s in results.speeds:
        key = (s.device, s.model, s.engine, s.phase, s.tokens, s.depth)
        if key in seen:
            raise InputError(f"{s.file}: {s.phase} of {s.model} at depth {s.depth} on {s.device} is in {seen[key]} already; leave one out, or name the devices "
                             "apart with LABEL=FILE")
        seen[key] = s.file
    return results


def read_file(results, file, label):
    try:
        value = json.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{file}: this is no JSON ({error})") from None
    root = Reader(file, value)
    if not isinstance(value, dict):
        root.fail("a JSON object is expected")
    if value.get("kind") == BROWSER_KIND:
        read_sweep(results, root, label)
    elif "rounds" in value and "medians" in value:
        read_comparison(results, root, label)
    elif "results" in value and "backend" in value:
        read_native(results, root, label)
    else:
        root.fail(f'this is no result: neither "kind" "{BROWSER_KIND}", nor "rounds" and "medians" (compare.mjs), nor "results" and "backend" '
                  "(puna bench --json)")


def read_speeds(results, root, device, model, engine):
    for item in root.items("results"):
        phase = item.text("phase")
        if phase not in PHASES:
            item.fail(f'"{item.place}.phase" is "{phase}"; it is one of {", ".join(PHASES)}')
        rate = item.object("tokens_per_s")
        low, median, high = (rate.positive(key) for key in ("min", "median", "max"))
        if not low <= median <= high:
            item.fail(f'"{rate.place}" has min {low}, median {median}, max {high}, which are not in order')
        results.speeds.append(Speed(device, model, engine, phase, item.count("tokens"), item.count("depth"), low, median, high, root.file))


def read_sweep(results, root, label):
    name = label or root.text("name")
    facts = root.object("facts")
    root.object("settings")
    for item in root.items("models"):
        model = model_name(item.object("model").text("name"))
        device = results.device(name)
        if "device" in item.value:
            used = item.object("device")
            device.ran_on.add(used.text("ran_on"))
            add_facts(device, [("engine", f'{used.text("name")}; {used.text("why")}'), ("features used", ", ".join(used.get("features") or [])),
                               ("threads", item.get("threads"))])
        read_speeds(results, item, name, model, "puna")
        for failed in item.items("failures"):
            where = f'{failed.text("phase")} of {failed.count("tokens")}, depth {failed.count("depth")}'
            results.failures.append(Failure(name, model, "puna", where, failed.text("error"), root.file))
        if "error" in item.value:
            results.failures.append(Failure(name, model, "puna", "", item.text("error"), root.file))
    if name in results.devices:
        add_browser_facts(results.devices[name], facts.value)
        add_facts(results.devices[name], [("browser", root.get("browser")), ("revision", root.get("revision")), ("date", root.get("date"))])


def read_native(results, root, label):
    backend, device_text = root.text("backend"), root.text("device")
    name = label or (device_text if backend == "cpu" else f'{root.get("adapter") or device_text} ({backend})')
    device = results.device(name)
    device.ran_on.add("cpu" if backend == "cpu" else "gpu")
    add_facts(device, [("engine", f"puna, {device_text}"), ("driver", root.get("driver")), ("threads", root.get("threads")),
                       ("numerics", root.get("numerics")), ("KV cache", root.get("kv_type"))])
    read_speeds(results, root, name, model_name(root.text("model")), root.get("engine", "puna"))


def read_comparison(results, root, label):
    model, where = model_name(root.text("model")), root.text("device")
    rounds = root.object("rounds")
    if "puna" not in rounds.value or len(rounds.value) < 1:
        root.fail('"rounds.puna" is missing (a list is expected)')
    engines = {engine: rounds.items(engine) for engine in rounds.value}
    if any(not rounds_of for rounds_of in engines.values()) or len({len(r) for r in engines.values()}) != 1:
        root.fail('the lists of "rounds" have to be of one length, and not empty')
    name = label or f"{Path(root.file).stem} ({where})"
    device = results.device(name)
    # Only what the engine says counts; older files do not have it.
    used = engines["puna"][0].get("said", {}).get("device") if isinstance(engines["puna"][0].get("said"), dict) else None
    if isinstance(used, dict):
        software = (root.get("facts") or {}).get("adapter", {}).get("software", False)
        device.ran_on.add("cpu" if used.get("type") != "gpu" else "software gpu" if software else "gpu")
        add_facts(device, [("engine", f'{used.get("name")}; {used.get("why")}')])
    add_browser_facts(device, root.get("facts") or {})
    settings = root.get("settings") or {}
    for phase in PHASES:
        for engine, rows in engines.items():
            values = [row.positive(f"{phase}_tokens_per_s") for row in rows]
            # The prompt is counted in words, so the tokens of a prefill are what the engine counted.
            tokens = int(rows[0].get("prefill_tokens", 0)) if phase == "prefill" else int(settings.get("decode", 128))
            results.speeds.append(Speed(name, model, engine, phase, tokens, 0, min(values), statistics.median(values), max(values), root.file))
    for peer, rows in engines.items():
        if peer != "puna":
            results.ratios += [ratio_of(metric, name, model, peer, engines["puna"], rows, root.file) for metric in ROUND_METRICS]


def ratio_of(metric, device, model, peer, puna_rows, peer_rows, file):
    puna, other = ([row.positive(metric) for row in rows] for rows in (puna_rows, peer_rows))
    more_is_better = ROUND_METRICS[metric][2]
    advantage = (lambda p, o: p / o) if more_is_better else (lambda p, o: o / p)
    pairs = [advantage(p, o) for p, o in zip(puna, other)]
    middle = advantage(statistics.median(puna), statistics.median(other))
    # The ratio of medians may lie outside of the pairs' where rounds differ much.
    return Ratio(device, model, peer, metric, min(*pairs, middle), middle, max(*pairs, middle), statistics.median(puna), statistics.median(other), file)


def add_facts(device, facts):
    for name, text in facts:
        if text not in (None, "") and (name, str(text)) not in device.facts:
            device.facts.append((name, str(text)))


def add_browser_facts(device, facts):
    adapter = facts.get("adapter") or {}
    if adapter.get("missing"):
        shown = f'none: {adapter["missing"]}'
    else:
        shown = " ".join(str(adapter[key]) for key in ("vendor", "architecture", "device", "description") if adapter.get(key))
        shown += " (software)" if adapter.get("software") else ""
    limits = adapter.get("limits") or {}
    sizes = ("maxBufferSize", "maxStorageBufferBindingSize", "maxComputeWorkgroupStorageSize", "maxComputeInvocationsPerWorkgroup",
             "maxStorageBuffersPerShaderStage")
    isolated = facts.get("cross_origin_isolated")
    add_facts(device, [("adapter", shown), ("features offered", ", ".join(adapter.get("features") or [])),
                       ("limits", ", ".join(f"{key} {limits[key]:,}" for key in sizes if isinstance(limits.get(key), (int, float)))),
                       ("cores", facts.get("cores")), ("cross-origin isolated", None if isolated is None else "yes" if isolated else "no"),
                       ("user agent", facts.get("user_agent"))])
