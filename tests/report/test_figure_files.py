"""A report's figures as files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from edgebench.errors import StoredResultError, UsageError
from edgebench.judge.judged import Judged
from edgebench.judge.published import judge_published
from edgebench.report.plots.pictures import figures_of, require_figures_folder, write_figures

BEGINNINGS = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}


def test_every_figure_has_a_file_of_each_form(bare: Judged, tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    written = write_figures(bare, folder)
    assert sorted(folder.iterdir()) == sorted(written)
    names = {path.stem for path in written}
    assert {"latency", "targets", "sessions", "stages"} <= names
    assert len(written) == 3 * len(names)
    for path in written:
        assert path.read_bytes().startswith(BEGINNINGS[path.suffix])


def test_a_report_that_has_them_gives_power_and_the_scene_too(hostile: Judged, whole: Judged) -> None:
    assert {"power-over-time", "energy", "accuracy", "scene"} <= set(figures_of(hostile))
    assert {"scene", "accuracy"} <= set(figures_of(whole))
    assert not {"energy", "sustained"} & set(figures_of(whole))


def test_published_figures_are_drawn_and_a_plan_alone_has_none(nothing: Judged, tmp_path: Path) -> None:
    assert {"latency", "targets"} <= set(figures_of(judge_published(None)))
    assert write_figures(nothing, tmp_path / "none") == []
    assert not (tmp_path / "none").exists()


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(UsageError, match="is no folder"):
        require_figures_folder(file)
    with pytest.raises(UsageError, match="there is no folder"):
        require_figures_folder(tmp_path / "no" / "such")
    require_figures_folder(tmp_path / "new")
    assert not (tmp_path / "new").exists()
    if os.geteuid() != 0:
        locked = tmp_path / "locked"
        locked.mkdir(mode=0o500)
        with pytest.raises(StoredResultError, match="cannot be written"):
            require_figures_folder(locked / "new")


def test_a_disk_that_fills_is_said(bare: Judged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("edgebench.files.write_atomically", full)
    with pytest.raises(StoredResultError, match=r"latency\.svg cannot be written") as caught:
        write_figures(bare, tmp_path)
    assert "No space left" in str(caught.value.why)
