"""The firmware's core as programs of this machine, under AddressSanitizer and UBSan, and simulated boards."""

import pytest

from tests.backends.cortexm.host_programs import HostProgram, compile_program, require_compiler
from tests.backends.cortexm.simulated import Brightness, SimulatedDevice

KINDS = ("firmware", "simulator")
BANNER = ["m-timestamp-mode-performance", "m-init-done", "m-ready"]


@pytest.fixture(scope="session")
def host_firmware(tmp_path_factory):
    """The firmware on standard input and output, with the engine that needs no network."""
    require_compiler()
    return compile_program("host", tmp_path_factory.mktemp("host-firmware"))


@pytest.fixture(params=KINDS)
def device(request):
    """A board that has booted; the firmware's clock is slow, so that a busy machine is no silent line."""
    yield from booted(device_of(request, "--clock-speed", 1))


@pytest.fixture(params=KINDS)
def impatient_device(request):
    """A firmware whose clock runs three times too fast; the simulator's time goes by as a test waits."""
    yield from booted(device_of(request, "--clock-speed", 300))


@pytest.fixture(params=KINDS)
def wrapping_device(request):
    """One whose clock is about to wrap."""
    yield from booted(device_of(request, "--clock-us", 2**32 - 1, start_us=2**32 - 1))


@pytest.fixture(params=[pytest.param("firmware", marks=pytest.mark.slow), "simulator"])
def energy_device(request, tmp_path):
    """One that was built for energy measurements, and has not said its banner yet."""
    if request.param == "simulator":
        yield SimulatedDevice("energy")
    else:
        require_compiler()
        with HostProgram(compile_program("host", tmp_path, energy=True), "--stdio") as device:
            yield device


@pytest.fixture(params=[pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS])
def roomy_device(request, tmp_path):
    """One whose input takes more frames of one byte than there are sequence numbers."""
    input_bytes = 66_000
    if request.param == "simulator":
        yield from booted(SimulatedDevice(engine=Brightness(input_bytes)))
    else:
        require_compiler()
        program = compile_program("host", tmp_path, input_bytes=input_bytes)
        yield from booted(HostProgram(program, "--stdio", "--clock-speed", 1))


def device_of(request, *arguments, **simulated):
    if request.param == "simulator":
        return SimulatedDevice(**simulated)
    return HostProgram(request.getfixturevalue("host_firmware"), "--stdio", *arguments)


def booted(device):
    with device:
        assert device.answer() == BANNER
        yield device
