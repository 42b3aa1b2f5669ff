"""Shared parts of commands: consoles, option types, completion. Imports nothing heavy."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from edgebench.errors import EXIT_ERROR, EdgeBenchError, UsageError
from edgebench.run.setting import DeclaredSetting
from edgebench.run.settings import PANELS, run_settings

if TYPE_CHECKING:
    from rich.console import Console

    from edgebench.judge.judged import Judged
    from edgebench.judge.requirements.profile import Profile
    from edgebench.judge.requirements.requirement import Requirement


# What the shell completes names with. Imports nothing heavy.


def complete_device(incomplete: str) -> list[str]:
    """Device names for the shell."""
    from edgebench import registry

    return [name for name in registry.names("edgebench.backends") if name.startswith(incomplete)]


def complete_profile(incomplete: str) -> list[str]:
    """Names of the shipped profiles for the shell."""
    from edgebench.judge.requirements.profile import shipped_profiles

    return [profile.name for profile in shipped_profiles() if profile.name.startswith(incomplete)]


def complete_target(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of the targets file for the shell; none where it cannot be read."""
    from edgebench.run.targets_file import read_targets

    try:
        declared = read_targets(ctx.params.get("targets_file"))
    except EdgeBenchError:
        return []
    return [target.name for target in declared.targets if target.name.startswith(incomplete)]


def complete_board(ctx: typer.Context, incomplete: str) -> list[str]:
    """Boards for the shell: those of the devices that are typed, or of all, and hosts of sticks.

    Of a stored result's targets `TARGET=` may come before.
    """
    from edgebench.board_catalogue import known_boards

    typed = ctx.params.get("device") or ()
    names = [
        name
        for name, board in known_boards().items()
        if not (typed and board.devices) or set(typed) & set(board.devices)
    ]
    target, equals, start = incomplete.rpartition("=")
    return sorted(f"{target}{equals}{name}" for name in names if name.startswith(start))


def complete_option(ctx: typer.Context, incomplete: str) -> list[str]:
    """Completions of `--set`: options of the devices that are typed, and the values of a choice."""
    from edgebench import registry

    texts: set[str] = set()
    for device in ctx.params.get("device") or ():
        try:
            options = registry.backend(device).options_model.model_json_schema().get("properties", {})
        except EdgeBenchError:
            continue
        for name, schema in options.items():
            key = name.replace("_", "-")
            values = ("true", "false") if schema.get("type") == "boolean" else schema.get("enum", ())
            texts |= {f"{key}={value}" for value in values} if "=" in incomplete else {f"{key}="}
    return sorted(text for text in texts if text.startswith(incomplete))


def complete_port(incomplete: str) -> list[str]:
    """The serial ports of this machine for the shell."""
    from edgebench.probes.host.serial_port import ports_here

    ports = (text.partition(" ")[0] for text in ports_here())
    return [port for port in ports if port.startswith(incomplete)]


def complete_meter(incomplete: str) -> list[str]:
    """Kinds of meters for the shell."""
    from edgebench import registry

    kinds = (kind for kind in registry.loadable("edgebench.probes") if kind.startswith(incomplete))
    return [kind for kind in kinds if not registry.is_monitor(kind)]


_RESULTS_LOOKED_AT = 20  # of a folder, the newest, for the names of its targets
_MAX_BYTES = 8 << 20  # of a record that is read while somebody waits for a name
_HEAD_BYTES = 200  # of an experiment.json, which begins with its version
_VERSION = re.compile(rb'"schema_version":\s*([0-9]{1,6})\b')
_ACTED_UPON = frozenset("$`\"'\\;&|<>(){}*?!#~")


def _newest_first(entries: Iterable[Path]) -> list[Path]:
    """The results among some folders; OSError where one cannot be looked at."""
    # A folder that may not be read, such as a disk's lost+found, is none of them.
    results = [entry for entry in entries if os.path.isfile(entry / "experiment.json")]  # noqa: PTH113
    return sorted(results, key=lambda entry: (entry / "experiment.json").stat().st_mtime, reverse=True)


def complete_measured_target(ctx: typer.Context, incomplete: str) -> list[str]:
    """Targets that the newest results have, for the shell."""
    names: dict[str, None] = {}
    try:
        results = _newest_first((output_dir := output_dir_setting(ctx.params.get("output_dir"))).iterdir())
    except (OSError, EdgeBenchError):
        return []
    index = _index(output_dir)
    for folder in results[:_RESULTS_LOOKED_AT]:
        if (indexed := _indexed_targets(folder, index)) is not None:
            names |= dict.fromkeys(indexed)
        elif not unread_version(folder):
            names |= dict.fromkeys(_target_names(folder / "experiment.json"))
    return [name for name in names if name.startswith(incomplete) and is_completed(name)]


