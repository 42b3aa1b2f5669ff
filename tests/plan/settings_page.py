"""docs/settings.md: the declared settings, by panel; `python -m tests.plan.settings_page` renews it."""

from __future__ import annotations

from pathlib import Path

from edgebench.run.setting import DeclaredSetting
from edgebench.run.settings import PANELS, run_settings

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
HEAD = """# Settings of `edgebench run`

A flag overrides the environment, then `edgebench.toml` in the working folder, then
`~/.config/edgebench/config.toml`, then the default. `--max-time` is `max_time` in these files and
`EDGEBENCH_MAX_TIME` in the environment; lists there are separated by commas.
"""

TAIL = """## Limits

`EDGEBENCH_STAGE_TIMEOUT_S` limits each stage, in seconds without progress, on the device and on the host
(reading, converting and checking models). Default: a limit per stage on the device, none on the host (reading
a model: 120 s of processor time; the Edge TPU's compiler: 600 s).
"""


def page() -> str:
    """The whole page."""
    sections = [HEAD]
    for panel in PANELS:
        rows = [_row(setting) for setting in run_settings().values() if setting.declaration.panel == panel]
        table = "\n".join(["| flag | meaning |", "| --- | --- |", *rows])
        sections.append(f"## {panel}\n\n{table}\n")
    return "\n".join([*sections, TAIL])


def _row(setting: DeclaredSetting) -> str:
    declaration = setting.declaration
    flag = f"{setting.flag} {declaration.metavar}".strip()
    forms = [declaration.short, flag] if declaration.short else [flag]
    forms += [f"--no-{setting.flag[2:]}"] if declaration.switch_off else []
    flags = ", ".join(f"`{form}`" for form in forms)
    cells = (flags, setting.text)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
