"""A board's folder that another user can write: what is there, and what is run from it."""

from __future__ import annotations

import grp
import hashlib
import json
import os
import pwd
import py_compile
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from edgebench.agent import bootstrap
from edgebench.agent.bootstrap import UnsafeFolder, make_private, require_private
from edgebench.agent.building import import_sent
from edgebench.agent.files import FileStore, WrongContent, _stamp
from edgebench.errors import NoPermissionError, SessionError, UnavailableError
from edgebench.link.local import agent_file, whole_agent
from tests.attacks.other_user import NOBODY, require_root
from tests.fakes import agent_backend
from tests.link.rig import make_rig

EVIL = b"raise SystemExit('the code of another user runs')\n"


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    return make_rig(tmp_path_factory.mktemp("rig"))


def world_writable(folder: Path) -> Path:
    folder.chmod(0o777)
    return folder


def sticky(folder: Path) -> Path:
    folder.chmod(0o1777)
    return folder


def below_writable(folder: Path) -> Path:
    world_writable(folder)
    (folder / "board").mkdir(mode=0o700)
    return folder / "board"


def of_a_group(folder: Path) -> Path:
    require_root()
    os.chown(folder, 0, NOBODY)
    folder.chmod(0o770)
    return folder


def of_another(folder: Path) -> Path:
    require_root()
    os.chown(folder, NOBODY, NOBODY)
    return folder


def behind_a_link_of_another(folder: Path) -> Path:
    require_root()
    folder.chmod(0o1777)
    (folder / "mine").mkdir(mode=0o700)
    (folder / "link").symlink_to(folder / "mine")
    os.chown(folder / "link", NOBODY, NOBODY, follow_symlinks=False)
    return folder / "link"


def behind_a_writable_link(folder: Path) -> Path:
    """The link is one's own, and on the way to it lies a folder where anybody could put another."""
    (folder / "open").mkdir()
    (folder / "mine").mkdir(mode=0o700)
    (folder / "open" / "link").symlink_to("../mine")
    (folder / "open").chmod(0o777)
    (folder / "link").symlink_to("open/link")
    return folder / "link"


def with_an_access_list(folder: Path) -> Path:
    """It lets another user write; only the mask shows, as the bits of a group that is one's own."""
    entries = [(0x01, 7, -1), (0x02, 7, NOBODY), (0x04, 5, -1), (0x10, 7, -1), (0x20, 0, -1)]
    packed = b"".join(struct.pack("<HHi", *entry) for entry in entries)
    try:
        os.setxattr(folder, bootstrap.ACL, struct.pack("<I", 2) + packed)
    except OSError as error:
        pytest.skip(f"no access lists here: {error}")
    return folder


UNSAFE = [
    pytest.param(world_writable, "can be written by other users", id="anybody writes it"),
    pytest.param(sticky, "can be written by other users", id="anybody puts files there"),
    pytest.param(below_writable, "can be written by other users", id="anybody writes the one above"),
    pytest.param(of_a_group, "can be written by other users", id="a group writes it"),
    pytest.param(with_an_access_list, "can be written by other users", id="an access list lets another"),
    pytest.param(of_another, "belongs to another user", id="it belongs to another"),
    pytest.param(behind_a_link_of_another, "belongs to another user", id="a link of another's"),
    pytest.param(behind_a_writable_link, "can be written by other users", id="a link among others' files"),
]


@pytest.mark.attack(
    "EDGEBENCH_BOARD_DIR, or a folder or link on its way, is another user's to write: refused with the fix"
)
@pytest.mark.parametrize(("make", "why"), UNSAFE)
def test_a_folder_that_another_user_can_write_is_refused(tmp_path, make, why):
    folder = make(tmp_path)
    with pytest.raises(UnsafeFolder, match=why) as caught:
        require_private(str(folder))
    assert "set EDGEBENCH_BOARD_DIR" in str(caught.value)


def test_a_folder_of_ones_own_is_taken(tmp_path):
    require_private("/")
    (tmp_path / "open").mkdir()
    sticky(tmp_path / "open")
    (tmp_path / "open" / "board").mkdir(mode=0o700)
    require_private(str(tmp_path / "open" / "board"))
    (tmp_path / "link").symlink_to("open/../open/./board")
    require_private(str(tmp_path / "link"))
    (tmp_path / "board").mkdir()
    (tmp_path / "board").chmod(0o775)  # as a umask of 002 makes it, for a group of one's own
    if os.geteuid() == 0:
        require_private(str(tmp_path / "board"))
    with pytest.raises(FileNotFoundError):
        require_private(str(tmp_path / "none"))
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(OSError, match="symbolic links"):
        require_private(str(tmp_path / "round"))


