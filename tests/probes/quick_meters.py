"""The meters of the host in a package of their own, quicker than real ones and off real hardware."""

import re
import shutil
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

from edgebench import probes, registry

PACKAGE = "quick_meters"
CONSTANTS: dict[str, dict[str, object]] = {
    "um25c.py": {"RATE_HZ": 200.0, "ANSWER_S": 0.5},
    "sampling.py": {"LOOK_S": 0.05, "SILENCE_S": 0.2},
}
OPEN_SOCKET = """

def open_node(node):
    import socket

    end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    end.connect(node.path)
    end.setblocking(False)
    return end.detach()
"""


def install(folder, monkeypatch):
    """Have um25c and fnb58 be those while the test lasts; nodes are sockets in `folder`/nodes.

    They run in processes of their own, as always, so that no test can change them in any other way.
    """
    package = folder / PACKAGE
    package.mkdir()
    (package / "__init__.py").write_text('"""Quick meters."""\n')
    shutil.copy(Path(probes.__path__[0]) / "basics.py", package)
    shutil.copytree(Path(probes.__path__[0]) / "host", package / "host")
    hidraw: dict[str, object] = {"TREE": str(folder / "tree"), "NODES": str(folder / "nodes")}
    for file, constants in {**CONSTANTS, "fnb58.py": hidraw}.items():
        path = package / "host" / file
        for name, value in constants.items():
            text, count = re.subn(rf"^{name} = .*$", f"{name} = {value!r}", path.read_text(), flags=re.M)
            assert count == 1, name
            path.write_text(text)
    with (package / "host" / "fnb58.py").open("a") as file:
        file.write(OPEN_SOCKET)
    for name in ("tree", "nodes"):
        (folder / name).mkdir()
    monkeypatch.syspath_prepend(str(folder))
    quick = {
        kind: EntryPoint(kind, f"{PACKAGE}.host.{kind}", "edgebench.probes") for kind in ("um25c", "fnb58")
    }
    points = {"edgebench.probes": dict(registry._points("edgebench.probes")) | quick}
    plain = registry._points
    monkeypatch.setattr(registry, "_points", lambda group: points.get(group) or plain(group))


def uninstall():
    """Forget them again."""
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]
