"""A study of two boards: measured by the same commands, compared, and the figure for the paper.

    python study.py --first "--target nano" --second "--target coral" -o figures/

Without boards it replays two scenarios in their place; no figure of these was measured. What is in
results/first and results/second already is not measured again: --results names another folder.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import edgebench
from edgebench.report.plots import drawing

EDGEBENCH = shutil.which("edgebench", path=Path(sys.executable).parent) or "edgebench"
REPLAYED = (
    "--device replay --set source=steady",
    f"--device replay --set source={Path(__file__).parent / 'quick-board.toml'}",
)


def measured(name: str, options: str, results: Path) -> edgebench.Results:
    """A result of that name, measured unless it is there already."""
    if not (results / name / "experiment.json").is_file():
        command = [EDGEBENCH, "run", "--name", name, "--output-dir", str(results), "--sessions", "5"]
        done = subprocess.run([*command, *shlex.split(options)], check=False)
        if done.returncode not in (0, 3):  # 3: a requirement is not met, which is a result, too
            sys.exit(done.returncode)
    return edgebench.load(results / name)


def main() -> None:
    """Measure both, print what differs, and write table and figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", default=REPLAYED[0], help="options of `edgebench run` for the first board")
    parser.add_argument("--second", default=REPLAYED[1], help="the same for the second")
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("-o", "--output", type=Path, default=Path("figures"))
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    boards = {
        name: measured(name, options, arguments.results)
        for name, options in (("first", arguments.first), ("second", arguments.second))
    }

    comparison = edgebench.compare(boards["first"], boards["second"], metric="image_s")
    print(comparison)
    comparison.table.to_csv(arguments.output / "comparison.csv", index=False)

    both = edgebench.concat(boards)
    both.summaries().to_csv(arguments.output / "trials.csv")
    axes = both.plot.targets()
    figure = (axes[0] if isinstance(axes, list) else axes).figure
    for form in ("pdf", "png"):
        (arguments.output / f"targets.{form}").write_bytes(drawing.as_bytes(figure, form))
    print(f"figure and tables: {arguments.output}")


if __name__ == "__main__":
    main()
