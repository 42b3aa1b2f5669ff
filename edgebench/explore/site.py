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
from edgebench.files import read_regular, require_folder, unwritten, write_atomically
from edgebench.judge.history import followed_metrics
from edgebench.judge.judged import run_profiles
from edgebench.judge.metric import Metric
from edgebench.judge.metrics import METRICS
from edgebench.judge.profile import Profile, load_profiles, shipped_profiles
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
"""File that marks a folder as a site and holds the names of the page's files."""

LOCK = ".edgebench-site.lock"
"""Lock that is held while the files are replaced, since two writers would remove each other's."""

DATA, SESSIONS, RESULTS = "data.js", "sessions.js", "results"
_PAGE_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")
_RESULT_FILE = re.compile(r"[0-9a-f]{16}\.js")
_TEMPORARY = re.compile(r"\.writing-[0-9a-f]{16}")  # of a writer that was killed
_MOST_MARK_BYTES = 64 << 10

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
        archives = [place] if place.is_file() else []
        if not place.exists():
            raise StoredResultError(f"there is no folder or archive {place}", fix="name one with results")
        if not archives:
            stored, damaged = list_results(place.absolute().parent if is_result else place)
            names = {place.absolute().name} if is_result else None
            for result in stored:
                if names is None or result.path.name in names:
                    results[result.path.absolute()] = result
            unreadable += [result for result in damaged if names is None or result.result in names]
            archives = [] if is_result else sorted(place.glob("*.zip"))
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
        self._page: dict[str, bytes] = {}
        self._lock = FileLock(folder / LOCK)
        self._seen: object = None
        self._known: dict[Source, ShownResult | UnreadableResult] = {}
        self._named_profiles = load_profiles(profiles)
        self._carried: dict[Source, list[Profile]] = {}
        self._profiles: list[Profile] = []
        self._changes: dict[tuple[float, ...], list[tuple[int, float]]] = {}
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
        self._page = {}
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
        self._carried = {
            source: self._carried[source] if source in self._carried else _carried(source)
            for source in sources
        }
        profiles: list[Profile] = []
        for profile in chain(shipped_profiles(), self._named_profiles, *self._carried.values()):
            if profile not in profiles:
                profiles.append(profile)
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
        if not self._page:
            (self.folder / RESULTS).mkdir(parents=True, exist_ok=True)
            try:
                self._lock.acquire(timeout=0)
            except Timeout as error:
                problem = f"another edgebench explore is writing {self.folder}"
                raise StoredResultError(problem, fix="wait, or name another folder with -o") from error
            self._page = _page()
            _put(self.folder / MARK, _mark({*_marked(self.folder), *self._page}))
            for name, data in self._page.items():
                _put(self.folder / name, data)

    def _replace(self, shown: Sequence[ShownResult]) -> None:
        """Write the documents on all results, data.js last, then remove files that it no longer names."""
        self._prepare()
        if self._published:
            shown = [*shown, published_result(self._profiles)]
        data, sessions = documents(shown, self.left_out, self._profiles, self._levels)
        self.without_sessions = data["without_sessions"]
        files = {f"{result.file}.js" for result in shown if result.file and result.rows}
        _put(self.folder / SESSIONS, script("edgebenchSessions", sessions).encode())
        _put(self.folder / DATA, script("edgebenchData", data | self._extra).encode())
        for name in _entries(self.folder / RESULTS):
            if name not in files and (_RESULT_FILE.fullmatch(name) or _TEMPORARY.fullmatch(name)):
                (self.folder / RESULTS / name).unlink(missing_ok=True)
        for name in _entries(self.folder):
            if name in _marked(self.folder) - self._page.keys() or _TEMPORARY.fullmatch(name):
                (self.folder / name).unlink(missing_ok=True)
        _put(self.folder / MARK, _mark(self._page))
        self.results, self.trials = len(files), data["n"]

    def _levels(self, values: Sequence[float]) -> list[tuple[int, float]]:
        """Places and ratios of the changes of a series; kept, as few series change at once."""
        key = tuple(values)
        if key not in self._changes:
            self._changes[key] = [(change.at, change.ratio) for change in change_points(values)]
        return self._changes[key]


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
        if isinstance(result, UnreadableResult):
            left_out.append(result)
            continue
        if result.file in shown:
            why = f"the result {result.name} is shown already"
            left_out.append(UnreadableResult(source.path.name, why))
        else:
            shown[result.file] = result
    return list(shown.values()), left_out


def require_site(folder: Path) -> None:
    """Raise UsageError if a folder is part of a result, or has files of others."""
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
        foreign = _foreign(real)
    except OSError as error:
        raise UsageError(f"-o {folder} cannot be read", why=error.strerror or str(error), fix=fix) from error
    if foreign:
        listed = ", ".join(map(words.plain, foreign[:3])) + (", ..." if foreign[3:] else "")
        raise UsageError(f"-o {folder} holds files of others: {listed}", why="a site replaces files", fix=fix)


def _foreign(folder: Path) -> list[str]:
    """Names in a folder, and in its `results`, that belong to no site."""
    entries = _entries(folder)
    own = {*_marked(folder), DATA, SESSIONS, MARK, LOCK} if MARK in entries else set()
    foreign = [
        name
        for name, is_file in entries.items()
        if not (is_file and (name in own or _TEMPORARY.fullmatch(name))) and (name != RESULTS or not own)
    ]
    if RESULTS in entries and own:
        inner = folder / RESULTS
        if inner.is_symlink() or not inner.is_dir():
            return [*foreign, RESULTS]
        foreign += [
            f"{RESULTS}/{name}"
            for name, is_file in _entries(inner).items()
            if not (is_file and (_RESULT_FILE.fullmatch(name) or _TEMPORARY.fullmatch(name)))
        ]
    return sorted(foreign)


