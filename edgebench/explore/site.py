"""Folder of a site: its results, its files, and their replacement while people look at it.

A browser loads data.js first, which is replaced last: until then, and after an interrupted update, the page
shows the old data, whose files are still there.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from edgebench.errors import StoredResultError, UsageError
from edgebench.explore.trials import (
    PYTHON_ROWS,
    PYTHON_TABLE,
    TITLES,
    USUAL,
    ShownResult,
    TrialRow,
    compact,
    published_result,
    read_result,
    script,
)
from edgebench.files import require_folder, unwritten, write_atomically
from edgebench.judge.judged import run_profiles
from edgebench.judge.metric import Metric
from edgebench.judge.metrics import METRICS
from edgebench.judge.requirements.profile import Profile, load_profiles, shipped_profiles
from edgebench.judge.trial import MISSING
from edgebench.report import words
from edgebench.results.archive import unpack_archive
from edgebench.results.layout import EXPERIMENT_FILE
from edgebench.results.listing import (
    ListedResult,
    StoredResult,
    UnreadableResult,
    begun_at,
    created_s,
    distinct,
    list_results,
    unreadable_reason,
)
from edgebench.results.record_reading import read_experiment
from edgebench.results.redaction import PrivateNames
from edgebench.stats.change_point import change_points, change_reason
from edgebench.stats.compare import ALPHA
from edgebench.version import __version__

SCHEMA = 1
MARK = ".edgebench-site"
"""File that marks a folder as a site, in which only the files of sites are replaced."""

LOCK = ".edgebench-site.lock"
"""Lock that is held while the files are replaced, since two writers would remove each other's."""

_PAGE = Path(__file__).with_name("page")
DATA, SESSIONS, RESULTS = "data.js", "sessions.js", "results"
# Results, and temporary files of a writer that was killed.
_WRITTEN = re.compile(rf"({RESULTS}/)?\.writing-[0-9a-f]{{16}}|{RESULTS}/[0-9a-f]{{16}}\.js")

Progress = Callable[[int, int], None]


# Sources: result folders, archives, and folders of both.


@dataclass(frozen=True)
class Source:
    """Result that is shown.

    Attributes:
        path: its folder, or the archive.
        state: text that differs once it changes.
        begun_utc: start, ISO 8601; empty where it is not known, as for an archive.
        is_archive: whether it is unpacked to be read.
    """

    path: Path
    state: str
    begun_utc: str = ""
    is_archive: bool = False


def sources_in(places: Sequence[Path]) -> tuple[list[Source], list[UnreadableResult]]:
    """Results in some places, folders before archives, and those left out: copies and unreadable ones.

    Args:
        places: folders of results and archives (*.zip), result folders, archives.

    Raises:
        StoredResultError: there is no such place, or a folder may not be read.
    """
    results: dict[Path, ListedResult] = {}
    packed: dict[Path, Source] = {}
    unreadable: list[UnreadableResult] = []
    for place in places:
        is_result = os.path.isfile(place / EXPERIMENT_FILE)  # noqa: PTH113  # not one if it may not be looked into
        if not place.exists():
            raise StoredResultError(f"there is no folder or archive {place}", fix="name one with results")
        archives = [place] if place.is_file() else [] if is_result else sorted(place.glob("*.zip"))
        if not place.is_file():
            stored, damaged = list_results(place.absolute().parent if is_result else place)
            name = place.absolute().name if is_result else ""
            results |= {listed.path.absolute(): listed for listed in stored if name in ("", listed.path.name)}
            unreadable += [listed for listed in damaged if name in ("", listed.result)]
        for archive in archives:
            try:
                status = archive.stat()
            except OSError as error:
                unreadable.append(UnreadableResult(archive.name, error.strerror or str(error)))
                continue
            state = f"{status.st_ino}:{status.st_size}:{status.st_mtime_ns}"
            packed[archive.absolute()] = Source(archive, state, is_archive=True)
    shown_results, copies = distinct(results.values())
    folders = [Source(result.path, result.state, result.begun_utc) for result in shown_results]
    return [*folders, *packed.values()], [*unreadable, *copies]


# The site's files.


