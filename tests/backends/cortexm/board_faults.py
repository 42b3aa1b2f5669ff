"""What goes wrong on a real line or board, on purpose and each time alike: the simulator's firmware and board
with faults, each by its name.
"""

import importlib

PACKAGE = "edgebench.backends.cortexm.simulator"
boards = importlib.import_module(f"{PACKAGE}.board")
engines = importlib.import_module(f"{PACKAGE}.engine")
firmware = importlib.import_module(f"{PACKAGE}.firmware")

GARBAGE_LINES = ("m-", "e-[", "m-lap-us-", "m-results-[", "\x1b[2J boot", "x" * 5000)
RESULTS = "m-results-["
FOREIGN_HELP = ("ULPMark for tinyML Firmware V0.0.1", "", "help : Print this information")


class Stalled(Exception):
    """The board answers nothing any more."""


class Unplugged(Exception):
    """The port is gone."""


class Fault:
    """One that does nothing; it acts on every Nth occasion."""

    def __init__(self, n):
        self.n = n
        self._occasions = 0

    def is_due(self):
        self._occasions += 1
        return self._occasions % self.n == 0

    def received(self, data):
        return data

    def answer(self, words, lines):
        """The lines that answer a command of these words."""
        return lines

    def lines(self, lines):
        """All lines, those of the banner and of a binary load too."""
        return lines

    def sent(self, data):
        return data


class LostBytes(Fault):
    def received(self, data):
        return bytes(byte for byte in data if not self.is_due())


class LostAnswerBytes(Fault):
    def sent(self, data):
        return bytes(byte for byte in data if not self.is_due())


class DoubledReady(Fault):
    def lines(self, lines):
        for line in lines:
            yield line
            if line == firmware.READY and self.is_due():
                yield line


class LinesBefore(Fault):
    """Before the answer to every Nth command."""

    before: tuple[str, ...] = (firmware.READY,)

    def answer(self, words, lines):
        if self.is_due():
            yield from self.before
        yield from lines


class GarbageLines(LinesBefore):
    before = GARBAGE_LINES


class GarbageBytes(Fault):
    def lines(self, lines):
        for line in lines:
            yield "\x00\xff\xa5\x80%" + line if self.is_due() else line


class Unplug(Fault):
    """Every Nth infer ends after a line."""

    after = "m-"
    error: Exception = Unplugged()

    def answer(self, words, lines):
        is_due = words[:1] == ["infer"] and self.is_due()
        for line in lines:
            yield line
            if is_due and line.startswith(self.after):
                raise self.error


class ResetInInfer(Unplug):
    after = "m-infer-start-"
    error = engines.EngineReset("watchdog")


class Abort(Unplug):
    error = engines.EngineReset("fault")


class StallInInfer(Unplug):
    error = Stalled()


class ResetInLoad(Fault):
    def lines(self, lines):
        for line in lines:
            if line == "m-load-done" and self.is_due():
                raise engines.EngineReset("watchdog")
            yield line


class Stall(Fault):
    def answer(self, words, lines):
        if self.is_due():
            raise Stalled
        yield from lines


class LoadError(Fault):
    def answer(self, words, lines):
        is_load = words[:1] == ["db"] and words[1:2] in (["load"], ["bin"])
        if is_load and self.is_due():
            return iter(("e-[Out of memory]", firmware.READY))
        return lines


class ChangedLines(Fault):
    """Each line on its own; None leaves it out."""

    def changed(self, line):
        raise NotImplementedError

    def lines(self, lines):
        return (changed for line in lines if (changed := self.changed(line)) is not None)


class WrongCount(ChangedLines):
    def changed(self, line):
        start, _, count = line.rpartition("-")
        return f"{start}-{int(count) + self.n}" if start == "m-infer-start" else line


class TruncatedResults(ChangedLines):
    def changed(self, line):
        return ",".join(line.split(",")[: self.n]) if line.startswith(RESULTS) else line


class NanResults(ChangedLines):
    def changed(self, line):
        return f"{RESULTS}{','.join(['nan'] * len(line.split(',')))}]" if line.startswith(RESULTS) else line