@pytest.mark.attack("another user has this user's group as primary group: a folder that it writes is refused")
def test_a_group_is_not_private_where_it_is_anothers_primary_group(tmp_path, monkeypatch):
    monkeypatch.setattr(bootstrap, "_primary_members", bootstrap._primary_members.__wrapped__)
    me = pwd.getpwuid(os.geteuid())
    tmp_path.chmod(0o770)
    os.chown(tmp_path, me.pw_uid, me.pw_gid)
    monkeypatch.setattr(grp, "getgrgid", lambda _: grp.struct_group((me.pw_name, "x", me.pw_gid, [])))
    for others, refused in (([], False), ([4711], True)):
        users = [me, *(pwd.struct_passwd(("ann", "x", uid, me.pw_gid, "", "/", "")) for uid in others)]
        monkeypatch.setattr(pwd, "getpwall", lambda users=users: users)
        assert bootstrap.others_write(str(tmp_path), tmp_path.stat()) is refused


@pytest.mark.attack("a umask of 0: the folders that are made on the way to the board's are this user's alone")
def test_what_is_made_on_the_way_is_private(tmp_path):
    folder = tmp_path / "cache" / "edgebench" / "board"
    before = os.umask(0)
    try:
        make_private(str(folder))
        store = FileStore(str(tmp_path / "cache" / "other" / "board"))
        store.put(hashlib.sha256().hexdigest(), 0, b"", last=True)
    finally:
        os.umask(before)
    require_private(str(folder))
    make_private(str(folder))
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        make_private(str(tmp_path / "file"))


