"""docs/profiles.md: every field of a profile's file; `python -m tests.fit.profile_page` renews it."""

from __future__ import annotations

from pathlib import Path

from edgebench.judge.metrics import required_metrics
from edgebench.judge.requirements.profile import Profile
from edgebench.judge.requirements.requirement import Requirement
from edgebench.judge.requirements.schedule import Schedule
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

A profile extends at most one other, which extends none, and inherits its requirements, and `source` and
`[schedule]` unless it has its own. A requirement replaces the inherited one on the same quantity and
statistic as a whole, a wish an inherited wish; any other is added; `without` drops inherited ones by name.
Refused are a budget that contradicts the schedule, two requirements on one statistic in one file, a wish
that is no stricter than the requirement on the same, and a profile of wishes alone.

A limit on `power_peak_w` means the average over `averaging_s`. Without it the largest reading is compared,
whose own averaging time differs between meters: the verdict names it, and `profiles check` recommends
`averaging_s`.

A `[schedule]` requires that the device keeps up, whatever the requirements are: a trial with a load above 1
fails. A load that is not known fails nothing; a requirement of at most 1 on `load` replaces the rule and
also asks for the load.

A limit as text is converted to the quantity's first unit. Units may be words ("3 Watt", "200 grams",
"93 percent"). Capital letters of symbols count (MB is a million bytes, mb is refused); decimal commas and
units of another kind are refused.
"""


def page() -> str:
    """The whole page."""
    tables = (
        ("The file", Profile),
        ("[schedule]", Schedule),
        ("[[requirements]]", Requirement),
    )
    sections = [HEAD, *(f"## {title}\n\n{_fields(model)}\n" for title, model in tables)]
    return "\n".join([*sections, f"## Quantities\n\n{_quantities()}\n"])


def _fields(model: type) -> str:
    rows = [f"| `{name}` | {_cell(text.text)} |" for name, text in texts_of(model).items()]
    return "\n".join(["| field | meaning |", "| --- | --- |", *rows])


def _quantities() -> str:
    """The quantities, and the units of each kind once."""
    head = ["| quantity | | statistics |", "| --- | --- | --- |"]
    least = [f"`{name}`" for name, metric in required_metrics().items() if metric.at_least]
    kinds: dict[str, list[str]] = {}
    for name, metric in required_metrics().items():
        head.append(f"| `{name}` | {_cell(metric.words)} | {', '.join(metric.statistics)} |")
        kinds.setdefault(", ".join(fitting_units(metric.units)), []).append(f"`{name}`")
    units = [
        f"- {', '.join(names)}: {'1 (a ratio: alone it is 1)' if texts == '1' else texts}"
        for texts, names in kinds.items()
    ]
    return "\n".join(
        [
            *head,
            "",
            f"A limit on {' or '.join(least)} is a minimum, any other a maximum. [Columns](columns.md)",
            "defines each. Units:",
            "",
            *units,
        ]
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
