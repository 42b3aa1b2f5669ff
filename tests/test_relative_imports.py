"""What a file takes in by relative imports travels with it, and nothing else."""

from edgebench.installed import with_relative_imports


def write(folder, **files):
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_imports_are_followed_up_down_and_by_way_of_others(tmp_path):
    write(
        tmp_path,
        meters__one="import os\nfrom .rails import x\nfrom . import words\n\n\ndef f():\n"
        "    from ..basics import y\n",
        meters__rails="from .deep.inner import z\nfrom .one import back\n",
        meters__words="",
        meters__other="",
        meters__deep__inner="from ..missing import nothing\n",
        basics="",
        stranger="",
    )
    entry = tmp_path / "meters" / "one.py"
    travelling = with_relative_imports([entry])
    assert travelling[0] == entry
    names = {str(path.relative_to(tmp_path)) for path in travelling}
    assert names == {
        "meters/one.py",
        "meters/rails.py",
        "meters/words.py",
        "meters/deep/inner.py",
        "basics.py",
    }
    assert len(travelling) == len(names)


def test_a_package_is_its_init(tmp_path):
    write(tmp_path, one="from .parts import name\n")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").write_text("from .inside import name\n")
    (tmp_path / "parts" / "inside.py").write_text("name = 1\n")
    names = [str(path.relative_to(tmp_path)) for path in with_relative_imports([tmp_path / "one.py"])]
    assert names == ["one.py", "parts/__init__.py", "parts/inside.py"]
