"""A stand-in for a Jetson's nvpmodel, jetson_clocks and sudo, and for the files that they read and write.

Modelled on what those programs write: nvpmodel of L4T R32 to R36 and NVIDIA's jetson_clocks, a shell script.
Three modes: 0 (MAXN), 1 (5W), and 2 (15W), which needs a reboot.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from edgebench.agent.bootstrap import ENVIRONMENT as BOARD_FOLDER
from edgebench.agent.facts import ROOT_ENVIRONMENT
from edgebench.agent.lock import ENVIRONMENT as BOARD_LOCK

MODES = {0: ("MAXN", 1479000, 921600000), 1: ("5W", 918000, 640000000), 2: ("15W", 1190400, 700000000)}
CPU = "sys/devices/system/cpu/cpu{}/cpufreq"
GPU = "sys/class/devfreq/57000000.gpu"
CPUS = 2
LEAST_KHZ, LEAST_GPU_HZ = 102000, 76800000

_SUDO = """#!/bin/sh
echo "$*" >> "{state}/asked"
if [ -e "{state}/password" ]; then echo "sudo: a password is required" >&2; exit 1; fi
[ "$1" = -n ] || {{ echo "a password is asked for at the terminal" >&2; exit 1; }}
shift
STAND_IN_ROOT=1 exec "$@"
"""

_NVPMODEL = """#!/bin/sh
set_limits() {{
    for cpu in "{root}"/sys/devices/system/cpu/cpu*/cpufreq; do
        echo {least_khz} > "$cpu/scaling_min_freq"; echo "$1" > "$cpu/scaling_max_freq"
    done
    echo {least_hz} > "{root}/{gpu}/min_freq"; echo "$2" > "{root}/{gpu}/max_freq"
}}
status="{root}/var/lib/nvpmodel/status"
case "$1" in
-q)
    number=$(sed 's/pmode:0*\\([0-9]\\).*/\\1/' "$status")
    echo "NVPM WARN: fan mode is not set!"
    case "$number" in {names} esac
    echo "NV Power Mode: $name"; echo "$number" ;;
-m)
    [ -n "$STAND_IN_ROOT" ] || {{ echo "NVPM ERROR: failed to set power mode!" >&2; exit 1; }}
    if [ -e "{state}/hangs" ]; then exec sleep 1000; fi
    if [ -e "{state}/deaf" ]; then exit 0; fi
    if [ -e "{state}/slow" ]; then touch "{state}/begun"; sleep 0.5; fi
    case "$2" in
    2)
        echo "NVPM WARN: Golden image context is already created"
        echo "NVPM WARN: Reboot required for changing to this power mode: 2"
        echo "NVPM WARN: DO YOU WANT TO REBOOT NOW? enter YES/yes to confirm:"
        read answer
        case "$answer" in YES|yes) touch "{state}/rebooted"; exit 0;; esac
        echo "NVPM ERROR: bad input!"; echo "NVPM ERROR: optMask is 1, no request for power mode"
        exit 0 ;;
    {settings}
    *) echo "NVPM ERROR: request for bad power mode $2" >&2; exit 1 ;;
    esac
    echo "pmode:000$2 fmode:fanNull" > "$status.part"; mv "$status.part" "$status" ;;
esac
"""

_JETSON_CLOCKS = """#!/bin/sh
[ -n "$STAND_IN_ROOT" ] || {{ echo "Error: Run this script($0) as a root user"; exit 1; }}
limits="{root}/sys/devices/system/cpu/cpu*/cpufreq/scaling_min_freq {root}/{gpu}/min_freq"
case "$1" in
--show) echo "SOC family:tegra210  Machine:NVIDIA Jetson Nano Developer Kit" ;;
--store)
    if [ -e "$2" ]; then
        echo "File $2 already exists. Can I overwrite it? Y/N:"; read answer
        case "$answer" in y|Y) rm -f "$2" ;; *) echo "Error: file $2 already exists!"; exit 1 ;; esac
    fi
    echo "Storing system configuration in $2"
    for file in $limits; do echo "$file:$(cat "$file")" >> "$2"; done ;;
--restore)
    if [ ! -e "$2" ]; then echo "Error: $2 file not found !"; exit 1; fi
    echo "Restoring system configuration from $2"
    while IFS=: read -r file data; do echo "$data" > "$file"; done < "$2"
    if [ -e "{state}/complains" ]; then echo "Error: Failed to restore {root}/{gpu}/railgate_enable"; fi ;;