def _index(output_dir: Path) -> Any:
    """Listing of a folder in the cache, by the name of a result."""
    from edgebench.prepare.cache import Cache
    from edgebench.results.layout import INDEX, index_key

    return (Cache().recipe(INDEX, index_key(output_dir), used=False) or {}).get("results")


def _indexed_targets(folder: Path, index: Any) -> list[str] | None:
    """The targets of a result whose records are as the index knows them; None for any other."""
    from edgebench.results.layout import records_state

    try:
        state, indexed = index[folder.name]
        targets = indexed["overview"]["targets"] if state == records_state(folder)[1] else None
    except (OSError, LookupError, TypeError, ValueError):
        return None
    return [str(name) for name in targets] if isinstance(targets, list) else None


def unread_version(folder: Path) -> str:
    """Name the version of a result that this EdgeBench does not read; empty for any other result."""
    from edgebench.files import open_regular
    from edgebench.results.layout import EXPERIMENT_FILE, SCHEMA_VERSION, other_version

    try:
        with open_regular(folder / EXPERIMENT_FILE) as file:
            found = _VERSION.search(file.read(_HEAD_BYTES))
    except OSError:
        return ""
    version = int(found[1]) if found else SCHEMA_VERSION
    return other_version(version) if version != SCHEMA_VERSION else ""


def is_completed(name: str) -> bool:
    """True if a name from outside may be put on the user's line.

    A terminal would carry out control characters in it, the shell `$(...)`, a quote or a `;`, as it stands
    there unquoted, and with a dash first it would be an option.
    """
    return name.isprintable() and not _ACTED_UPON.intersection(name) and not name.startswith("-")


def _target_names(file: Path) -> list[str]:
    """Targets of an experiment.json, without settings and revisions; none if it is damaged."""
    from edgebench.files import read_regular

    try:
        targets = json.loads(read_regular(file, _MAX_BYTES))["targets"]
        names = [str(target.get("revision_of") or target["name"]) for target in targets]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []
    return [name.partition("[")[0] for name in names]


def complete_followed_metric(incomplete: str) -> list[str]:
    """Metrics that a history can be of, for the shell."""
    from edgebench.judge.comparisons.history import followed_metrics

    return [name for name in followed_metrics() if name.startswith(incomplete)]


def complete_compared_metric(incomplete: str) -> list[str]:
    """Metrics by which results are compared, for the shell; of several after commas the last."""
    from edgebench.judge.metrics import compared_metrics

    before, comma, start = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in compared_metrics() if name.startswith(start)]


# Options of the command line, made of the declared settings of a run. Imports nothing heavy.


_COMPLETIONS: Mapping[str, Callable[..., list[str]] | None] = {
    "": None,
    "device": complete_device,
    "target": complete_target,
    "profile": complete_profile,
    "board": complete_board,
    "meter": complete_meter,
    "port": complete_port,
    "option": complete_option,
}


def option(name: str, *, panel: bool = False, help_text: str = "") -> Any:
    """The option of a setting, for `Annotated`; `help_text` where a command means something else by it."""
    setting = run_settings()[name]
    declaration = setting.declaration
    flag = f"{setting.flag}/--no-{setting.flag[2:]}" if declaration.switch_off else setting.flag
    return typer.Option(
        flag,
        *([declaration.short] if declaration.short else []),
        metavar=declaration.metavar or None,
        help=help_text or setting.text,
        autocompletion=_COMPLETIONS[declaration.completion],
        show_default=False,
        rich_help_panel=declaration.panel if panel else None,
    )


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes all settings of a run as options, in their panels, with options of its own.

    Its last parameter is `**flags`: by name of a setting what was typed, None or [] where nothing was. Its
    own options name their panels, and follow the settings of those.
    """
    parameters = [_parameter(setting.name, panel=True) for setting in run_settings().values()]
    parameters += _own_parameters(command)
    return with_parameters(command, sorted(parameters, key=_panel_order))


def with_options(*names: str, **texts: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command that takes these settings of a run as options, after its own.

    Args:
        names: of settings.
        texts: name -> help, where the command means something else by a setting.

    The command's last parameter is `**flags`, as of `with_settings`.
    """

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        settings = [
            _parameter(name, help_text=texts.get(name, "")) for name in dict.fromkeys((*names, *texts))
        ]
        return with_parameters(command, [*_own_parameters(command), *settings])

    return decorated


def with_parameters(
    command: Callable[..., None], parameters: Sequence[inspect.Parameter]
) -> Callable[..., None]:
    """The command, whose parameters typer takes for these."""
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _own_parameters(command: Callable[..., None]) -> list[inspect.Parameter]:
    parameters = inspect.signature(command, eval_str=True).parameters.values()
    return [
        parameter.replace(kind=parameter.KEYWORD_ONLY)
        for parameter in parameters
        if parameter.kind is not parameter.VAR_KEYWORD
    ]


