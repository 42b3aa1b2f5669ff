"""Files that were sent, imported by relative imports as they lay on the host."""

import hashlib
import sys

import pytest

from edgebench.agent.building import import_sent
from edgebench.link.placing import code_at

PACKAGE = "edgebench_sent_test"


@pytest.fixture
def tree(tmp_path):
    """Writes files by their paths; the modules are gone afterwards."""

    def write(**files):
        for name, text in files.items():
            path = tmp_path / (name.replace("_in_", "/") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    yield write
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "SentModules"]


def sent(tmp_path, *files):
    """The code of files that lie on the board under their hashes, in one folder."""

    def place(path, sha256):
        there = tmp_path / f"{sha256}.py"
        there.write_bytes(path.read_bytes())
        return str(there)

    return code_at(files, place)


def test_files_of_several_folders_find_one_another_in_any_order(tree, tmp_path):
    folder = tree(
        toy_in_device_in_runner="from .tensors import A\nfrom ...device.shared import B\nBOTH = A + B",
        toy_in_device_in_tensors="from ...device import shared\nA = 'a' + shared.B",
        device_in_shared="B = 'b'",
    )
    files = [folder / "toy/device/runner.py", folder / "toy/device/tensors.py", folder / "device/shared.py"]
    code = sent(tmp_path, *files)
    assert code["entry"] == "toy.device.runner"
    module = import_sent(PACKAGE, code)
    assert (module.BOTH, module.__name__) == ("abb", f"{PACKAGE}.toy.device.runner")


def test_a_package_is_entered_by_its_init(tree, tmp_path):
    folder = tree(meter_in___init__="from .scale import W\nPLACE = 'board'", meter_in_scale="W = 3")
    module = import_sent(PACKAGE, sent(tmp_path, folder / "meter/__init__.py", folder / "meter/scale.py"))
    assert (module.W, module.PLACE) == (3, "board")


def test_a_single_file_is_entered_by_its_name(tree, tmp_path):
    module = import_sent(PACKAGE, sent(tmp_path, tree(rapl="W = 1") / "rapl.py"))
    assert (module.W, module.__file__) == (1, str(tmp_path / (digest(b"W = 1") + ".py")))


def test_a_file_that_was_not_sent_is_missing_by_its_name(tree, tmp_path):
    code = sent(tmp_path, tree(device_in_runner="from .tensors import A") / "device/runner.py")
    with pytest.raises(ModuleNotFoundError, match=f"{PACKAGE}.tensors"):
        import_sent(PACKAGE, code)


def digest(data):
    return hashlib.sha256(data).hexdigest()
