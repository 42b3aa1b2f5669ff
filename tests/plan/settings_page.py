"""docs/settings.md: the declared settings, by panel; `python -m tests.plan.settings_page` renews it."""

from __future__ import annotations

from pathlib import Path

from edgebench.run.setting import DeclaredSetting
from edgebench.run.settings import PANELS, run_settings

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
HEAD = """# Settings of `edgebench run`

A flag beats the environment variable (lists with commas), which beats the key in `edgebench.toml`, then in
`~/.config/edgebench/config.toml`, then the default. `python -m tests.plan.settings_page` makes this page.
"""

TAIL = """## Limits

`EDGEBENCH_STAGE_TIMEOUT_S` is how many seconds each stage may take without headway: on the device (build,
load, golden patches, scene, measuring, images), and where models are read, converted and checked on the host.
What takes longer is ended with all that it started. Default: on the device a limit for each stage, on the
host none (reading a model: 120 s of processor time; the Edge TPU's compiler: 600 s).
"""


def page() -> str:
    """The whole page."""
    sections = [HEAD]
    for panel in PANELS:
        rows = [_row(setting) for setting in run_settings().values() if setting.declaration.panel == panel]
        table = "\n".join(["| flag | key | variable | meaning |", "| --- | --- | --- | --- |", *rows])
        sections.append(f"## {panel}\n\n{table}\n")
    return "\n".join([*sections, TAIL])


def _row(setting: DeclaredSetting) -> str:
    declaration = setting.declaration
    flag = f"{setting.flag} {declaration.metavar}".strip()
    forms = [declaration.short, flag] if declaration.short else [flag]
    forms += [f"--no-{setting.flag[2:]}"] if declaration.switch_off else []
    flags = ", ".join(f"`{form}`" for form in forms)
    cells = (flags, f"`{setting.name}`", f"`{setting.environment}`", setting.text)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
