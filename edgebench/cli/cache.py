"""`edgebench cache`: what the cache folder holds, and removing it."""

from __future__ import annotations

from typing import Annotated

import typer

from edgebench.cli.common import JsonOption, stdout
from edgebench.cli.panels import CommandGroup

app = CommandGroup(
    no_args_is_help=True,
    help="Show and clean the cache: prepared models, scenes and images as pixels. Results are not in it.",
)


@app.command()
def show(json_: JsonOption = False) -> None:
    """Show what the cache holds, by kind: files, size, last use.

    The folder is EDGEBENCH_CACHE_DIR, else the user's cache folder. It keeps
    what takes long to make: models as runtimes load them, and scenes and images
    as pixels. All of it is made again when it is needed and is not there.
    """
    from edgebench.prepare.cache import Cache, foreign, list_files, totals
    from edgebench.report.listings.models import print_cache

    cache = Cache()
    print_cache(stdout(), cache.root, totals(list_files(cache)), foreign(cache), as_json=json_)


@app.command()
def clean(
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than",
            metavar="TIME",
            help="Only what was not used for so long: 30d, 12h, 90m. Default: everything",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would go, and remove nothing.")
    ] = False,
    json_: JsonOption = False,
) -> None:
    """Remove the cache's files, all of them or those not used for some time.

    Nothing is lost but time: the next run makes again what it needs. Only files
    that the cache itself has made are removed; other files in its folder
    stay, and so do results. Refused while a run or a preparation uses the cache.
    Scratch of a process that was killed is removed by the next use of the cache, too.

    edgebench cache clean --older-than 30d --dry-run     see what would go
    """
    import math
    import time

    from edgebench.errors import UsageError
    from edgebench.prepare.cache import Cache, foreign, list_files, remove, select, totals
    from edgebench.report.listings.models import print_cleaned
    from edgebench.run.setting import duration_s

    before_s: float | None = None
    if older_than is not None:
        try:
            age_s = float(str(duration_s(older_than)))
        except ValueError:
            age_s = math.nan
        if not 0 <= age_s < math.inf:
            raise UsageError(f"--older-than: {older_than!r} is no time", fix="write it like 30d, 12h or 90m")
        before_s = time.time() - age_s
    cache = Cache()
    removed = select(list_files(cache), before_s) if dry_run else remove(cache, before_s)
    gone = {file.path for file in removed}
    left = totals(file for file in list_files(cache) if file.path not in gone)
    print_cleaned(stdout(), cache.root, totals(removed), left, foreign(cache), dry_run=dry_run, as_json=json_)
