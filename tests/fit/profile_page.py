"""docs/profiles.md: every field of a profile's file; `python -m tests.fit.profile_page` renews it."""

from __future__ import annotations

from pathlib import Path

from edgebench.judge.metrics import required_metrics
from edgebench.judge.profile import Profile
from edgebench.judge.requirement import Requirement
from edgebench.judge.schedule import Budget, Schedule
from edgebench.judge.units import fitting_units
from edgebench.records.described import texts_of

PAGE = Path(__file__).parents[2] / "docs" / "profiles.md"
HEAD = """# Profiles

A profile is a TOML file with the requirements that a target is judged by (`--profile FILE`). `edgebench
profiles new NAME` writes one with comments, `profiles check FILE` says all that is wrong with one, with the
lines, and `profiles schema` prints a JSON Schema with which an editor completes and marks it.
`python -m tests.fit.profile_page` makes this page.

```toml
name = "arctic-camera"
extends = "disco-realtime"      # its requirements, but for those below
without = ["size"]

[schedule]
cycle = "95.65 min"             # an orbit
images = 80                     # 71.7 s for each: the limit of the inherited latency
burst = "6 min"                 # they come in the pass over the Arctic

[[requirements]]
name = "peak power"             # takes the place of the inherited one on the same quantity and statistic
quantity = "power_peak_w"
limit = "6 W"
averaging_s = 1.0

[[requirements]]
name = "small"
quantity = "mass_g"
statistic = "declared"
limit = "100 g"
wanted = true                   # missed, it is shown, and the exit code stays 0
```

A profile extends one other, which extends none. It takes `source` and `[schedule]` as a whole, unless it
has its own, and the requirements. Its own requirement takes the whole place of an inherited one on the same
quantity and statistic, a wish that of a wish, so that nothing of that is left (not its `averaging_s`
either); any other is added; `without` drops inherited ones by name. `name`, `title` and `description` are
each profile's own. Refused are a budget that says something else than the schedule, two requirements on one
statistic of a quantity in one file, a wish that asks for no more than the requirement on the same, and
wishes alone.

A `[schedule]` requires that it is kept: a trial that gets through less than comes fails the profile,
whatever its requirements say. One on `load` of at most 1 takes the place of that.

A limit as text is converted to the quantity's first unit, unless the quantity lists its own. Capital letters
count (MB is a million bytes, mb and KB nothing), a comma is refused, and so is a unit of another kind.
"""


def page() -> str:
    """The whole page."""
    tables = (
        ("The file", Profile),
        ("[schedule]", Schedule),
        ("[[requirements]]", Requirement),
        ("budget", Budget),
    )
    sections = [HEAD, *(f"## {title}\n\n{_fields(model)}\n" for title, model in tables)]
    return "\n".join([*sections, f"## Quantities\n\n{_quantities()}\n"])


def _fields(model: type) -> str:
    rows = [f"| `{name}` | {_cell(text.text)} |" for name, text in texts_of(model).items()]
    return "\n".join(["| field | meaning |", "| --- | --- |", *rows])


def _quantities() -> str:
    head = ["| quantity | what it is | a limit is | statistics | units |", "| --- | --- | --- | --- | --- |"]
    rows = [
        f"| `{name}` | {_cell(metric.sentence)} | {'at least' if metric.at_least else 'at most'} | "
        f"{', '.join(metric.statistics)} | {', '.join(fitting_units(metric.units))} |"
        for name, metric in required_metrics().items()
    ]
    return "\n".join([*head, *rows])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