@pytest.mark.attack("a folder in which others write, on a board over SSH: the agent is not put there")
def test_no_agent_is_put_where_another_could_replace_it(tmp_path):
    world_writable(tmp_path)
    code = "from edgebench.agent.bootstrap import become_agent; become_agent('0' * 64, 10)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, bootstrap.ENVIRONMENT: str(tmp_path)},
        capture_output=True,
        timeout=60,
    )
    answer = json.loads(done.stdout.decode().removeprefix(bootstrap.MARK))
    assert (done.returncode, answer["state"], answer["unsafe"]) == (3, "failed", True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.attack("the agent on the board can be written by others: it is sent again, and not run")
def test_an_agent_that_others_can_write_is_sent_again(tmp_path):
    (tmp_path / "agent.pyz").write_bytes(EVIL)
    (tmp_path / "agent.pyz").chmod(0o600)
    assert bootstrap.digest_of(str(tmp_path / "agent.pyz")) == hashlib.sha256(EVIL).hexdigest()
    (tmp_path / "agent.pyz").chmod(0o666)
    assert bootstrap.digest_of(str(tmp_path / "agent.pyz")) == ""


@pytest.mark.attack(
    "the agent's file is damaged during a run: the session fails, and the next has a whole one"
)
def test_a_damaged_agent_is_made_again(tmp_path):
    rig = make_rig(tmp_path)
    device = rig.device()
    agent, _ = agent_file(rig.cache)
    whole = agent.read_bytes()
    try:
        agent.write_bytes(whole[:-1] + b"#")
        with pytest.raises(SessionError) as caught, device.session(rig.artifact(), rig.settings()):
            pass
        assert caught.value.status == "error"
        assert "file was damaged" in caught.value.why
        with device.session(rig.artifact(), rig.settings()) as session:
            session.golden()
        assert agent.read_bytes() == whole
    finally:
        device.close()


def test_an_agent_that_cannot_be_made_again_is_an_error_with_its_reason(tmp_path):
    with pytest.raises(UnavailableError, match="is damaged"):
        whole_agent(tmp_path / f"{'0' * 64}.pyz")
    (tmp_path / "agent.py").write_bytes(b"pass")
    assert whole_agent(tmp_path / "agent.py") == b"pass"


@pytest.mark.attack("this machine's EDGEBENCH_BOARD_DIR can be written by others: no session starts there")
def test_a_device_with_an_unsafe_folder_is_not_opened(rig, tmp_path, monkeypatch):
    monkeypatch.setenv(bootstrap.ENVIRONMENT, str(world_writable(tmp_path)))
    with pytest.raises(NoPermissionError, match="not safe from other users") as caught:
        rig.device()
    assert "can be written by other users" in caught.value.why
    assert "chmod go-w" in caught.value.fix


@pytest.mark.attack(
    "a file in the board's folder is made writable for others: it is sent again, and not loaded"
)
def test_a_file_that_others_can_write_is_not_had(tmp_path):
    store = FileStore(str(tmp_path / "board"))
    name = hashlib.sha256(b"data").hexdigest()
    path = Path(store.put(name, 0, b"data", last=True))
    assert path.stat().st_mode & 0o777 == 0o600
    assert store.have(name)
    path.chmod(0o666)
    assert store.have(name) is None
    store.put(name, 0, b"data", last=True)
    assert store.have(name) and path.stat().st_mode & 0o777 == 0o600


@pytest.mark.attack(
    "a link takes the place of a file or its note is to be written: what it leads to stays as it is"
)
@pytest.mark.parametrize("suffix", ["", ".ok", ".{pid}.part"])
def test_nothing_is_written_through_a_link(tmp_path, suffix):
    (tmp_path / "mine").write_bytes(b"precious")
    store = FileStore(str(tmp_path / "board"))
    name = hashlib.sha256(b"data").hexdigest()
    (tmp_path / "board").mkdir(mode=0o700)
    (tmp_path / "board" / f"{name}{suffix.format(pid=os.getpid())}").symlink_to(tmp_path / "mine")
    store.put(name, 0, b"data", last=True)
    assert store.have(name)
    assert (tmp_path / "mine").read_bytes() == b"precious"


@pytest.fixture(scope="module")
def placed(rig, tmp_path_factory):
    """A board's folder with all that a session takes, and a device on it that has verified none of it yet."""
    folder = tmp_path_factory.mktemp("placed")
    device = rig.device(folder=folder)
    measure(rig, device)
    device.close()
    device = rig.device(folder=folder)
    yield folder, device
    device.close()


def measure(rig, device):
    with device.session(rig.artifact(), rig.settings()) as session:
        session.golden()
        list(session.measure(rig.plan(passes=1)))
        session.predict(rig.images)


@pytest.mark.attack(
    "a placed file (code, artifact, pictures) is replaced with its note: not loaded, the session fails"
)
@pytest.mark.parametrize("what", ["runner", "artifact", "golden", "scene", "images"])
def test_what_was_replaced_with_its_note_is_not_loaded(rig, placed, what):
    folder, device = placed
    artifact = rig.artifact()
    sha256 = {
        "runner": hashlib.sha256(agent_backend("toy").runner_files()[0].read_bytes()).hexdigest(),
        "artifact": artifact.sha256,
        "golden": artifact.golden.patches_sha256,
        "scene": rig.scene.sha256,
        "images": rig.images.sha256,
    }[what]
    (path,) = [path for path in folder.glob(f"{sha256}*") if path.suffix != ".ok"]
    original = path.read_bytes()
    path.write_bytes(EVIL)
    Path(f"{path}.ok").write_text(_stamp(str(path)))
    with pytest.raises(SessionError) as caught:
        measure(rig, device)
    path.write_bytes(original)
    Path(f"{path}.ok").write_text(_stamp(str(path)))
    assert "WrongContent" in caught.value.why
    assert sha256[:12] in caught.value.why


@pytest.mark.attack("a .pyc of other code is next to a runner: it is not read")
def test_code_is_run_from_the_bytes_that_were_hashed(tmp_path, monkeypatch):
    path = tmp_path / "runner.py"
    path.write_bytes(b"WHOSE = 'theirs'\n")
    py_compile.compile(str(path), doraise=True)
    about = path.stat()
    path.write_bytes(b"WHOSE = 'my own'\n")
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()

    def run(sha256):
        package = "edgebench_attack"
        code = {"entry": "runner", "files": {"runner": {"path": str(path), "sha256": sha256}}}
        monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
        for name in (package, f"{package}.runner"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        return import_sent(package, code)

    assert run(sha256).WHOSE == "my own"
    with pytest.raises(WrongContent, match="begins with"):
        run("0" * 64)
