"""Flashing: which programs are called how, which files are refused, what failures report."""

import importlib
import struct

import pytest

from edgebench.errors import InputError, UnavailableError, UnsupportedError, UsageError
from tests.backends.cortexm.elf_files import elf
from tests.backends.cortexm.flashing_programs import FlashingPrograms

boards = importlib.import_module("edgebench.backends.cortexm.boards")
flashing = importlib.import_module("edgebench.backends.cortexm.firmware_supply")

NUCLEO = boards.board_of("nucleo-h743zi2")
FLASH = 0x0800_0000
GOOD = elf([(".text", 1, 6, FLASH, 300)], [(FLASH, 300)])
OPENOCD = [
    *("-c", "gdb_port disabled", "-c", "tcl_port disabled", "-c", "telnet_port disabled"),
    *("-f", "interface/stlink.cfg"),
]
PROGRAM = ["-f", "target/stm32h7x_dual_bank.cfg", "-c", "program firmware.elf verify reset exit"]


@pytest.fixture
def programs(tmp_path, monkeypatch):
    return FlashingPrograms(tmp_path, monkeypatch)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "firmware of mine.elf"
    path.write_bytes(GOOD)
    return path


def flash(file, **more):
    notes: list[str] = []
    flashing.flash(more.pop("board", NUCLEO), file, notes.append, **more)
    return notes


def test_openocd_gets_the_file(programs, file):
    programs.install("openocd")
    notes = flash(file)
    [(program, words, files)] = programs.calls
    assert (program, words) == ("openocd", [*OPENOCD, *PROGRAM])
    assert files["firmware.elf"] == GOOD
    assert "openocd" in notes[0] and len(notes) == 2


def test_openocd_takes_the_serial_number_before_the_target(programs, file):
    programs.install("openocd")
    flash(file, serial="0671FF5252")
    assert programs.calls[0][1] == [*OPENOCD, "-c", "adapter serial 0671FF5252", *PROGRAM]


def test_what_is_not_installed(programs, file):
    with pytest.raises(UnavailableError) as refused:
        flash(file)
    assert refused.value.fix == "apt install openocd"


@pytest.mark.attack("openocd fails and writes a lot: its exit code and the last 2,000 characters are shown")
def test_what_a_program_wrote_is_shown(programs, file):
    programs.install("openocd")
    programs.behave("x" * 5000 + "Error: open failed", exit_code=1)
    with pytest.raises(flashing.FlashError) as failed:
        flash(file)
    assert failed.value.what == "openocd ended with 1"
    assert failed.value.why.endswith("Error: open failed") and len(failed.value.why) == 2000
    assert "ST-LINK" in failed.value.fix


@pytest.mark.attack("openocd does not end: it is stopped, with what it wrote")
def test_a_program_that_does_not_end_is_ended(programs, file, monkeypatch):
    programs.install("openocd")
    programs.behave("waiting for the target", sleep_s=60)
    monkeypatch.setattr(flashing, "LONGEST_S", 1.0)
    with pytest.raises(flashing.FlashError) as failed:
        flash(file)
    assert failed.value.what == "openocd has not ended within 1 s"
    assert failed.value.why == "waiting for the target"


@pytest.mark.attack(
    "a file's name or a serial number is written like an option or a command: it never is one"
)
def test_names_reach_no_program(programs, tmp_path):
    programs.install("openocd")
    file = tmp_path / "-c shutdown; $(reboot) [exec reboot].elf"
    file.write_bytes(GOOD)
    flash(file)
    assert programs.calls[0][1] == [*OPENOCD, *PROGRAM]
    for serial in ("", "-c", "1 ; shutdown", "[exec reboot]", "1" * 65, "1\n"):
        with pytest.raises(UsageError):
            flash(file, serial=serial)
    assert len(programs.calls) == 1


@pytest.mark.parametrize(
    ("data", "error", "says"),
    [
        pytest.param(b"", InputError, "32-bit", id="empty"),
        pytest.param(b"\x7fELF\x01\x01", InputError, "cut off", id="a-header's-beginning"),
        pytest.param(GOOD[:0x40], InputError, "", id="cut-off"),
        pytest.param(elf([(".text", 1, 6, FLASH, 8)], [(FLASH, 8)], machine=62), InputError, "Arm", id="x86"),
        pytest.param(elf([(".text", 1, 6, FLASH, 8)], [(FLASH, 8)], kind=1), InputError, "Arm", id="object"),
        pytest.param(elf([(".text", 1, 6, FLASH, 8)]), InputError, "nothing", id="nothing-loaded"),
        pytest.param(elf([(".text", 1, 6, 0, 8)], [(0, 8)]), InputError, "0x08000000", id="another-board"),
        pytest.param(
            elf([(".text", 1, 6, FLASH, 8)], [(FLASH, 8), (FLASH + (2 << 20) - 4, 8)]),
            InputError,
            "0x08200004",
            id="beyond-its-flash",
        ),
        pytest.param(
            elf([(".text", 1, 6, FLASH, (2 << 20) + 7)], [(FLASH, 8)]),
            UnsupportedError,
            "FLASH takes 7 bytes more than the board's 2,097,152",
            id="too-large",
        ),
        pytest.param(
            elf([(".bss", 8, 3, 0x2400_0000, (512 << 10) + 1)], [(FLASH, 8)]),
            UnsupportedError,
            "RAM takes 1 bytes more",
            id="too-much-memory",
        ),
        pytest.param(GOOD[:0x32] + struct.pack("<H", 9) + GOOD[0x34:], InputError, "", id="names-elsewhere"),
    ],
)
@pytest.mark.attack(
    "a file that is no firmware for the board is flashed: refused before any program is called"
)
def test_files_that_are_refused(programs, file, data, error, says):
    programs.install("openocd")
    file.write_bytes(data)
    with pytest.raises(error) as refused:
        flash(file)
    assert says in refused.value.why
    assert programs.calls == []


def test_a_file_for_another_board_is_told_which(programs, file):
    programs.install("openocd")
    file.write_bytes(elf([(".text", 1, 6, 0, 8)], [(0, 8)]))
    with pytest.raises(InputError) as refused:
        flash(file)
    assert refused.value.fix == "--board mps2-an500"


def test_an_emulated_board_is_refused(programs, file):
    programs.install("openocd")
    with pytest.raises(UsageError) as refused:
        flash(file, board=boards.board_of("mps2-an500"))
    assert "QEMU" in refused.value.why
    assert programs.calls == []
