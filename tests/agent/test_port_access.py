"""Who may open what a probe is read from, and which processes have it open."""

import os
import subprocess
import sys

import pytest

from edgebench.agent import sampler as port_access
from edgebench.agent.bootstrap import user_name


def test_mode_owner_and_group(tmp_path):
    file = tmp_path / "port"
    file.touch()
    file.chmod(0o640)
    user, group = user_name(os.getuid()), port_access._group(os.getgid())
    assert port_access.permission(str(file)) == f"-rw-r----- {user}:{group}"
    assert port_access.permission(str(tmp_path / "none")) == ""
    assert user_name(4_000_000_001) == "4000000001"


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="there is no /proc here")
@pytest.mark.attack("another program has a meter's node open: its name and its pid are named")
def test_another_process_that_has_it_open(tmp_path):
    file, link = tmp_path / "port", tmp_path / "by-id"
    file.touch()
    link.symlink_to(file)
    hold = f"f = open({str(file)!r}); print('open', flush=True); input()"
    with (
        subprocess.Popen(
            [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as other,
        file.open(),
    ):
        assert other.stdout is not None and other.stdout.readline() == "open\n"
        [holder] = port_access.holders(str(link))
        assert holder.endswith(f"(pid {other.pid})")
        other.communicate("\n", timeout=20)
    assert port_access.holders(str(link)) == []
    assert port_access.access_of("") == {"port": "", "permission": "", "held_by": []}
