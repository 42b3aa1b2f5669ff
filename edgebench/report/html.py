"""The report as one HTML file that needs no network and no other file.

Its policy lets one style and one script run, those of the templates, by their hashes: whatever text came in
from outside cannot style or run anything. Without the script the page is whole; with it tables are sorted
and filtered.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from edgebench.atomic import write_atomically
from edgebench.errors import StoredResultError
from edgebench.fit.profile import Profile
from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.fit.verdict import WORDS
from edgebench.report import drawing, verdict_groups
from edgebench.report.captioned_figures import pictures
from edgebench.report.captioned_limits import limits_picture
from edgebench.report.figure_text import sort_value
from edgebench.report.inline_svg import inline_svg
from edgebench.report.mission_pages import mission_picture
from edgebench.report.page import texts
from edgebench.report.picture import Picture
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
    templates = _templates()
    style, script = (_shipped(name) for name in ("style.css.j2", "report.js"))
    policy = (
        "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"style-src {_hash_source(style)}; script-src {_hash_source(script)}"
    )
    with drawing.uncollected():
        shown = page(results, summaries, verdicts, profiles)
    document = templates.get_template("report.html.j2").render(
        page=shown, policy=policy, style=style, script=script
    )
    return document if document.endswith("\n") else document + "\n"


@functools.cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("edgebench.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    environment.globals["verdict_words"] = WORDS
    environment.filters["sort_value"] = sort_value
    return environment


def _shipped(name: str) -> Markup:
    """The style or the script of the templates, which nothing from outside is put into."""
    return Markup(_templates().get_template(name).render())


def _hash_source(text: str) -> str:
    """What a policy calls an element of exactly this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def page(
    results: StoredResults,
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    profiles: Sequence[Profile] = (),
) -> dict[str, Any]:
    """Everything that the template shows: the texts, and the figures."""
    sections = texts(results, summaries, verdicts, profiles)
    numbers = itertools.count(1)

    def shown(picture: Picture | None) -> Mapping[str, str] | None:
        if picture is None:
            return None
        texts_of_it = {"src": picture.src, "alt": picture.alt, "caption": picture.caption}
        return texts_of_it | {"svg": _drawn(picture, f"figure-{next(numbers)}")}

    limits = [limits_picture(summaries, verdicts, profile) for profile in verdict_groups.profiles(verdicts)]
    missions = [mission_picture(brief, summaries) for brief in sections["missions"]]
    figures = pictures(results, summaries, verdicts, profiles)
    return sections | {
        "figures": {place: shown(picture) for place, picture in figures.items()},
        "limits": [shown(picture) for picture in limits],
        "mission_pictures": [shown(picture) for picture in missions],
    }


def _drawn(picture: Picture, prefix: str) -> Markup:
    """The figure as an element of the page; empty where nothing is drawn."""
    if picture.figure is None:
        return Markup()
    return Markup(
        inline_svg(drawing.as_svg(picture.figure), prefix, picture.alt, drawing.tooltips(picture.figure))
    )
