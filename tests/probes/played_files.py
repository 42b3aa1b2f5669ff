"""Recordings of 5 W that last for minutes: a CSV file and the Parquet file of `edgebench meters record`."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

SAMPLES, RATE_HZ = 10_000, 50


class PlayedFiles(NamedTuple):
    csv: Path
    parquet: Path


def write(folder):
    files = PlayedFiles(folder / "power.csv", folder / "power.parquet")
    lines = [f"{n / RATE_HZ},5000" for n in range(SAMPLES)]
    files.csv.write_text("\n".join(("t_s,p_mw", *lines, "")))
    t_ns = np.arange(SAMPLES, dtype=np.int64) * (1_000_000_000 // RATE_HZ)
    columns = {
        "probe": "um25c:",
        "channel": "usb",
        "quantity": "power",
        "unit": "W",
        "t_ns": t_ns,
        "value": 5.0,
    }
    pd.DataFrame(columns).to_parquet(files.parquet)
    return files
