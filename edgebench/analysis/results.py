"""Results as `edgebench.load` gives them: frames, estimates, verdicts and missions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import pandas as pd
from markupsafe import escape

from edgebench.analysis.frames import (
    CONTEXT,
    CONTEXT_SOURCES,
    Profiles,
    chosen_profiles,
    class_frame,
    estimate_frame,
    mission_frame,
    named_profiles,
    parts_frame,
    several,
    verdict_frame,
    wide_frame,
    with_context,
)
from edgebench.analysis.plots import Plots
from edgebench.errors import StoredResultError, UsageError
from edgebench.judge.judged import Judged, missions, run_profiles, with_declarations
from edgebench.judge.requirements.profile import Profile
from edgebench.judge.trial import Trial
from edgebench.judge.trials import trials_of
from edgebench.judge.verdicts.verdict import Verdict, judge_all, overall
from edgebench.records.stored import ExperimentRecord
from edgebench.report import words
from edgebench.report.tables import metric_columns, names_by_trial, rail_text
from edgebench.results.load import StoredResults, found_folder
from edgebench.results.record_reading import read_experiment

# Small tables for notebooks, all text in them escaped; nothing in them is loaded from elsewhere.


MOST_ROWS = 60


def table_html(
    caption: str, headings: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()
) -> str:
    """The first rows as a table, then how many more there are, and the notes.

    Control and direction characters are shown as U+FFFD, so that a name reorders nothing around it.
    """
    more = len(rows) - MOST_ROWS
    last = [f"and {words.counted(more, 'more row')}"] if more > 0 else []
    cells = [list(map(words.plain, row)) for row in rows[:MOST_ROWS]]
    with pd.option_context("display.max_colwidth", None):
        table = pd.DataFrame(cells, columns=list(map(words.plain, headings))).to_html(index=False, border=0)
    titled = table.replace(">", f"><caption>{escape(words.plain(caption))}</caption>", 1)
    return titled + sentences_html([*last, *notes])


def sentences_html(texts: Sequence[str]) -> str:
    """A paragraph each, cleaned and escaped in the same way."""
    return "".join(f"<p>{escape(words.plain(text))}</p>" for text in texts)


# Table of a result in a notebook: one row per trial, with its main estimates and verdicts (pure).


_REASONS = 3  # of trials that were not measured, below the table


def headline(record: ExperimentRecord) -> str:
    """`made: 12 trials of 2 targets, begun 2025-03-01T12:00:00Z`, without control characters."""
    trials = words.counted(len(record.trials), "trial")
    targets = words.counted(len(record.targets), "target")
    return words.plain(f"{record.name}: {trials} of {targets}, begun {record.created_utc}")


def trial_table(caption: str, trials: Sequence[Trial], verdicts: Sequence[Verdict]) -> str:
    """HTML, all text in it escaped. Columns that are empty for all trials are left out."""
    names = words.labels(trials)
    columns: dict[str, list[str]] = {
        "target": [trial.target for trial in trials],
        "variant": [names[trial.key] for trial in trials],
        "status": [trial.status.replace("_", " ") for trial in trials],
        **{column.heading: texts for _, column, texts in metric_columns("matrix", trials)},
        "power by": [rail_text(trial.rails[0]) if trial.rails else words.MISSING for trial in trials],
    }
    for entry in overall(verdicts):
        columns.setdefault(entry.profile, []).append(f"{words.SYMBOLS[entry.verdict]} {entry.verdict}")
    columns = {name: texts for name, texts in columns.items() if set(texts) != {words.MISSING}}
    reasons = sorted({trial.reason for trial in trials if trial.reason})
    return table_html(caption, list(columns), list(zip(*columns.values(), strict=True)), reasons[:_REASONS])


Texts = str | Iterable[str]
"""One text, or several."""


class Results(StoredResults):
    """One experiment, read from disk; nothing in it is ever written.

    `edgebench.load` makes it. Frames, each read when it is first asked for: `trials`, `sessions`, `passes`,
    `batches`, `windows`, `probes`, `predictions`. Rows of the latter five have the `status` of their session:
    estimates are made of those with "ok". Computed from them: `estimates()`, `summaries()`,
    `verdicts(profiles)`, `classes()`, `mission(profile)`, `rails()`, `workers()`; drawn: `plot.latency()` and
    the rest. docs/columns.md has every column with its type, its unit and its meaning.

    Attributes:
        path: the result folder.
        experiment: the record of experiment.json.
    """

    def _frame(self, name: str) -> pd.DataFrame:
        return self._with_context(name, super()._frame(name))

    def table(
        self, name: str, columns: Sequence[str] | None = None, trials: Sequence[str] | None = None
    ) -> pd.DataFrame:
        """Table as `StoredResults.table` gives it; columns as the frame of that name has them."""
        needed = dict.fromkeys((*(columns or ()), *CONTEXT_SOURCES.get(name, ())))
        stored = [column for column in needed if column not in CONTEXT.get(name, ())]
        frame = self._with_context(name, super().table(name, None if columns is None else stored, trials))
        return frame if columns is None else frame[["trial", "session", *columns]]

    def _with_context(self, name: str, rows: pd.DataFrame) -> pd.DataFrame:
        labels = rows[["trial", "session"]]
        place = labels.groupby([*labels], observed=True, sort=False).ngroup().to_numpy()
        trials = {trial.key: trial for trial in self.experiment.trials}
        records = {(key, record.n): record for key in trials for record in self._records[key]}
        label_keys = labels.drop_duplicates().itertuples(index=False, name=None)
        return with_context(
            name, rows, [(self, trials[key], records[key, n]) for key, n in label_keys], place
        )

    def estimates(
        self,
        profiles: Profiles = (),
        *,
        board: Texts = (),
        declared_power: Texts = (),
        declared: Texts = (),
    ) -> pd.DataFrame:
        """Estimates with their 95 % intervals: one row per trial, metric, statistic, worker, rail and stage.

        Numbers are float64 in `unit`, the metric's base unit, and NaN where missing; `reason` says why.

        Args:
            profiles: profiles whose requirements ask for further estimates, such as a 99th percentile, as for
                `verdicts`. Default: none.
            board: board of a target, `[TARGET=]NAME` as `edgebench fit --board` takes it.
            declared_power: power of a target by its data sheet, `[TARGET=]WATTS:KIND:SOURCE`.
            declared: boot time (`[TARGET=]boot_s:SECONDS:KIND:SOURCE`), mass_g or size_mm of a target.

        Raises:
            StoredResultError: a stored table is damaged.
            UsageError: there is no such target, board or profile, or a declaration cannot be read.
        """
        trials = self.trial_list(board, declared_power, declared)
        return estimate_frame(trials, judge_all(trials, named_profiles(profiles)))

    def summaries(
        self, *, board: Texts = (), declared_power: Texts = (), declared: Texts = ()
    ) -> pd.DataFrame:
        """Estimates as one wide row per trial, columns as in the CSV, the trial's key as the index.

        A column has the name of its metric, with `_low` and `_high` where it is not exact. Columns without
        any value are left out. Power and energy are those of the rail that represents the board; `rails()`
        has all.

        Args:
            board: board of a target, as for `estimates`, which has the errors.
            declared_power: power of a target by its data sheet.
            declared: boot time, mass or size of a target.
        """
        return wide_frame(self.trial_list(board, declared_power, declared))

    def classes(self) -> pd.DataFrame:
        """Recall of each class of the labelled images, with its Wilson interval: one row per trial and class.

        Raises:
            StoredResultError: a stored table is damaged.
        """
        return class_frame(self.trial_list())

    def verdicts(
        self,
        profiles: Profiles | None = None,
        *,
        board: Texts = (),
        declared_power: Texts = (),
        declared: Texts = (),
    ) -> pd.DataFrame:
        """Each trial against each requirement: pass, fail, inconclusive or unknown, with the margin.

        One row per trial, profile and requirement; `next_steps` would settle or change the verdict.

        Args:
            profiles: shipped names, paths of profiles' files or Profile objects, one or several; those of
                the run without it.
            board: board of a target, as for `estimates`.
            declared_power: power of a target by its data sheet.
            declared: boot time, mass or size of a target.

        Raises:
            UsageError: there is no profile, or a profile or what is declared cannot be read.
            StoredResultError: a stored table is damaged.
        """
        chosen = chosen_profiles(profiles, self._run_profiles(), "judge against")
        trials = self.trial_list(board, declared_power, declared)
        return verdict_frame(trials, judge_all(trials, chosen))

    def mission(
        self, profile: Profiles | None = None, *, days: float = 1000.0, seed: int = 0, trial: str = ""
    ) -> pd.DataFrame:
        """Each trial that has sessions under a profile's schedule: duty cycle, backlog, age, energy.

        One row a trial and profile, each figure with `_low` and `_high`, its interval at 95 % over sessions;
        `reasons` says why a figure is missing.

        Args:
            profile: as for `verdicts`; one, or several.
            days: how long the mission is, above 0; shared among a trial's sessions.
            seed: of the draws; the same seed gives the same figures.
            trial: the key, its beginning, the variant or the name (`0.5 fp32`) of the trials that are meant;
                empty for all.

        Raises:
            UsageError: there is no profile, a profile without a schedule, no such trial, or more images than
                are simulated.
            StoredResultError: no trial has a finished session.
        """
        if not days > 0:
            raise UsageError(f"a mission lasts longer than {days} days", fix="days=1000")
        chosen = chosen_profiles(profile, self._run_profiles(), "play")
        trials = self.trial_list()
        judged = Judged(self, chosen, trials, [])
        names = names_by_trial(trials)
        played = missions(judged, chosen, trial, days=days, seed=seed, names=names)
        return mission_frame(list(played), trials)

    def rails(self) -> pd.DataFrame:
        """Rails of each trial's meters, with their rates, gaps and estimates: one row per trial and rail.

        `summaries()` has the rail that represents the board.
        """
        return parts_frame(self.trial_list(), "rails")

    def workers(self) -> pd.DataFrame:
        """Estimates of each of several workers on a device: one row per trial and worker; else no row.

        Nothing is pooled over workers. `estimates()` has the reason of a missing number.

        Raises:
            StoredResultError: a stored table is damaged.
        """
        return parts_frame(self.trial_list(), "workers")

    @property
    def plot(self) -> Plots:
        """Figures, one method each, such as `results.plot.latency()`; `dir(results.plot)` lists them."""
        return Plots(self, self.trial_list)

    def trial_list(self, board: Texts = (), declared_power: Texts = (), declared: Texts = ()) -> list[Trial]:
        """Trials as objects, with the values of each pass behind their estimates; made once.

        The arguments and errors are those of `estimates`.
        """
        declarations = (several(declared_power), several(board), several(declared))
        if declarations not in self._trials_by_declarations:
            results, _ = with_declarations(self, *declarations)
            self._trials_by_declarations[declarations] = trials_of(results)
        return self._trials_by_declarations[declarations]

    @cached_property
    def _trials_by_declarations(self) -> dict[tuple[tuple[str, ...], ...], list[Trial]]:
        return {}

    def _run_profiles(self) -> list[Profile]:
        return run_profiles(self.experiment)

    def __repr__(self) -> str:
        return f"Results({str(self.path)!r})  # {headline(self.experiment)}"

    def _repr_html_(self) -> str:
        """One row a trial with its headline figures and its verdicts by the profiles of its run."""
        try:
            trials = self.trial_list()
        except StoredResultError as error:
            return sentences_html([headline(self.experiment), error.what, error.why, error.fix])
        verdicts = judge_all(trials, self._run_profiles())
        return trial_table(headline(self.experiment), trials, verdicts)


def loaded(results: Results | str | Path) -> Results:
    """Results as they are, else those that `load` gives of a path or a name."""
    return results if isinstance(results, Results) else load(results)


def load(path: str | Path) -> Results:
    """The experiment in a result folder; reads experiment.json only.

    As for the commands, `latest` is the newest result, `DIR/latest` the newest in a folder, and a bare name
    is looked for among the results: in the folder that EDGEBENCH_OUTPUT_DIR names, else ./results. Unlike the
    commands it reads no configuration file: where one sets output_dir, `latest` is another folder's.

    Raises:
        StoredResultError: there is no such folder, it is not an EdgeBench result, or experiment.json is
            truncated, damaged or of a newer version; its message says what to do.
    """
    folder = found_folder(path)
    return Results(folder, read_experiment(folder))
