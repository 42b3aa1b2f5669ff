"""Sites of made data in the format that the page reads, without measuring anything."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

from edgebench.explore.site import label_differs, usual_metrics
from edgebench.explore.trials import PYTHON_ROWS, PYTHON_TABLE

PAGE = Path(__file__).parents[2] / "edgebench" / "explore" / "page"
BUILD = "0123456789abcdef"

METRICS = (
    ("image_s", "Latency per image", "s", "lower", True, ["median", "p99"]),
    ("accuracy", "Accuracy", "1", "higher", False, ["share"]),
    ("energy_j", "Energy per image", "J", "lower", True, ["median"]),
    ("power_peak_w", "Peak power", "W", "lower", True, ["max"]),
    ("memory_bytes", "Peak memory", "bytes", "lower", True, ["median"]),
    ("start_s", "Start", "s", "lower", True, ["median"]),
    ("mass_g", "Mass", "g", "lower", True, ["declared"]),
)
VARIANTS = tuple(
    (width, precision) for width in ("0.25", "0.5", "1.0") for precision in ("fp32", "fp16", "int8")
)
DEVICES = ("cpu", "coral", "jetson", "tensorrt", "openvino", "cortex-m")


def called(function: str, *arguments: Any) -> str:
    """A call with a document as its last argument, escaped for a script."""
    *first, document = arguments
    text = json.dumps(document).replace("\\", "\\\\").replace("'", "\\'").replace("<", "\\x3c")
    given = "".join(json.dumps(argument) + ", " for argument in first)
    return f"{function}({given}JSON.parse('{text}'));\n"


class Made:
    """Columns of a site that grow trial by trial; `written` writes them with the page's files."""

    def __init__(self, seed: int = 1) -> None:
        self.random = random.Random(seed)
        self.rows: list[dict[str, Any]] = []

    def trial(
        self, labels: dict[str, str], figures: dict[str, Any], sessions: dict[str, list[float]]
    ) -> None:
        """One trial: its labels, its figures as (value, low, high) or the reason, its values by session."""
        self.rows.append({"labels": labels, "figures": figures, "sessions": sessions})

    def lab(self, results: int, trials: int = 9) -> Made:
        """Results over as many days, each of some variants on one device."""
        for result in range(results):
            device = DEVICES[result % len(DEVICES)]
            day = f"2026-{1 + result // 28 % 12:02}-{1 + result % 28:02}"
            for k in range(trials):
                width, precision = VARIANTS[k % len(VARIANTS)]
                self._measured(f"r{result}", device, day, width, precision, result)
        return self

    def _measured(self, result: str, device: str, day: str, width: str, precision: str, number: int) -> None:
        speed = 0.02 * 4 ** DEVICES.index(device) * float(width) * self.random.lognormvariate(0, 0.1)
        speed *= {"fp32": 1.0, "fp16": 0.7, "int8": 0.4}[precision]
        seconds = [speed * self.random.lognormvariate(0, 0.01) for _ in range(5)]
        joules = [value * self.random.uniform(2, 3) for value in seconds]
        hit = min(0.8 + 0.1 * float(width) + self.random.gauss(0, 0.02), 0.999)
        figures: dict[str, Any] = {
            "image_s": _interval(seconds),
            "accuracy": (hit, hit - 0.02, min(hit + 0.02, 1.0)),
            "energy_j": _interval(joules) if number % 4 else "no meter",
            "power_peak_w": (3.0, 2.9, 3.2) if number % 4 else "no meter",
            "memory_bytes": _interval([5e7 * float(width) * self.random.uniform(1, 1.02) for _ in range(5)]),
            "start_s": _interval([0.4 * self.random.uniform(1, 1.1) for _ in range(5)]),
            "mass_g": (50.0, None, None),
        }
        labels = {
            "kind": "measured",
            "result": result,
            "device": device,
            "target": f"{device}-board",
            "model": "mobilenet_v1",
            "variant": f"mobilenet_v1-{width}-{precision}",
            "trial": f"{width} {precision}",
            "depth_multiplier": width,
            "precision": precision,
            "batch": "1",
            "power_mode": ("MAXN", "10W")[number % 2] if device == "jetson" else "",
            "date": day,
            "status": "done",
            "scope": "board" if number % 4 else "",
            "id": f"{number:016x}",
            "key": f"{device[:2]}{width}{precision}",
            "history": f"{device}{width}{precision}",
            "source": "",
        }
        self.trial(labels, figures, {"image_s": seconds, "energy_j": joules})

    def published(self, source: str, **figures: tuple[float | None, float | None, float | None]) -> Made:
        """One published figure, which has no sessions and no file."""
        labels = {
            "kind": "published",
            "result": "published",
            "device": "coral",
            "model": "mobilenet_v2",
            "trial": "paper",
            "variant": "mobilenet_v2",
            "precision": "int8",
            "key": f"p{len(self.rows)}",
            "id": "",
            "source": source,
        }
        self.trial(labels, figures, {})
        return self

    def data(self) -> dict[str, Any]:
        """The document of data.js."""
        names = list(dict.fromkeys(name for row in self.rows for name in row["labels"]))
        columns = {name: [row["labels"].get(name, "") for row in self.rows] for name in names}
        figures: dict[str, Any] = {}
        for name, *_ in METRICS:
            of = [row["figures"].get(name, "not measured") for row in self.rows]
            if all(isinstance(figure, str) for figure in of):
                continue
            reasons = _coded([figure if isinstance(figure, str) else "" for figure in of])
            triples = [(None, None, None) if isinstance(figure, str) else figure for figure in of]
            value, low, high = ([_short(triple[k]) for triple in triples] for k in range(3))
            figures[name] = json.dumps({"value": value, "low": low, "high": high, "reasons": reasons})
        return {
            "schema": 1,
            "build": BUILD,
            "made_utc": "2026-11-27T12:00:00Z",
            "version": "0.3",
            "n": len(self.rows),
            "labels": {
                name: {"title": name.replace("_", " ").capitalize(), "differs": label_differs(name, columns)}
                | _coded(column)
                for name, column in columns.items()
            },
            "metrics": [
                {
                    "name": name,
                    "title": title,
                    "titled": title if unit == "1" else f"{title}, {unit}",
                    "inside": title[0].lower() + title[1:],
                    "limit": ("Least " if better == "higher" else "Most ")
                    + f"{title[0].lower()}{title[1:]}"
                    + {"1": "", "bytes": ", MB"}.get(unit, f", {unit}"),
                    "unit": unit,
                    "better": better,
                    "log": log,
                    "statistics": statistics,
                }
                for name, title, unit, better, log, statistics in METRICS
            ],
            "figures": figures,
            "usual": usual_metrics(list(figures)),
            "python": {"table": PYTHON_TABLE, "rows": PYTHON_ROWS},
            "profiles": [self._profile()] if self.rows else [],
            "left_out": [{"result": "broken", "why": "its record is damaged"}],
        }

    def _profile(self) -> dict[str, Any]:
        limits = [{"metric": "image_s", "statistic": "median", "title": "latency ≤ 4.42 s", "most": 4.42}]
        words = ["pass", "fail", "undecided", "unknown", "so far"]
        codes = []
        for row in self.rows:
            figure = row["figures"].get("image_s", "")
            if isinstance(figure, str) or figure[1] is None:
                codes.append(3)
            else:
                passes = 4 if len(codes) % 3 else 0
                codes.append(passes if figure[2] <= 4.42 else 1 if figure[1] > 4.42 else 2)
        verdicts = {"values": words, "codes": codes}
        return {"name": "disco-realtime", "title": "disco-realtime", "limits": limits, "verdicts": verdicts}

    def sessions(self) -> dict[str, Any]:
        """The document of sessions.js."""
        series: dict[str, list[int]] = {}
        for i, row in enumerate(self.rows):
            if row["sessions"]:
                series.setdefault(row["labels"].get("history", ""), []).append(i)
        known = [
            {
                "trials": trials,
                "changes": [{"at": 1, "ratio": 1.25, "word": "worse"}] if k == 0 else [],
                "reason": "",
            }
            for k, trials in enumerate(series.values())
            if len(trials) > 1
        ]
        trials = [row["sessions"] or None for row in self.rows]
        begun = [
            f"{row['labels'].get('date', '2026-01-01')}T{i % 24:02}:00:00Z" for i, row in enumerate(self.rows)
        ]
        history = {"image_s": known, "accuracy": known} if known else {}
        return {"build": BUILD, "level": 0.95, "trials": trials, "begun_utc": begun, "history": history}

    def results(self) -> dict[str, dict[str, Any]]:
        """The documents of results/<id>.js by id."""
        made: dict[str, dict[str, Any]] = {}
        for row in self.rows:
            labels = row["labels"]
            if labels["id"]:
                file = made.setdefault(
                    labels["id"], {"name": labels["result"], "begun_utc": "", "trials": {}}
                )
                file["environment"] = [["Host", [["Processor", "a processor"], ["Kernel", "6.1"]]]]
                file["trials"][labels["key"]] = self._details(row)
        return made

    def _details(self, row: dict[str, Any]) -> dict[str, Any]:
        sessions = []
        for n, seconds in enumerate(row["sessions"].get("image_s", []), 1):
            durations = [seconds * self.random.uniform(0.98, 1.05) for _ in range(60)]
            starts = [sum(durations[:k]) for k in range(60)]
            passes = {"of": "passes", "n": 600, "start_s": starts, "duration_s": durations}
            passes["phase"] = [0] + [1] * 4 + [2] * 55
            times = [starts[-1] * k / 200 for k in range(200)]
            watts = [None if k == 100 else 2 + self.random.uniform(0, 0.5) for k in range(200)]
            power = {"rail": "ina219 VDD", "scope": "board", "t_s": times, "w": watts, "n": 200}
            sessions.append({"n": n, "status": "ok", "passes": passes, "power": power if n == 3 else None})
        return {
            "title": row["labels"]["trial"],
            "figures": [[name, str(figure)] for name, figure in row["figures"].items()],
            "verdicts": [["disco-realtime", "latency ≤ 4.42 s", "pass", ""]],
            "phases": ["first", "warmup", "steady"],
            "sessions": sessions,
            "stages": [["patchify", 0.001], ["infer", 0.02]],
            "cold": [["load", 0.4]],
            "warnings": ["The clock was throttled."],
            "repeat": f"edgebench run --device {row['labels']['device']}",
        }

    def written(self, folder: Path, **changes: Any) -> Path:
        """The site's index.html; `changes` replace parts of data.js."""
        (folder / "results").mkdir(parents=True)
        for file in PAGE.iterdir():
            shutil.copy(file, folder)
        (folder / "data.js").write_text(called("edgebenchData", self.data() | changes))
        (folder / "sessions.js").write_text(called("edgebenchSessions", self.sessions()))
        for identity, document in self.results().items():
            text = called("edgebenchResult", identity, document)
            (folder / "results" / f"{identity}.js").write_text(text)
        return folder / "index.html"


def _interval(values: list[float]) -> tuple[float, float, float]:
    mean = sum(values) / len(values)
    return mean, mean * 0.97, mean * 1.03


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def _coded(texts: list[str]) -> dict[str, Any]:
    values = list(dict.fromkeys(texts))
    places = {text: code for code, text in enumerate(values)}
    return {"values": values, "codes": [places[text] for text in texts]}
