"""Why there is no probe, in words that reach the record."""


class ProbeMissing(Exception):
    """There is no telemetry here."""

    denied = False

    def __init__(self, reason: str, fix: str) -> None:
        super(ProbeMissing, self).__init__(reason)
        self.reason = reason
        self.fix = fix