def _entries(folder: Path) -> dict[str, bool]:
    """Names in a folder, with whether it is a plain file and no link."""
    with os.scandir(folder) as entries:
        return {entry.name: entry.is_file(follow_symlinks=False) for entry in entries}


def _marked(folder: Path) -> set[str]:
    """Files of the page that the mark names; none where it is missing, a link or damaged."""
    path = folder / MARK
    try:
        if path.is_symlink():
            return set()
        names = json.loads(read_regular(path, _MOST_MARK_BYTES))["files"]
        return {name for name in names if isinstance(name, str) and _PAGE_FILE.fullmatch(name)}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return set()


def _mark(names: Iterable[str]) -> bytes:
    return json.dumps({"format": "edgebench-site", "version": SCHEMA, "files": sorted(names)}).encode()


def _page() -> dict[str, bytes]:
    """Files of the page that come with EdgeBench."""
    page = Path(__file__).with_name("page")
    return {path.name: path.read_bytes() for path in page.iterdir() if _PAGE_FILE.fullmatch(path.name)}


def _put(path: Path, data: bytes) -> None:
    """Write a file in one step, unless it has these data."""
    if not (path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data):
        write_atomically(path, data)


# Documents of data.js and sessions.js.

Levels = Callable[[Sequence[float]], Sequence[tuple[int, float]]]
"""Function that gives the changes of a series: the place of the first value after it, and the ratio."""


def documents(
    shown: Sequence[ShownResult],
    left_out: Sequence[UnreadableResult],
    profiles: Sequence[Profile],
    levels: Levels,
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
                "name": metric.name,
                "title": metric.words,
                "titled": metric.titled,
                "inside": metric.inside,
                "limit": _limit_name(metric),
                "unit": metric.unit,
                "better": metric.better,
                "log": metric.unit not in ("1", "points"),
                "statistics": metric.statistics,
                "columns": _columns(metric.name, estimates.get(metric.name)),
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
        "history": _histories(rows, levels),
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


def _columns(name: str, estimates: Mapping[str, Any] | None) -> list[str]:
    """Columns of `Results.summaries()` with a metric: its value, then its ends."""
    return [name, *(f"{name}_{end}" for end in ("low", "high") if estimates and estimates[end])]


def _limit_name(metric: Metric) -> str:
    unit = ", MB" if metric.unit == "bytes" else metric.titled.removeprefix(metric.words)
    return f"{'Least' if metric.at_least else 'Most'} {metric.inside}{unit}"


def _coded(values: Sequence[Any], known: Sequence[Any] = ()) -> dict[str, Any]:
    """Column as its different values, and the place of each entry among them; no places for one value."""
    places = {value: place for place, value in enumerate(dict.fromkeys((*known, *values)))}
    return {"values": list(places), "codes": [places[value] for value in values] if len(places) > 1 else []}


def _figures(rows: Sequence[TrialRow]) -> dict[str, dict[str, Any]]:
    """Values, ends and reasons by metric that some trial has a number of, the usual first."""
    estimates: dict[str, dict[str, Any]] = {}
    for metric in dict.fromkeys((*USUAL, *METRICS)):
        ends = [row.figures.get(metric, (None, None, None)) for row in rows]
        columns = [
            [None if number is None else float(f"{number:.6g}") for number in column]
            for column in zip(*ends, strict=True)
        ]
        if any(number is not None for column in columns for number in column):
            value, low, high = (column if set(column) != {None} else None for column in columns)
            reasons = _coded([row.reasons.get(metric, "") for row in rows], [""])
            estimates[metric] = {"value": value or columns[0], "low": low, "high": high, "reasons": reasons}
    return estimates


def _profile(profile: Profile) -> dict[str, Any]:
    """Profile with its limits in base units; a body of three sides has its title alone."""
    limits = []
    for requirement in profile.requirements:
        limit: dict[str, Any] = {
            "metric": requirement.quantity,
            "statistic": requirement.statistic,
            "title": words.limit(requirement),
        }
        if not isinstance(requirement.limit, tuple):
            limit["least" if requirement.at_least else "most"] = requirement.base_limit
        limits.append(limit)
    return {"name": profile.name, "title": words.plain(profile.title or profile.name), "limits": limits}


def _histories(rows: _Rows, levels: Levels) -> dict[str, Any]:
    """Series of two or more results by metric, with their changes."""
    histories: dict[str, Any] = {}
    order = sorted(range(len(rows)), key=lambda place: rows[place][1].begun_utc)
    for metric in followed_metrics():
        series: dict[Hashable, list[int]] = {}
        for place in order:
            if (member := rows[place][2].series.get(metric)) is not None:
                series.setdefault(member[0], []).append(place)
        at_least = METRICS[metric].at_least
        found = [
            {
                "trials": members,
                "changes": [
                    {"at": tick, "ratio": ratio, "word": "better" if (ratio > 1) == at_least else "worse"}
                    for tick, ratio in levels([rows[place][2].series[metric][1] for place in members])
                ],
                "reason": change_reason(len(members)),
            }
            for members in series.values()
            if len(members) > 1
        ]
        if found:
            histories[metric] = found
    return histories


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
