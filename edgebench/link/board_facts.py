"""A board's facts as far as the host believes them: each of the right kind and size, or None."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, WrapValidator

from edgebench.vocabulary.values import Json


def _or_none(value: Any, validate: Callable[[Any], Any]) -> Any:
    try:
        return validate(value)
    except ValidationError:
        return None


Unless = WrapValidator(_or_none)
Text = Annotated[str, Field(max_length=500)]
Bytes = Annotated[int, Field(ge=0)]


class PowerMode(BaseModel):
    """The mode that nvpmodel has set."""

    id: Annotated[int, Field(ge=0, le=9999)]
    name: Text | None = None


class PinnedClocks(BaseModel):
    """Whether a clock is held at one frequency, as by jetson_clocks; None where that cannot be read."""

    cpu: bool | None = None
    gpu: bool | None = None


class UsbAccelerator(BaseModel):
    """A known accelerator on the board's USB."""

    id: Text
    name: Text
    speed_mbps: FiniteFloat | None = None
    writable: bool | None = None


class PcieAccelerator(BaseModel):
    """A known accelerator on the board's PCIe."""

    name: Text
    temperature_c: FiniteFloat | None = None
    writable: bool | None = None


class ClockLimits(BaseModel):
    """The clocks, in MHz, that a unit is held between."""

    min: FiniteFloat
    max: FiniteFloat


class Gpu(BaseModel):
    """The board's NVIDIA GPU; `usable` says whether this user may open its driver."""

    name: Text
    clocks_mhz: ClockLimits | None = None
    usable: bool | None = None


class NvidiaLibraries(BaseModel):
    """What of TensorRT and CUDA lies on the board, whatever its Python sees."""

    nvinfer: Text | None = None
    cudart: Text | None = None
    system_tensorrt: Text | None = None


class OpenvinoFiles(BaseModel):
    """What the OpenVINO that the board's Python finds is made of."""

    plugins: Annotated[list[Text], Field(max_length=16)]
    firmware: Annotated[list[Text], Field(max_length=16)]


class BoardFacts(BaseModel):
    """What findings are made of; the names are those of edgebench.agent.facts."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    board: Annotated[Text | None, Unless] = None
    soc: Annotated[Text | None, Unless] = None
    cpu: Annotated[Text | None, Unless] = None
    cores: Annotated[int | None, Field(ge=1), Unless] = None
    memory_bytes: Annotated[Bytes | None, Unless] = None
    memory_available_bytes: Annotated[Bytes | None, Unless] = None
    disk_available_bytes: Annotated[Bytes | None, Unless] = None
    disk_kept_bytes: Annotated[Bytes | None, Unless] = None
    os: Annotated[Text | None, Unless] = None
    kernel: Annotated[Text | None, Unless] = None
    machine: Annotated[Text | None, Unless] = None
    l4t: Annotated[Text | None, Unless] = None
    python: Annotated[Text | None, Unless] = None
    python_bits: Annotated[int | None, Unless] = None
    python_externally_managed: Annotated[bool | None, Unless] = None
    python_executable: Annotated[Text | None, Unless] = None
    governor: Annotated[Text | None, Unless] = None
    clock_now_mhz: Annotated[FiniteFloat | None, Unless] = None
    clock_min_mhz: Annotated[FiniteFloat | None, Unless] = None
    clock_limit_mhz: Annotated[FiniteFloat | None, Unless] = None
    clock_max_mhz: Annotated[FiniteFloat | None, Unless] = None
    power_mode: Annotated[PowerMode | None, Unless] = None
    power_modes: Annotated[
        dict[Annotated[str, Field(pattern=r"^[0-9]{1,4}$")], Text] | None, Field(max_length=64), Unless
    ] = None
    pinned_clocks: Annotated[PinnedClocks | None, Unless] = None
    usb_accelerators: Annotated[list[UsbAccelerator] | None, Field(max_length=64), Unless] = None
    pcie_accelerators: Annotated[list[PcieAccelerator] | None, Field(max_length=64), Unless] = None
    libraries: Annotated[dict[Text, Text] | None, Field(max_length=64), Unless] = None
    openvino: Annotated[OpenvinoFiles | None, Unless] = None
    gpu: Annotated[Gpu | None, Unless] = None
    nvidia_libraries: Annotated[NvidiaLibraries | None, Unless] = None
    load_average: Annotated[list[FiniteFloat] | None, Field(min_length=1, max_length=3), Unless] = None
    temperatures_c: Annotated[dict[Text, FiniteFloat] | None, Field(max_length=64), Unless] = None
    timer_resolution_ns: Annotated[FiniteFloat | None, Unless] = None
    packages: Annotated[dict[Text, Text] | None, Field(max_length=100), Unless] = None

    @classmethod
    def of(cls, facts: Mapping[str, Json]) -> BoardFacts:
        """The facts that are what they should be."""
        return cls.model_validate(dict(facts))
