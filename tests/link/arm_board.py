"""A board with an ARM processor, emulated program by program: Debian for arm64 with an sshd of its own.

The sshd runs in namespaces of its own below the root that `arm_root` made. Every program that it starts is
emulated by qemu-user-static, which the kernel finds through binfmt_misc. Times mean nothing there.
"""

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.link import sshd

BINFMT = Path("/proc/sys/fs/binfmt_misc")
HANDLER = Path("/usr/lib/binfmt.d/qemu-aarch64.conf")
START_S = 120.0
PROCESSOR = "cortex-a72"

# LiteRT's cpuinfo library reads the kernel's table and not the processor: an x86 table ends it by SIGSEGV.
CPUINFO = "\n".join(
    f"processor\t: {core}\nBogoMIPS\t: 108.00\nFeatures\t: fp asimd evtstrm crc32 cpuid\n"
    "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd08\nCPU revision\t: 3\n"
    for core in range(2)
)

# In namespaces of its own, so that all of it goes with its first process.
START = """
set -e
mount -t proc proc "$1/proc"
mount --bind "$2/cpuinfo" "$1/proc/cpuinfo"
mount --rbind /dev "$1/dev"
mount -t sysfs -o ro sysfs "$1/sys"
mount -t tmpfs tmpfs "$1/tmp"
mkdir -p "$1/run/sshd" "$1$2"
mount --bind "$2" "$1$2"
exec chroot "$1" /usr/sbin/sshd -D -e -f "$2/sshd_config"
"""


@dataclass
class ArmBoard(sshd.Board):
    """A `Board` that is emulated; `root` is where its system lies."""

    root: Path = Path("/")

    def start(self) -> None:
        """Start its sshd and wait for it; RuntimeError with the log where it does not come."""
        log = self.folder / "sshd.log"
        with log.open("ab") as out:
            self._server = subprocess.Popen(
                [
                    *("unshare", "--mount", "--pid", "--fork", "--kill-child"),
                    *("sh", "-c", START, "sh", str(self.root), str(self.folder)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )
        deadline = time.monotonic() + START_S
        while not self._greets():
            if self._server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the emulated sshd does not start: {log.read_text()[-2000:]}")
            time.sleep(0.2)

    def _greets(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 5.0) as client:
            return client.recv(4) == b"SSH-"
        return False


def make_arm_board(root: Path, folder: Path) -> ArmBoard:
    """Keys, configurations and a free port; not started."""
    board = sshd.make_board(folder, environment={"QEMU_CPU": PROCESSOR})
    (folder / "cpuinfo").write_text(CPUINFO)
    _unlock(root, folder)
    return ArmBoard(board.folder, board.port, board.settings, root=root)


def _unlock(root: Path, folder: Path) -> None:
    """Without PAM an sshd refuses an account whose password is locked."""
    shadow = root / "etc" / "shadow"
    lines = shadow.read_text().splitlines()
    lines = [line.replace("root:!", "root:*", 1) for line in lines]
    shadow.write_text("\n".join(lines) + "\n")


@contextlib.contextmanager
def emulation() -> Iterator[None]:
    """The kernel hands programs for arm64 to qemu; what was not there before goes again."""
    mounted = not (BINFMT / "register").exists()
    if mounted:
        subprocess.run(["mount", "-t", "binfmt_misc", "binfmt_misc", str(BINFMT)], check=True)
    entry = BINFMT / "qemu-aarch64"
    registered = not entry.exists()
    try:
        if registered:
            shutil.copyfile(HANDLER, BINFMT / "register")
        yield
    finally:
        if registered and entry.exists():
            entry.write_text("-1")
        if mounted:
            subprocess.run(["umount", str(BINFMT)], check=False)
