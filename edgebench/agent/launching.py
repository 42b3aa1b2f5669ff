"""Whether a worker can be started as a target's launch says: its prefix's program, and its CPUs."""

import os
import shutil
from typing import Any, List, Mapping, Sequence, Tuple

Launch = Mapping[str, Any]


def launch_faults(launch: Launch) -> List[Tuple[str, str]]:
    """What stands in its way, each as what is wrong and how to mend it; nothing where it can be started.

    Args:
        launch: `env`, `prefix` and `affinity` as they come in a request; what is absent is as if empty.
    """
    env = dict(os.environ, **(launch.get("env") or {}))
    faults = []
    prefix: Sequence[str] = launch.get("prefix") or []
    if prefix and shutil.which(prefix[0], path=env.get("PATH")) is None:
        what = "the program {} of launch.prefix is not there, or cannot be run".format(prefix[0])
        faults.append((what, "install it there, or name another in launch.prefix (its whole path is safest)"))
    absent = _absent_cpus(launch.get("affinity") or [])
    if absent:
        listed = ", ".join(str(cpu) for cpu in absent)
        what = "launch.affinity names CPU {}, which is not there, or not this user's to use".format(listed)
        faults.append(
            (what, "name CPUs of the board in launch.affinity: `nproc --all` tells how many it has")
        )
    return faults


def _absent_cpus(cpus: Sequence[int]) -> List[int]:
    """Those of these CPUs that a process of this user cannot be put on; the system alone knows which."""
    absent: List[int] = []
    if not cpus:
        return absent
    before = os.sched_getaffinity(0)
    try:
        for cpu in cpus:
            # Of several, the system takes those that it has and passes over the others.
            try:
                os.sched_setaffinity(0, [int(cpu)])
            except OSError:
                absent.append(int(cpu))
    finally:
        os.sched_setaffinity(0, before)
    return absent
