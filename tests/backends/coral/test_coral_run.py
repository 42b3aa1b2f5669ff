"""`edgebench run --device coral` as it is typed; stand-ins play compiler, Edge TPU, libedgetpu and stick."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import edgebench
from edgebench.judge.judged import judge_folder
from edgebench.report.renderers.forms import export
from tests.backends.coral import edgetpu_compiler, played_tpu
from tests.backends.coral.delegates import ABORTS, PLAIN
from tests.backends.usb_trees import AFTER_FIRMWARE, BEFORE_FIRMWARE, USB_2, USB_3, Tree

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-c", "from edgebench.cli.main import main; main()"]
SMALL = (
    "run", "--device", "coral", "--depth", "0.25", "--scene", "scene.png", "--images", "images",
    "--sessions", "1", "--passes", "1",
)  # fmt: skip
USB_2_WARNING = "USB 2 (480 Mbit/s)"


@dataclass
class Bench:
    """A working folder, and what this machine has besides."""

    folder: Path
    cache: Path
    more: dict[str, str] = field(default_factory=dict)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("EDGEBENCH_")}
        own = {
            "EDGEBENCH_CACHE_DIR": str(self.cache),
            "EDGEBENCH_BOARD_DIR": str(self.folder / "board"),
            "EDGEBENCH_BOARD_LOCK": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "COLUMNS": "100",
            "PATH": "/usr/bin:/bin",
        }
        return subprocess.run(
            [*COMMAND, *words],
            cwd=self.folder,
            env=kept | own | self.more,
            capture_output=True,
            text=True,
            timeout=300,
        )

    def first_screen(self, name: str) -> str:
        """What the HTML report shows above the verdicts, as text."""
        page = (self.folder / "results" / name / "report.html").read_text()
        body = page.partition("<body")[2].partition('<details class="section"')[0]
        return html.unescape(re.sub(r"<[^>]+>", " ", body))


@pytest.fixture
def bench(tmp_path, session_cache, int8):
    """Nothing installed; the scene is two patches, and the int8 model is in the cache."""
    rng = np.random.default_rng(5)
    scene = Image.fromarray(rng.integers(0, 256, (224, 448, 3), np.uint8))
    scene.save(tmp_path / "scene.png")
    (tmp_path / "images").mkdir()
    scene.crop((0, 0, 224, 224)).save(tmp_path / "images" / "one.png")
    return Bench(tmp_path, session_cache.root)


@pytest.fixture
def equipped(bench, libraries, tmp_path):
    """All of it, with sticks still to be plugged in."""
    compiler = edgetpu_compiler.install(tmp_path / "bin")
    tree = Tree(tmp_path / "root")
    bench.more = {
        "PATH": f"{compiler.parent}:/usr/bin:/bin",
        "LD_LIBRARY_PATH": str(libraries.library(*PLAIN).parent),
        "PYTHONPATH": played_tpu.runtime(tmp_path / "played"),
        "EDGEBENCH_TEST_ROOT": str(tree.root),
    }
    return bench, tree


def test_usb_2_is_on_the_first_screen(equipped):
    bench, tree = equipped
    tree.stick(BEFORE_FIRMWARE, USB_2)
    done = bench.run(*SMALL, "--name", "slow", "--profile", "disco-realtime")
    assert done.returncode in {0, 3}, done.stderr
    assert USB_2_WARNING in " ".join(done.stdout.split())
    assert USB_2_WARNING in " ".join(bench.first_screen("slow").split())
    results = edgebench.load(bench.folder / "results" / "slow")
    [trial] = results.experiment.trials
    for record in results.session_records(trial.key):
        runtime = record.runtime
        assert runtime["runs_on"] == "edgetpu"
        assert runtime["usb"][0]["speed_mbps"] == 480.0
        assert runtime["firmware_before"] is False
        assert runtime["delegate_version"].endswith("RuntimeVersion(14)")
        assert (record.cold["first_inference_s"] or 0) > 0


def test_figures_of_the_processor_are_marked_everywhere(bench):
    done = bench.run(*SMALL, "--set", "allow-cpu=true", "--name", "cpu")
    assert done.returncode == 0, done.stderr
    printed = " ".join(done.stdout.split())
    assert "on the CPU" in printed
    assert "not compiled for the Edge TPU" in printed
    first = " ".join(bench.first_screen("cpu").split())
    assert "not compiled for the Edge TPU" in first
    assert "on the CPU" in (bench.folder / "results" / "cpu" / "report.html").read_text()
    judged = judge_folder(bench.folder / "results" / "cpu")
    for form in (".md", ".csv", ".json"):
        assert "on the CPU" in export(judged, bench.folder / f"exported{form}").read_text(), form
    [trial] = json.loads((bench.folder / "exported.json").read_text())["trials"]
    assert trial["marks"] == ["on the CPU"]


def test_without_compiler_and_artifact_it_says_what_to_do(bench):
    done = bench.run(*SMALL, "--name", "none")
    assert done.returncode == 1
    printed = " ".join(done.stderr.split())
    assert "edgetpu_compiler" in printed and "--artifact" in printed and "allow-cpu=true" in printed
    assert "Traceback" not in done.stderr
    written = re.search(r"(\S+/mobilenet_v1-0\.25-int8\.tflite)", printed)
    assert written, printed
    assert Path(written[1].lstrip("`")).is_file()


def test_artifact_is_a_flag_of_its_own_and_usb_3_no_warning(equipped, int8, tmp_path):
    bench, tree = equipped
    tree.stick(AFTER_FIRMWARE, USB_3)
    content, _ = edgetpu_compiler.compiled(int8.path.read_bytes())
    (tmp_path / "mine.tflite").write_bytes(content)
    bench.more["PATH"] = "/usr/bin:/bin"
    done = bench.run(*SMALL, "--artifact", "mine.tflite", "--name", "given")
    assert done.returncode == 0, done.stderr
    results = edgebench.load(bench.folder / "results" / "given")
    [record] = results.session_records(results.experiment.trials[0].key)
    assert record.runtime["runs_on"] == "edgetpu"
    assert record.runtime["usb"][0]["speed_mbps"] == 5000.0
    assert "USB 2" not in done.stdout + bench.first_screen("given")
    again = bench.run(*SMALL, "--artifact", "scene.png", "--name", "wrong")
    assert again.returncode in {1, 2}
    assert "scene.png" in again.stderr


def test_a_compiled_file_runs_alone_and_the_report_says_what_was_checked(equipped, int8):
    bench, tree = equipped
    tree.stick(AFTER_FIRMWARE, USB_3)
    content, _ = edgetpu_compiler.compiled(int8.path.read_bytes())
    (bench.folder / "x_edgetpu.tflite").write_bytes(content)
    (bench.folder / "labels.txt").write_text("\n".join(int8.class_names))
    bench.more["PATH"] = "/usr/bin:/bin"
    done = bench.run(
        *("run", "--device", "coral", "--model", "x_edgetpu.tflite", "--labels", "labels.txt", "--images"),
        *("images", "--scene", "scene.png", "--sessions", "1", "--passes", "1", "--name", "alone"),
    )
    assert done.returncode == 0, done.stderr
    results = edgebench.load(bench.folder / "results" / "alone")
    [record] = results.session_records(results.experiment.trials[0].key)
    assert record.runtime["runs_on"] == "edgetpu"
    assert record.golden is not None
    assert (record.golden.reference, record.golden.max_abs_diff, record.golden.n) == ("", 0.0, 0)
    page = (bench.folder / "results" / "alone" / "report.html").read_text()
    assert "no reference: shape, finite scores, and the same scores twice" in page


def test_float_models_are_refused_with_the_reason(bench):
    done = bench.run(*SMALL, "--precision", "fp32", "--set", "allow-cpu=true", "--name", "float")
    assert done.returncode != 0
    assert "int8" in done.stderr


def test_a_delegate_that_dies_fails_its_trial_with_the_cause(equipped, libraries):
    bench, tree = equipped
    tree.stick(AFTER_FIRMWARE, USB_3)
    bench.more["LD_LIBRARY_PATH"] = str(libraries.library(*ABORTS).parent)
    done = bench.run(*SMALL, "--name", "dies")
    assert done.returncode == 5, done.stderr
    printed = " ".join((done.stdout + done.stderr).split())
    assert "SIGABRT" in printed and "built against another TFLite" in printed
    first = " ".join(bench.first_screen("dies").split())
    assert "built against another TFLite" in first