class Site:
    """Site of the results in some places. Results that did not change are read once."""

    def __init__(
        self,
        folder: Path,
        places: Sequence[Path],
        *,
        published: bool = False,
        profiles: Sequence[str] = (),
        target_names: bool = False,
        watched: bool = False,
    ) -> None:
        """Make a site in a folder, which need not exist.

        Args:
            folder: folder of the site.
            places: places of `sources_in`.
            published: whether the published numbers that come with EdgeBench are also shown.
            profiles: names or files of profiles that are offered besides those that come with EdgeBench and
                those that the results were run with.
            target_names: whether the names that targets were given are shown.
            watched: whether the page looks for new data again and again.

        Raises:
            UsageError: the folder is part of a result, or has other files; or a profile is bad.
        """
        require_site(folder)
        self.folder, self._places = folder, tuple(places)
        self._published, self._target_names = published, target_names
        self._extra: dict[str, Any] = {"target_names": True} if target_names else {}
        self._extra |= {"refresh_s": LEAST_WAIT_S} if watched else {}
        self._lock = FileLock(folder / LOCK)
        self._seen: object = None
        self._known: dict[Source, ShownResult | UnreadableResult] = {}
        self._named_profiles = load_profiles(profiles)
        self._carried: dict[Source, list[Profile]] = {}
        self._profiles: list[Profile] = []
        self.results = self.trials = self.without_sessions = 0
        self.left_out: list[UnreadableResult] = []

    def update(self, progress: Progress = lambda done, total: None) -> bool:
        """Bring the files up to date. Returns False if nothing has changed since the last update.

        Args:
            progress: called with the number of results that are read, and of all.

        Raises:
            StoredResultError: no result can be read, or a file cannot be written.
        """
        sources, unreadable = sources_in(self._places)
        if self._seen == (sources, unreadable):
            return False
        try:
            offered = self._offered(sources)
            before, self._known = self._known if offered == self._profiles else {}, {}
            self._profiles = offered
            for number, source in enumerate(sources, start=1):
                earlier = before.get(source)
                is_there = isinstance(earlier, UnreadableResult) or (
                    earlier and (not earlier.rows or self._file(earlier).is_file())
                )
                self._known[source] = earlier if earlier and is_there else self._read(source)
                progress(number, len(sources))
            shown, left_out = _once(self._known)
            self.left_out = [*unreadable, *left_out]
            if not shown:
                raise StoredResultError(
                    f"no result in {', '.join(map(str, self._places))} can be read",
                    why=unreadable_reason(self.left_out) or "no folder in it has an experiment.json",
                    fix="name a folder that holds result folders, or what `edgebench export` wrote",
                )
            self._replace(shown)
        except OSError as error:
            raise unwritten(self.folder, error, "-o") from error
        finally:
            self._lock.release()
        self._seen = sources, unreadable
        return True

    def _offered(self, sources: Sequence[Source]) -> list[Profile]:
        """Profiles that come with EdgeBench, that were named, and that results carry.

        Different profiles of one name or title are numbered.
        """
        self._carried = {source: self._carried.get(source) or _carried(source) for source in sources}
        offered = chain(shipped_profiles(), self._named_profiles, *self._carried.values())
        profiles = list(dict.fromkeys(offered))
        names = _distinct(profile.name for profile in profiles)
        titles = _distinct(profile.title or profile.name for profile in profiles)
        return [
            profile.model_copy(update={"name": name, "title": title})
            for profile, name, title in zip(profiles, names, titles, strict=True)
        ]

    def _read(self, source: Source) -> ShownResult | UnreadableResult:
        """Read a result and write its file at once, since the files of all would fill the memory."""
        try:
            with _unpacked(source) as folder:
                begun_utc = source.begun_utc
                if source.is_archive:
                    created, written_s = created_s(read_experiment(folder)), source.path.stat().st_mtime
                    begun_utc = StoredResult(folder, begun_at(created, written_s, time.time())).begun_utc
                names = self._target_names
                shown, text = read_result(folder, begun_utc, self._profiles, target_names=names)
        except StoredResultError as error:
            return UnreadableResult.of(source.path, error)
        self._prepare()
        if shown.rows and all(
            isinstance(known, UnreadableResult) or known.file != shown.file for known in self._known.values()
        ):
            _put(self._file(shown), text.encode())
        return shown

    def _file(self, result: ShownResult) -> Path:
        return self.folder / RESULTS / f"{result.file}.js"

    def _prepare(self) -> None:
        """Make the folder, with the mark first, then the page."""
        if not self._lock.is_locked:
            (self.folder / RESULTS).mkdir(parents=True, exist_ok=True)
            try:
                self._lock.acquire(timeout=0)
            except Timeout as error:
                problem = f"another edgebench explore is writing {self.folder}"
                raise StoredResultError(problem, fix="wait, or name another folder with -o") from error
            _put(self.folder / MARK, b"edgebench-site")
            for path in _PAGE.iterdir():
                _put(self.folder / path.name, path.read_bytes())

    def _replace(self, shown: Sequence[ShownResult]) -> None:
        """Write the documents on all results, data.js last, then remove files that it no longer names."""
        self._prepare()
        if self._published:
            shown = [*shown, published_result(self._profiles)]
        data, sessions = documents(shown, self.left_out, self._profiles)
        self.without_sessions = data["without_sessions"]
        files = {f"{RESULTS}/{result.file}.js" for result in shown if result.file and result.rows}
        _put(self.folder / SESSIONS, script("edgebenchSessions", sessions).encode())
        _put(self.folder / DATA, script("edgebenchData", data | self._extra).encode())
        for name in _entries(self.folder).keys() - files:
            if _WRITTEN.fullmatch(name):
                (self.folder / name).unlink(missing_ok=True)
        self.results, self.trials = len(files), data["n"]


