from edgebench.judge.summarise import failed_sessions
from edgebench.records.stored import SessionRecord


def counted(*statuses):
    return failed_sessions([SessionRecord.model_construct(status=status) for status in statuses])


def test_an_interrupted_session_is_neither_failed_nor_sound():
    assert counted("interrupted") is None
    failed = counted("ok", "interrupted", "crash", "timeout", "ok", "golden_mismatch")
    assert failed is not None and (failed.k, failed.n) == (3, 5)
    assert failed.low < 0.6 < failed.high
