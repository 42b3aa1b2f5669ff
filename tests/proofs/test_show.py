import pytest

from edgebench.errors import UsageError
from proofs import __main__ as command
from proofs.show import BEGIN, END, markdown, put, renewed
from proofs.topic import FULL, Row, Topic

ROWS = (Row(("first", "95.0"), True), Row(("second", "12.3"), False), Row(("third", "4.0"), None))
TOPIC = Topic("toy", "A toy", "It holds.", ("case", "share"), ROWS)


def test_the_last_column_says_what_is_kept():
    assert [row.word for row in ROWS] == ["met", "MISSED", ""]
    assert not TOPIC.met
    assert Topic("toy", "A toy", "It holds.", ("case", "share"), (ROWS[0], ROWS[2])).met


def test_markdown_has_a_line_a_case():
    text = markdown([TOPIC], "10 experiments.")
    assert "### A toy" in text
    assert "| second | 12.3 | MISSED |" in text
    assert text.startswith("10 experiments.\n")


def test_the_tables_replace_what_lies_between_the_markers(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(f"# Page\n\n{BEGIN}\nold\n{END}\n\nThe end.\n")
    put(path, "new\n")
    assert path.read_text() == f"# Page\n\n{BEGIN}\n\nnew\n\n{END}\n\nThe end.\n"
    put(path, "newer\n")
    assert path.read_text() == f"# Page\n\n{BEGIN}\n\nnewer\n\n{END}\n\nThe end.\n"


def test_one_topic_is_renewed_among_the_others(tmp_path):
    path = tmp_path / "page.md"
    other = Topic("other", "Another", "It holds too.", ("case", "share"), ROWS[:1])
    assert renewed(path, [TOPIC], "10 experiments.") == markdown([TOPIC], "10 experiments.")
    path.write_text(f"{BEGIN}\n\n{markdown([TOPIC, other], '10 experiments.')}\n{END}\n")
    anew = Topic("toy", "A toy", "It holds.", ("case", "share"), ROWS[2:])
    new = Topic("new", "A new one", "It holds.", ("case", "share"), ROWS)
    assert renewed(path, [new, anew], "10 experiments.") == markdown([anew, other, new], "10 experiments.")
    with pytest.raises(UsageError, match="another size"):
        renewed(path, [anew], "20 experiments.")


def test_a_file_without_markers_is_left_alone(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("# Page\n")
    with pytest.raises(UsageError):
        put(path, "new\n")
    assert path.read_text() == "# Page\n"


def test_the_command_prints_writes_and_says_whether_all_is_kept(tmp_path, capsys, monkeypatch):
    path = tmp_path / "new.md"
    good = Topic("toy", "A toy", "It holds.", ("case", "share"), ROWS[:1])
    monkeypatch.setattr(command, "PROOFS", {"toy": lambda size: good})
    assert command.main(["--size", "small", "--output", str(path)]) == 0
    assert "every claim is kept" in capsys.readouterr().out
    assert path.read_text().startswith("2,000 experiments a case")
    monkeypatch.setattr(command, "PROOFS", {"toy": lambda size: TOPIC})
    assert command.main(["--only", "toy"]) == 1
    assert "not kept: toy" in capsys.readouterr().out
    (tmp_path / "other.md").write_text("text")
    monkeypatch.setattr(command, "PROOFS", {"toy": lambda size: good})
    assert command.main(["--output", str(tmp_path / "other.md")]) == 2


def test_how_many_processes_share_the_topics_changes_no_table(capsys):
    words = ["--size", "small", "--only", "coverage", "--only", "scatter"]
    assert [command.main([*words, "--processes", count]) for count in ("1", "2")] == [0, 0]
    printed = capsys.readouterr().out
    assert printed[: len(printed) // 2] == printed[len(printed) // 2 :]


def test_at_full_size_every_case_has_at_least_a_thousand_experiments():
    assert min(FULL.experiments, FULL.single) >= 1_000