@contextmanager
def _unpacked(source: Source) -> Iterator[Path]:
    """Folder of a result; that of an archive is removed at the end."""
    if not source.is_archive:
        yield source.path
        return
    with tempfile.TemporaryDirectory(prefix="edgebench-explore-") as scratch:
        yield unpack_archive(source.path, Path(scratch)).path


def _carried(source: Source) -> list[Profile]:
    """Profiles that a result was run with; none where it cannot be read."""
    try:
        with _unpacked(source) as folder:
            return run_profiles(read_experiment(folder))
    except StoredResultError:
        return []


def _once(
    known: Mapping[Source, ShownResult | UnreadableResult],
) -> tuple[list[ShownResult], list[UnreadableResult]]:
    """Distinct results, and those left out: also copies and archives of shown ones."""
    shown: dict[str, ShownResult] = {}
    left_out: list[UnreadableResult] = []
    for source, result in known.items():
        if isinstance(result, ShownResult) and result.file in shown:
            result = UnreadableResult(source.path.name, f"the result {result.name} is shown already")
        if isinstance(result, UnreadableResult):
            left_out.append(result)
        else:
            shown[result.file] = result
    return list(shown.values()), left_out


def require_site(folder: Path) -> None:
    """Raise UsageError if a folder is part of a result, has folders of others, or files but no site."""
    real, fix = Path(os.path.realpath(folder)), "name a folder of its own with -o"
    if real.is_symlink() or (folder.is_symlink() and not real.exists()):
        raise UsageError(f"-o {folder} is a link that leads nowhere", fix=fix)
    for above in (real, *real.parents):
        if (above / EXPERIMENT_FILE).exists():
            raise UsageError(f"-o {folder} is in the stored result {above.name}", fix=fix)
    if not real.exists():
        require_folder(real.parent, "-o")
        return
    if not real.is_dir():
        raise UsageError(f"-o {folder} is no folder", fix=fix)
    try:
        entries = _entries(real)
    except OSError as error:
        raise UsageError(f"-o {folder} cannot be read", why=error.strerror or str(error), fix=fix) from error
    is_site = entries.get(MARK, False)
    foreign = [
        name
        for name, is_file in sorted(entries.items())
        if not (is_file and (_WRITTEN.fullmatch(name) or (is_site and "/" not in name)))
    ]
    if foreign:
        listed = ", ".join(map(words.plain, foreign[:3])) + (", ..." if foreign[3:] else "")
        raise UsageError(f"-o {folder} holds files of others: {listed}", why="a site replaces files", fix=fix)


def _entries(folder: Path) -> dict[str, bool]:
    """Names in a folder, of a site also in its `results`, with whether each is a plain file and no link."""
    paths = list(folder.iterdir())
    inner = folder / RESULTS
    if folder / MARK in paths and inner.is_dir() and not inner.is_symlink():
        paths = [*(path for path in paths if path != inner), *inner.iterdir()]
    return {path.relative_to(folder).as_posix(): path.is_file() and not path.is_symlink() for path in paths}


def _put(path: Path, data: bytes) -> None:
    """Write a file in one step, unless it has these data."""
    if not (path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data):
        write_atomically(path, data)


# Documents of data.js and sessions.js.