"")
    if [ -e "{state}/unpinned" ]; then exit 0; fi
    if [ -e "{state}/clocks-fail" ]; then echo "Error: Failed to max GPU frequency!"; exit 0; fi
    for file in $limits; do
        cat "$(dirname "$file")/$(basename "$file" | sed s/min/max/)" > "$file"
    done ;;
esac
"""


@dataclass(frozen=True)
class JetsonBoard:
    """A stand-in board below one folder.

    `behave` has its programs do what the real ones may do: `password` (sudo asks for one), `hangs`, `deaf`
    (nvpmodel -m changes nothing, and ends well), `slow`, `unpinned` (jetson_clocks does nothing),
    `clocks-fail`, `complains` (of what it cannot restore).
    """

    folder: Path

    @property
    def root(self) -> Path:
        """Where the agent finds /etc, /var and /sys."""
        return self.folder / "root"

    @property
    def notes(self) -> Path:
        """Where its user's EdgeBench notes what is to be put back."""
        return self.folder / "board"

    @property
    def environment(self) -> Mapping[str, str]:
        """For the agent."""
        return {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            ROOT_ENVIRONMENT: str(self.root),
            BOARD_FOLDER: str(self.notes),
            BOARD_LOCK: str(self.folder),
        }

    @property
    def mode(self) -> int:
        """The mode in force."""
        return int((self.root / "var/lib/nvpmodel/status").read_text().split()[0].removeprefix("pmode:"))

    @property
    def pinned(self) -> bool:
        """Whether the clocks of its CPU and GPU are."""
        return self._clock("min") == self._clock("max")

    @property
    def asked(self) -> list[str]:
        """What sudo was asked to run, with its options."""
        path = self.folder / "state/asked"
        return path.read_text().splitlines() if path.exists() else []

    @property
    def rebooted(self) -> bool:
        """Whether the question for a reboot was answered with yes."""
        return (self.folder / "state/rebooted").exists()

    def behave(self, how: str, *, on: bool = True) -> None:
        """Switch one of the ways on or off."""
        path = self.folder / "state" / how
        path.touch() if on else path.unlink()

    def _clock(self, limit: str) -> list[str]:
        cpus = [self.root / CPU.format(number) / f"scaling_{limit}_freq" for number in range(CPUS)]
        return [path.read_text() for path in (*cpus, self.root / GPU / f"{limit}_freq")]


def jetson_board(folder: Path, mode: int = 0, *, pinned: bool = False) -> JetsonBoard:
    """A board in that mode, its clocks as nvpmodel or as jetson_clocks leaves them."""
    board = JetsonBoard(folder)
    _, khz, gpu_hz = MODES[mode]
    files = {
        "etc/nvpmodel.conf": "".join(f"< POWER_MODEL ID={n} NAME={MODES[n][0]} >\n" for n in MODES),
        "var/lib/nvpmodel/status": f"pmode:000{mode} fmode:fanNull\n",
        "proc/device-tree/model": "NVIDIA Jetson Nano Developer Kit\0",
        f"{GPU}/min_freq": f"{gpu_hz if pinned else LEAST_GPU_HZ}\n",
        f"{GPU}/max_freq": f"{gpu_hz}\n",
    }
    for number in range(CPUS):
        files[f"{CPU.format(number)}/scaling_min_freq"] = f"{khz if pinned else LEAST_KHZ}\n"
        files[f"{CPU.format(number)}/scaling_max_freq"] = f"{khz}\n"
    for path, text in files.items():
        (board.root / path).parent.mkdir(parents=True, exist_ok=True)
        (board.root / path).write_text(text)
    words = {
        "root": board.root,
        "state": folder / "state",
        "gpu": GPU,
        "least_khz": LEAST_KHZ,
        "least_hz": LEAST_GPU_HZ,
        "names": " ".join(f"{n}) name={MODES[n][0]};;" for n in MODES),
        "settings": " ".join(f"{n}) set_limits {MODES[n][1]} {MODES[n][2]};;" for n in (0, 1)),
    }
    (folder / "state").mkdir()
    (folder / "bin").mkdir()
    for program, script in (("sudo", _SUDO), ("nvpmodel", _NVPMODEL), ("jetson_clocks", _JETSON_CLOCKS)):
        place = folder / "bin" / program
        place.write_text(script.format(**words))
        place.chmod(0o755)
    return board