def _parameter(name: str, *, panel: bool = False, help_text: str = "") -> inspect.Parameter:
    kind: Any = _typed_as(run_settings()[name]) | None
    annotation: Any = Annotated[kind, option(name, panel=panel, help_text=help_text)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _typed_as(setting: DeclaredSetting) -> Any:
    """Type of a flag on the command line: text, a path or a switch; the settings' types come after it."""
    if setting.kind is bool:
        return bool
    if setting.is_list:
        return list[str]
    return Path if Path in (setting.kind, *get_args(setting.kind)) else str


def _panel_order(parameter: inspect.Parameter) -> int:
    [declared] = [item for item in get_args(parameter.annotation) if hasattr(item, "rich_help_panel")]
    return PANELS.index(declared.rich_help_panel)


def complete_results(ctx: typer.Context, incomplete: str) -> list[str | tuple[str, str]]:
    """`latest` and the results' names for the shell, newest first; below a folder that is typed, its own.

    The help of those that this EdgeBench does not read names their version.
    """
    typed, slash, start = incomplete.rpartition("/")
    try:
        folder = Path(typed + slash) if slash else output_dir_setting(ctx.params.get("output_dir"))
        entries = [entry for entry in sorted(folder.iterdir()) if is_completed(entry.name)]
        results = _newest_first(entries)
        # On the way to another folder, the folders there; they come after the results.
        ways = [entry for entry in entries if entry.is_dir() and entry not in results]
        unread = {entry.name: text for entry in results if (text := unread_version(entry))}
    except (OSError, EdgeBenchError):
        return []
    names = [entry.name for entry in results if entry.name.startswith(start)]
    names = [*(["latest"] if len(results) > len(unread) and "latest".startswith(start) else []), *names]
    shown = [entry.name for entry in ways if slash and entry.name.startswith(start) and entry.name[0] != "."]
    helped = [(f"{typed}{slash}{name}", unread.get(name, "")) for name in names]
    words = [(word, text) if text else word for word, text in helped]
    return words + [f"{typed}{slash}{name}/" for name in shown]


DeclaredPowerOption = Annotated[
    list[str] | None,
    option(
        "declared_power",
        help_text="Power of a whole target from a data sheet or label, [TARGET=]WATTS:KIND:SOURCE, such as "
        "nano=9.5:maximum:'its label'. Used if no meter decides: a maximum can pass a limit, a typical power "
        "can fail one. Repeatable.",
    ),
]
DeclaredOption = Annotated[
    list[str] | None,
    option(
        "declared",
        help_text="Mass, size or boot time with its source, such as nano=mass_g:180:weighed, "
        "size_mm:100x80x29:'its drawing' or boot_s:25:typical:'stop watch'. Repeatable.",
    ),
]
BoardOption = Annotated[
    list[str] | None,
    option(
        "board",
        help_text="Board of a target, [TARGET=]NAME, such as coral=coral-usb, with its mass, size and power "
        "(`edgebench boards list`). Replaces the boards that the run named. Repeatable.",
    ),
]
ProfileOption = Annotated[list[str] | None, option("profile")]
OutputDirOption = Annotated[
    Path | None, option("output_dir", help_text="Folder of results. Default: results")
]
LongOutputDirOption = Annotated[
    Path | None, typer.Option("--output-dir", metavar="DIR", help="Folder of results. Default: results")
]
"""Option of commands whose -o names the file that they write."""
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document (schema version 1).")]
ReferenceOption = Annotated[
    bool,
    typer.Option(
        "--reference",
        help="Judge the published figures that come with EdgeBench instead of RESULTS. Each verdict quotes "
        "its source. Default profiles: the shipped ones.",
    ),
]
DetailsOption = Annotated[
    bool, typer.Option("--details", help="Also print what would pass, margins, trials, power and warnings.")
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Exit with 4 if a verdict is undecided.")]
ResultsArgument = Annotated[
    str,
    typer.Argument(
        metavar="RESULTS",
        autocompletion=complete_results,
        help="A result folder, or `latest`.",
        show_default=False,
    ),
]
OptionalResultsArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="RESULTS",
        autocompletion=complete_results,
        help="A result folder, or `latest`, which is the default.",
        show_default=False,
    ),
]


def stdout() -> Console:
    """The console for data; NO_COLOR, TERM=dumb and COLUMNS are honoured."""
    from edgebench.report.renderers.terminal import make_console

    return make_console()


