"""A CSV file of 5 W that lasts for minutes, as other software writes it."""

from pathlib import Path

SAMPLES, RATE_HZ = 10_000, 50


def write(folder: Path) -> Path:
    lines = [f"{n / RATE_HZ},5000" for n in range(SAMPLES)]
    path = folder / "power.csv"
    path.write_text("\n".join(("t_s,p_mw", *lines, "")))
    return path
