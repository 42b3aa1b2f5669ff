"""A board's facts as far as the host believes them: each of the right kind and size, else None."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, WrapValidator

from edgebench.records.target import ARCHITECTURES, BOARD_FIGURES, BoardFigure, DeclaredBoard
from edgebench.records.values import Finding, Json


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
    """What the board has of TensorRT and CUDA, whatever its Python sees."""

    nvinfer: Text | None = None
    cudart: Text | None = None
    system_tensorrt: Text | None = None


class OpenvinoFiles(BaseModel):
    """What the OpenVINO that the board's Python finds is made of."""

    plugins: list[Text]
    firmware: list[Text]


class BoardFacts(BaseModel):
    """What findings are made of; the names are those of edgebench.agent.facts."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    board: Annotated[Text | None, Unless] = None
    soc: Annotated[Text | None, Unless] = None
    cpu: Annotated[Text | None, Unless] = None
    cores: Annotated[int | None, Field(ge=1), Unless] = None
    cpu_quota_cores: Annotated[int | None, Field(ge=1), Unless] = None
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
    power_modes: Annotated[dict[Annotated[str, Field(pattern=r"^[0-9]{1,4}$")], Text] | None, Unless] = None
    pinned_clocks: Annotated[PinnedClocks | None, Unless] = None
    usb_accelerators: Annotated[list[UsbAccelerator] | None, Unless] = None
    pcie_accelerators: Annotated[list[PcieAccelerator] | None, Unless] = None
    libraries: Annotated[dict[Text, Text] | None, Unless] = None
    openvino: Annotated[OpenvinoFiles | None, Unless] = None
    gpu: Annotated[Gpu | None, Unless] = None
    nvidia_libraries: Annotated[NvidiaLibraries | None, Unless] = None
    load_average: Annotated[list[FiniteFloat] | None, Field(min_length=1, max_length=3), Unless] = None
    temperatures_c: Annotated[dict[Text, FiniteFloat] | None, Unless] = None
    timer_resolution_ns: Annotated[FiniteFloat | None, Unless] = None
    packages: Annotated[dict[Text, Text] | None, Unless] = None

    @classmethod
    def of(cls, facts: Mapping[str, Json]) -> BoardFacts:
        """The facts that are what they should be."""
        return cls.model_validate(dict(facts))


# Whether a machine is the board that it was declared to be, by what it calls itself.


def unconfirmed(boards: Sequence[DeclaredBoard], model: str | None) -> str:
    """That a machine says otherwise, or nothing, of being one of these boards; "" where it is one.

    Args:
        boards: what it was declared to be; "" is returned without any.
        model: what its device tree or DMI calls it; None where neither can be read.
    """
    if not boards or (model is not None and any(_is_called(model, board.models) for board in boards)):
        return ""
    declared = f"declared as {_titles(boards)}"
    if model is None:
        return f"{declared}, and does not say what it is"
    if not any(board.models for board in boards):
        declared += ", and no source says what it calls itself"
    return f"{declared}, and calls itself {model}"


def contradiction(boards: Sequence[DeclaredBoard], facts: BoardFacts) -> str:
    """In which words a machine says that it is not one of these boards; "" where it may be one.

    Only a whole computer can be contradicted. What a machine does not say contradicts nothing.

    Args:
        boards: what it was declared to be; "" is returned without any.
        facts: what it says of its model, processor and architecture.
    """
    if any(_may_be(board, facts) for board in boards) or not boards:
        return ""
    words = ", ".join(text for text in (facts.board, facts.cpu, facts.machine) if text)
    return f"measured on another machine ({words}) than the declared {_titles(boards)}"


def _may_be(board: DeclaredBoard, facts: BoardFacts) -> bool:
    if board.architecture is None:
        return True
    machine = (facts.machine or "").lower()
    cores = _ARM_CORE.findall(board.processor)
    return (
        (not machine or machine.startswith(ARCHITECTURES[board.architecture]))
        and (facts.board is None or not board.models or _is_called(facts.board, board.models))
        and (not cores or not _ARM_CORE.fullmatch(facts.cpu or "") or facts.cpu in cores)
    )


_ARM_CORE = re.compile(r"Cortex-[A-Z]\d+[A-Z]*")


def _titles(boards: Sequence[DeclaredBoard]) -> str:
    return " + ".join(board.title for board in boards)


def declared_finding(
    boards: Sequence[DeclaredBoard], model: str | None, figures: Sequence[BoardFigure]
) -> Finding:
    """What doctor says of a target that was declared to be one of these boards, which bring those figures."""
    if doubt := unconfirmed(boards, model):
        return Finding(
            "warning",
            "board",
            f"{doubt}: {' and '.join(BOARD_FIGURES[name] for name in figures)} may be another machine's",
            f"name another board, or write the machine's own {' and '.join(figures)} into the targets file",
        )
    return Finding("ok", "board", f"{model}, as declared")


def _is_called(model: str, names: Sequence[str]) -> bool:
    """Whether a model is one of these names, whatever its revision: `Raspberry Pi 4 Model B Rev 1.4`."""
    name = model.strip().casefold().partition(" rev ")[0]
    return name in {known.casefold() for known in names}
