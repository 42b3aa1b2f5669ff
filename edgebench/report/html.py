"""The report as one HTML file that needs no network, no script and no other file."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2

from edgebench.atomic import write_atomically
from edgebench.errors import StoredResultError
from edgebench.fit.profile import Profile
from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.fit.verdict import WORDS
from edgebench.report import verdict_groups
from edgebench.report.captioned_figures import pictures
from edgebench.report.captioned_limits import limits_picture
from edgebench.report.mission_pages import mission_picture
from edgebench.report.page import texts
from edgebench.store.load import StoredResults


def write_report(
    results: StoredResults,
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    path: Path,
    profiles: Sequence[Profile] = (),
) -> Path:
    """Write the report to `path` in one step and return the path; StoredResultError when it cannot be."""
    text = render(results, summaries, verdicts, profiles)
    try:
        write_atomically(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise StoredResultError(
            f"the report cannot be written to {path}",
            why=error.strerror or str(error),
            fix="choose another file with -o",
        ) from error
    return path


def render(
    results: StoredResults,
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    profiles: Sequence[Profile] = (),
) -> str:
    """The whole page; the same text for the same result. `profiles` are those of the verdicts."""
    document = _template().render(page=page(results, summaries, verdicts, profiles))
    return document if document.endswith("\n") else document + "\n"


@functools.cache
def _template() -> jinja2.Template:
    environment_ = jinja2.Environment(
        loader=jinja2.PackageLoader("edgebench.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    environment_.globals["verdict_words"] = WORDS
    return environment_.get_template("report.html.j2")


def page(
    results: StoredResults,
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    profiles: Sequence[Profile] = (),
) -> dict[str, Any]:
    """Everything that the template shows: the texts, and the figures as `data:` addresses."""
    sections = texts(results, summaries, verdicts, profiles)
    return sections | {
        "figures": pictures(results, summaries, verdicts, profiles),
        "limits": [
            limits_picture(summaries, verdicts, profile) for profile in verdict_groups.profiles(verdicts)
        ],
        "mission_pictures": [mission_picture(brief, summaries) for brief in sections["missions"]],
    }