class OtherResults(ChangedLines):
    """Of another class: moved on by one."""

    def changed(self, line):
        if not line.startswith(RESULTS):
            return line
        *others, last = line[len(RESULTS) : -1].split(",")
        return f"{RESULTS}{','.join([last, *others])}]"


class OtherModel(ChangedLines):
    def changed(self, line):
        return f"{line.partition(':')[0]}:{'0' * 64}]" if line.startswith("m-model-[") else line


class NoBinaryLoad(ChangedLines):
    def changed(self, line):
        return None if line.startswith("db bin") else line


class Foreign(ChangedLines):
    """Firmware of another vendor, as the benchmark's reference firmware answers."""

    def changed(self, line):
        if line.startswith("m-info-["):
            return None
        form, bracket, _ = line.partition("[")
        if bracket and form in FOREIGN:
            return f"{form}[{FOREIGN[form]}]"
        # The reference firmware says this without the brackets of an error.
        return line[len("e-[") : -1] if line.startswith("e-[Supplied buffer size") else line

    def answer(self, words, lines):
        return iter((*FOREIGN_HELP, firmware.READY)) if words[:1] == ["help"] else lines


FOREIGN = {"m-name-dut-": "vendor", "m-profile-": FOREIGN_HELP[0], "m-model-": "vww01"}


class Energy(ChangedLines):
    """Stamps are pulses of a pin, and no lines."""

    def changed(self, line):
        return None if line.startswith("m-lap-us-") else line.replace("mode-performance", "mode-energy")


FAULTS = {
    "lost-bytes": LostBytes,
    "lost-answer-bytes": LostAnswerBytes,
    "doubled-ready": DoubledReady,
    "stray-ready": LinesBefore,
    "garbage-lines": GarbageLines,
    "garbage-bytes": GarbageBytes,
    "unplug": Unplug,
    "reset-in-infer": ResetInInfer,
    "reset-in-load": ResetInLoad,
    "abort": Abort,
    "stall": Stall,
    "stall-in-infer": StallInInfer,
    "load-error": LoadError,
    "wrong-count": WrongCount,
    "truncated-results": TruncatedResults,
    "nan-results": NanResults,
    "other-results": OtherResults,
    "other-model": OtherModel,
    "no-binary-load": NoBinaryLoad,
    "foreign": Foreign,
    "energy": Energy,
}


class FaultyFirmware(firmware.Firmware):  # type: ignore[name-defined, misc]
    def __init__(self, faults, *arguments, **named):
        super().__init__(*arguments, **named)
        self._faults = faults

    def boot(self):
        return self._changed(super().boot())

    def receive(self, data):
        return self._changed(super().receive(data))

    def wait(self):
        return self._changed(super().wait())

    def _changed(self, lines):
        for fault in self._faults:
            lines = fault.lines(lines)
        return lines

    def answer(self, command):
        lines = super().answer(command)
        for fault in self._faults:
            lines = fault.answer(command.split(), lines)
        return lines


class FaultyBoard(boards.Board):  # type: ignore[name-defined, misc]
    """A simulated board.

    Args:
        faults: each as NAME, or as NAME:N.
        firmware: arguments of its firmware, without the reason of the reset.
    """

    def __init__(self, faults, **named):
        words = [text.partition(":") for text in faults]
        self._faults = [FAULTS[name](int(number or 1)) for name, _, number in words]
        self._is_stalled = False
        super().__init__(lambda reason: FaultyFirmware(self._faults, reset_reason=reason, **named))

    def opened(self):
        return self._passed(super().opened())

    def receive(self, data):
        for fault in self._faults:
            data = fault.received(data)
        return self._passed(super().receive(data))

    def wait(self):
        return self._passed(super().wait())

    def _passed(self, pieces):
        if self._is_stalled:
            return
        try:
            for piece in pieces:
                for fault in self._faults:
                    piece = fault.sent(piece)
                yield piece
        except Stalled:
            self._is_stalled = True
