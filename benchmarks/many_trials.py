"""A site of 1,000 results with 9 trials each: the size of what a browser loads first."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from benchmarks.row import Row
from edgebench.explore.site import DATA, SESSIONS, Site, documents
from edgebench.explore.trials import Ends, ShownResult, TrialRow, read_result, script
from edgebench.prepare.cache import Cache
from edgebench.stats.change_point import change_points
from tests.synthetic_results import LEVELS_S, NINE, made_experiment

RESULTS, READ = 1_000, 10
FIRST_MB_BAR = 10.0


def rows(cache: Cache, pairs: int) -> list[Row]:
    """The size of the files of the first view."""
    with tempfile.TemporaryDirectory() as scratch:
        site = make_site(Path(scratch))
        loaded = [path for path in site.iterdir() if path.suffix in (".html", ".js", ".css")]
        size_mb = sum(path.stat().st_size for path in loaded if path.name != SESSIONS) / 1e6
    return [
        Row("files of the first view of 9,000 trials", size_mb, "MB", FIRST_MB_BAR),
    ]


def make_site(folder: Path, results: int = RESULTS) -> Path:
    """`folder/site`: ten results as they are read, and further ones whose figures differ by some per cent."""
    lab, site = folder / "lab", folder / "site"
    for seed in range(READ):
        levels = {variant: level_s * (1 + seed / 5) for variant, level_s in LEVELS_S.items()}
        made_experiment(
            lab, name=f"lab{seed}", variants=NINE, passes=5, seed=seed, power=seed % 2 == 0, image_s=levels
        )
    Site(site, [lab]).update()
    read = [
        read_result(path, "2025-03-01T12:00:00Z", target_names=False)[0] for path in sorted(lab.iterdir())
    ]
    rng = np.random.default_rng(1)
    begun = datetime(2025, 1, 1, tzinfo=UTC)
    shown = [
        _varied(read[number % READ], f"r{number:04}", begun + timedelta(hours=8 * number), rng)
        for number in range(results)
    ]
    data, sessions = documents(shown, (), lambda values: [(e.at, e.ratio) for e in change_points(values)])
    (site / SESSIONS).write_text(script("edgebenchSessions", sessions))
    (site / DATA).write_text(script("edgebenchData", data))
    return site


def _varied(result: ShownResult, name: str, begun: datetime, rng: np.random.Generator) -> ShownResult:
    def varied(row: TrialRow) -> TrialRow:
        factors = rng.normal(1, 0.05, len(row.figures)).tolist()
        figures = {
            metric: _times(ends, factor)
            for (metric, ends), factor in zip(row.figures.items(), factors, strict=True)
        }
        return replace(row, figures=figures, labels={**row.labels, "date": begun.strftime("%Y-%m-%d")})

    rows = tuple(map(varied, result.rows))
    return replace(result, name=name, begun_utc=begun.strftime("%Y-%m-%dT%H:%M:%SZ"), rows=rows)


def _times(ends: Ends, factor: float) -> Ends:
    value, low, high = (None if end is None else end * factor for end in ends)
    return value, low, high
