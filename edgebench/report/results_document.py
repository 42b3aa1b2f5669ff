"""The document of `edgebench results --json`: the results of a folder, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from edgebench.report.history_document import LeftOut
from edgebench.report.json_values import SCHEMA_VERSION, clean
from edgebench.store.described import Described, Descriptions
from edgebench.store.result_listing import UnreadableResult
from edgebench.store.result_overview import ResultOverview

VERDICT_WORDS = ("pass", "fail", "inconclusive", "unknown")


@dataclass(frozen=True)
class ListedResult:
    """One result."""

    result: str
    path: str
    begun_utc: str | None
    latest: bool
    targets: tuple[str, ...]
    variants: int
    trials: int
    measured: int
    ended: str | None
    profiles: tuple[str, ...]
    verdicts: dict[str, dict[str, int]] | None


@dataclass(frozen=True)
class ResultsDocument:
    """The whole of it, without the version of its layout."""

    output_dir: str
    results: tuple[ListedResult, ...]
    left_out: tuple[LeftOut, ...]


def results_document(
    rows: Sequence[ResultOverview], unreadable: Sequence[UnreadableResult], output_dir: Path
) -> dict[str, Any]:
    """Plain data as `results.schema.json` describes it."""
    document = ResultsDocument(
        output_dir=str(output_dir),
        results=tuple(_listed(row) for row in rows),
        left_out=tuple(LeftOut(each.path.name, each.reason) for each in unreadable),
    )
    plain: dict[str, Any] = clean({"schema_version": SCHEMA_VERSION, **asdict(document)})
    return plain


def _listed(row: ResultOverview) -> ListedResult:
    verdicts = None
    if row.verdicts is not None:
        verdicts = {
            name: {word: counts.get(word, 0) for word in VERDICT_WORDS}
            for name, counts in row.verdicts.items()
        }
    return ListedResult(
        result=row.path.name,
        path=str(row.path),
        begun_utc=row.begun_utc or None,
        latest=row.latest,
        targets=tuple(row.targets),
        variants=row.variants,
        trials=row.trials,
        measured=row.measured,
        ended=row.ended or None,
        profiles=tuple(row.profiles),
        verdicts=verdicts,
    )


DESCRIPTIONS: Descriptions = {
    "ResultsDocument": {
        "output_dir": Described("The folder that was looked into.", "command line"),
        "results": Described("Its results, newest first.", "results"),
        "left_out": Described("Folders that cannot be read.", "results"),
    },
    "LeftOut": {
        "result": Described("The folder's name.", "results"),
        "reason": Described("Why it is left out.", "results"),
    },
    "ListedResult": {
        "result": Described("The folder's name, which commands take for RESULTS.", "results"),
        "path": Described("The folder.", "results"),
        "begun_utc": Described("When it began, ISO 8601; null where that is not known.", "experiment.json"),
        "latest": Described("Whether `latest` means it.", "results"),
        "targets": Described("Names of its targets.", "experiment.json"),
        "variants": Described("How many variants it has.", "experiment.json"),
        "trials": Described("How many trials were planned.", "experiment.json"),
        "measured": Described("How many of them have a finished session.", "session.json"),
        "ended": Described("How its last run ended; null where nothing says so.", "run.json"),
        "profiles": Described("Those that it was run with.", "experiment.json"),
        "verdicts": Described(
            "By profile, how many trials came to which verdict; null where the run did not record them.",
            "run.json",
        ),
    },
}
