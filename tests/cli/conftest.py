"""A stand-in for ssh: it runs the board's commands on this machine, whatever the address says."""

import contextlib
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from edgebench.agent.bootstrap import ENVIRONMENT
from edgebench.cli.main import app
from tests.walk.conftest import Place, make_place

HOST = "quokkauser@quokkaboard.example:2222"
STAND_IN = '#!/bin/sh\nfor word; do last=$word; done\nexec sh -c "$last"\n'
TARGETS = f"""
[[targets]]
name = "far"
device = "toy"
host = "{HOST}"
python = "{sys.executable}"
launch = {{ env = {{ NOTE = "/home/quokkauser/notes" }} }}
mass_g = 140
size_mm = [10, 60, 80]

[[targets]]
name = "gone"
device = "toy"
host = "{HOST}"
python = "/home/quokkauser/no/python"
"""


class Field(Place):
    """A place with a targets file, and a board behind the stand-in."""

    def call(self, *words: str) -> Result:
        """The command in this process, which is quicker than one of its own."""
        with contextlib.chdir(self.folder):
            return CliRunner().invoke(app, list(words), env=self.environment)

    @property
    def environment(self) -> dict[str, str]:
        made = super().environment
        return made | {
            "PATH": f"{self.folder / 'bin'}:{made['PATH']}",
            ENVIRONMENT: str(self.folder / "placed"),
        }


def make_field(folder: Path) -> Field:
    make_place(folder)
    ssh = folder / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(STAND_IN)
    ssh.chmod(0o755)
    (folder / "targets.toml").write_text(TARGETS)
    return Field(folder)


@pytest.fixture(scope="session")
def measured_far(tmp_path_factory: pytest.TempPathFactory):
    """One finished run on the board behind the stand-in, shared by tests that only read it."""
    field = make_field(tmp_path_factory.mktemp("field"))
    words = [
        "run", "--target", "far", "--scene", "scene.png", "--images", "images", "--sessions", "2",
        "--passes", "1", "--depth", "0.25", "--precision", "fp32", "--name", "first",
        "--profile", "disco-realtime",
    ]  # fmt: skip
    return field, field.run(*words)


@pytest.fixture
def field(tmp_path: Path) -> Field:
    return make_field(tmp_path)