def documents(
    shown: Sequence[ShownResult], left_out: Sequence[UnreadableResult], profiles: Sequence[Profile]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Documents of data.js and sessions.js, as `edgebench.explore.trials` describes them."""
    results = dict(zip(_distinct(result.name for result in shown), shown, strict=True))
    rows = [(name, result, row) for name, result in results.items() for row in result.rows]
    columns = _labels(rows)
    machine = PrivateNames.of_this_machine()
    standings = [words.screen_word(word) for word in words.STANDINGS]
    estimates = _figures([row for *_, row in rows])
    data: dict[str, Any] = {
        "schema": SCHEMA,
        "version": __version__,
        "n": len(rows),
        "labels": {
            name: {"title": TITLES[name], "differs": label_differs(name, columns), **_coded(column)}
            for name, column in columns.items()
        },
        "metrics": [
            {
                **{name: getattr(metric, name) for name in _OF_METRIC},
                "title": metric.words,
                "limit": _limit_name(metric),
                "log": metric.unit not in ("1", "points"),
                "columns": _columns(metric.name, estimates.get(metric.name, {})),
            }
            for metric in METRICS.values()
        ],
        "figures": {name: compact(columns) for name, columns in estimates.items()},
        "usual": usual_metrics(list(estimates)),
        "python": {"table": PYTHON_TABLE, "rows": PYTHON_ROWS},
        "profiles": [
            {
                **_profile(profile),
                "verdicts": _coded([row.verdicts[profile.name] for *_, row in rows], standings),
            }
            for profile in profiles
        ],
        "without_sessions": sum(not result.rows for result in shown),
        "left_out": [
            {
                "result": words.plain(unreadable.result),
                "why": words.plain(_FOLDERS.sub("", machine.text(unreadable.reason))),
            }
            for unreadable in left_out
        ],
    }
    sessions = {
        "level": 1 - ALPHA,
        "trials": [row.sessions or None for *_, row in rows],
        "begun_utc": [result.begun_utc for _, result, _ in rows],
        "history": _histories(rows),
    }
    content = json.dumps([data, sessions]).encode()
    build = {"build": hashlib.blake2b(content, digest_size=8).hexdigest()}
    generated = {"made_utc": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    return build | generated | data, build | sessions


_FOLDERS = re.compile(r"(?<![\w.~])/(?:[^\s'\":,;/]+/)+")  # in front of a file's name, of this machine


_Rows = Sequence[tuple[str, ShownResult, TrialRow]]


def _distinct(names: Iterable[str]) -> Iterator[str]:
    """Names, numbered where they are the same, as in `edgebench.scan`."""
    taken = set[str]()
    for name in names:
        taken.add(free := words.unused(name, taken))
        yield free


def _labels(rows: _Rows) -> dict[str, list[str]]:
    """Columns of labels by name; targets are numbered within their device, the oldest first."""
    names: dict[tuple[str, str], str] = {}
    hidden: Counter[str] = Counter()
    for _, _, row in sorted(rows, key=lambda entry: entry[1].begun_utc):
        device = row.labels["device"]
        if (device, row.target) not in names:
            hidden[device] += not row.shown_target
            names[device, row.target] = row.shown_target or f"{device} {hidden[device]}"
    columns: dict[str, list[str]] = {name: [] for name in TITLES}
    series: dict[Hashable, str] = {}
    for name, result, row in rows:
        target = names[row.labels["device"], row.target]
        title = f"{len(series) + 1}: {target}, {row.labels['variant']}"
        history = series.setdefault(row.identity, title)
        labels = {**row.labels, "result": name, "target": target, "id": result.file, "history": history}
        for label, column in columns.items():
            column.append(labels[label])
    return columns


def label_differs(name: str, columns: Mapping[str, Sequence[str]]) -> bool:
    """Tell if the texts of a label differ, or no trial is done."""
    texts = {*columns[name]}
    if name == "target" and len(texts) == len({*columns.get("device", ())}):
        return False  # one target per device
    return len(texts) > 1 or (name == "status" and texts != {"done"} and bool(texts))


def usual_metrics(metrics: Sequence[str]) -> dict[str, Any]:
    """Metrics of axes, columns and comparisons where none is chosen, of those with values."""
    x = next(iter(metrics), "image_s")
    higher = [name for name, metric in METRICS.items() if metric.at_least]
    shown = (name for name in (*higher, *metrics) if name in metrics and name != x)
    columns = [name for name in USUAL if name in metrics]
    return {"x": x, "y": next(shown, higher[0]), "metric": "image_s", "columns": columns}


_OF_METRIC = ("name", "titled", "inside", "unit", "better", "statistics")


def _columns(name: str, estimates: Mapping[str, Any]) -> list[str]:
    """Columns of `Results.summaries()` with a metric: its value, then its ends."""
    return [name, *(f"{name}_{end}" for end in ("low", "high") if estimates.get(end))]


def _limit_name(metric: Metric) -> str:
    unit = ", MB" if metric.unit == "bytes" else metric.titled.removeprefix(metric.words)
    return f"{'Least' if metric.at_least else 'Most'} {metric.inside}{unit}"


def _coded(values: Sequence[Any], known: Sequence[Any] = ()) -> dict[str, Any]:
    """Column as its different values, and the place of each entry among them; no places for one value."""
    places = {value: place for place, value in enumerate(dict.fromkeys((*known, *values)))}
    return {"values": list(places), "codes": [places[value] for value in values] if len(places) > 1 else []}


def _figures(rows: Sequence[TrialRow]) -> dict[str, dict[str, Any]]:
    """Values, ends and reasons by metric that some trial has a number of, the usual first."""
    figures: dict[str, dict[str, Any]] = {}
    for metric in dict.fromkeys((*USUAL, *METRICS)):
        estimates = [row.estimates.get(metric, MISSING) for row in rows]
        if all(estimate.is_missing for estimate in estimates):
            continue
        columns: dict[str, list[float | None]] = {"value": [], "low": [], "high": []}
        for end, column in columns.items():
            numbers = (getattr(estimate, end) for estimate in estimates)
            column += [None if number is None else float(f"{number:.6g}") for number in numbers]
        ends = {end: None if set(columns[end]) == {None} else columns[end] for end in ("low", "high")}
        reasons = _coded([estimate.reason for estimate in estimates], [""])
        figures[metric] = {"value": columns["value"], **ends, "reasons": reasons}
    return figures


def _profile(profile: Profile) -> dict[str, Any]:
    """Profile with its limits in base units; a body of three sides has its title alone."""
    limits = [
        {
            "metric": requirement.quantity,
            "statistic": requirement.statistic,
            "title": words.limit(requirement),
            **({} if isinstance(requirement.limit, tuple) else {side: requirement.base_limit}),
        }
        for requirement in profile.requirements
        for side in ("least" if requirement.at_least else "most",)
    ]
    return {"name": profile.name, "title": words.plain(profile.title or profile.name), "limits": limits}


def _histories(rows: _Rows) -> dict[str, list[dict[str, Any]]]:
    """Series of two or more results by metric, with their changes."""
    order = sorted(range(len(rows)), key=lambda place: rows[place][1].begun_utc)
    series = words.grouped(
        ((metric, identity), (place, value))
        for place in order
        for metric, (identity, value) in rows[place][2].series.items()
    )

    def changes(metric: str, values: Iterable[float]) -> list[dict[str, Any]]:
        rising = ("better", "worse") if METRICS[metric].at_least else ("worse", "better")
        return [
            {"at": change.at, "ratio": change.ratio, "word": rising[change.ratio < 1]}
            for change in _change_points(tuple(values))
        ]

    return words.grouped(
        (
            metric,
            {
                "trials": [place for place, _ in members],
                "changes": changes(metric, (value for _, value in members)),
                "reason": change_reason(len(members)),
            },
        )
        for (metric, _), members in series.items()
        if len(members) > 1
    )


_change_points = lru_cache(maxsize=10_000)(change_points)
"""Changes of a series, which are kept, as few series change at once."""


# Updates of a page that stays open while results come in.

LEAST_WAIT_S, MOST_WAIT_S, SHARE = 5.0, 300.0, 0.1
"""Seconds from one look at the results to the next: looks and updates take at most SHARE of it, up to
MOST_WAIT_S."""


def watch(site: Site, tell: Callable[[str], object], wait: Callable[[float], object]) -> None:
    """Bring a site up to date as sessions end, until KeyboardInterrupt.

    Args:
        site: site that was made.
        tell: called with a line for each update, and once for each problem.
        wait: function that sleeps for some seconds.
    """
    problem, took_s = "", 0.0
    while True:
        wait(min(MOST_WAIT_S, max(LEAST_WAIT_S, took_s / SHARE)))
        begun_s = time.monotonic()
        try:
            if site.update():
                tell(f"{datetime.now(UTC):%H:%M:%S} UTC {words.counted(site.trials, 'trial')}")
            problem = ""
        except StoredResultError as error:
            if error.one_line != problem:
                tell(f"not updated: {error.one_line}")
            problem = error.one_line
        took_s = time.monotonic() - begun_s