def stderr() -> Console:
    """The console for progress and messages; nothing moves on it unless it is a terminal.

    FORCE_COLOR brings colour into a file or a pipe, and nothing else: rich would take it for a terminal, and
    draw progress bars and move the cursor there.
    """
    from rich.console import Console

    if sys.stderr.isatty():
        return Console(stderr=True, highlight=False)
    colours: Literal["standard", "auto"] = "standard" if os.environ.get("FORCE_COLOR") else "auto"
    return Console(stderr=True, highlight=False, force_terminal=False, color_system=colours)


@contextlib.contextmanager
def busy(text: str) -> Iterator[None]:
    """Say on a terminal what takes a moment, while it does; nothing of it stays, nor goes anywhere else."""
    console = stderr()
    if not console.is_terminal or console.is_dumb_terminal:
        yield
        return
    # The usual spinner cannot be written where the terminal takes ASCII alone.
    with console.status(text, spinner="line" if console.options.ascii_only else "dots"):
        yield


def say(text: str) -> None:
    """One message on stderr, on one line; text from outside does not control the terminal."""
    from edgebench.suggest import printable

    stderr().print(printable(text), markup=False, soft_wrap=True)


def say_each(lead: str, texts: Iterable[str]) -> None:
    """A message on stderr for each text, behind what kind of message it is."""
    for text in texts:
        say(f"{lead}: {text}")


def print_either(json_: bool, document: Callable[[], Mapping[str, Any]], text: Callable[[], None]) -> None:
    """Print a document as JSON, or the text for people."""
    from edgebench.report.words import as_json

    if json_:
        typer.echo(as_json(document()), nl=False)
    else:
        text()


def exit_where(failed: bool, code: int = EXIT_ERROR) -> None:
    """End the command with an exit code where it has failed."""
    if failed:
        raise typer.Exit(code)


def echo_path(path: Path) -> None:
    """A path alone on a line of stdout, for people and scripts; what cannot be shown in it is replaced."""
    from edgebench.suggest import printable

    typer.echo(printable(path))


def targets_file_setting(flag: Path | None) -> Path | None:
    """The targets file of the flag, else of the environment or a configuration file; None: the default."""
    from edgebench.run.config import resolve_one

    return resolve_one("targets_file", flag).targets_file


def read_profiles(names: Sequence[str]) -> tuple[Profile, ...]:
    """The profiles of those names or files, each once; UsageError for two that share a name."""
    from edgebench.judge.requirements.profile import load_profiles

    return load_profiles(names)


def judged_by(
    profile: Sequence[str] | None,
    board: Sequence[str] | None,
    declared_power: Sequence[str] | None,
    declared: Sequence[str] | None,
) -> tuple[str, ...]:
    """Options by which a result is judged, for the commands that a report or an answer shows."""
    given = {"profile": profile, "board": board, "declared-power": declared_power, "declared": declared}
    return tuple(
        word for name, values in given.items() for value in values or () for word in (f"--{name}", value)
    )


def require_alone(results: str | None, output_dir: Path | None, *declared: Sequence[str] | None) -> None:
    """UsageError where --reference is given what belongs to a result: they are never judged together."""
    if results is not None or output_dir is not None or any(declared):
        raise UsageError(
            "--reference judges published figures, and nothing that was measured",
            why="RESULTS, --output-dir, --declared-power, --declared and --pareto are of a result",
            fix="leave them out, or judge the result in a command of its own",
        )


def results_folder(text: str | None, output_dir: Path | None = None) -> Path:
    """The folder that RESULTS names; the latest where it is left out."""
    from edgebench.results.listing import LATEST, resolve_results

    return resolve_results(LATEST if text is None else text, output_dir_setting(output_dir))


def output_dir_setting(flag: Path | None) -> Path:
    """The folder of results: the flag, the environment, a configuration file, else `results`."""
    from edgebench.run.config import resolve_one

    return require_results_folder(resolve_one("output_dir", flag).output_dir)


def require_results_folder(folder: Path) -> Path:
    """The folder of results. Raises UsageError for a file, or a name that ends as a report's does."""
    is_report = folder.suffix.lower() in (".html", ".md", ".json", ".csv", ".pdf") and not folder.is_dir()
    if is_report or folder.is_file():
        raise UsageError(
            f"{folder} is no folder of results",
            why="-o of run, fit and mission is the folder of results; elsewhere it is a file to write",
            fix="name a folder; `edgebench report -o FILE` writes a report",
        )
    return folder


def print_json(judged: Judged, axes: Sequence[Requirement] = ()) -> None:
    """Print the document of a result on stdout; `axes` are metrics of one Pareto front."""
    from edgebench.report.documents import document
    from edgebench.report.words import as_json

    typer.echo(as_json(document(judged, axes)), nl=False)
