import pytest

from tests.testing.complaints import complaint


@pytest.fixture(scope="session")
def edgebench_cache(session_cache):
    """What other tests have converted already is not converted again."""
    return session_cache


@pytest.fixture
def caught(edgebench_cache):
    def check(test, backend, words, **subject):
        text = complaint(test, backend, edgebench_cache, **subject)
        assert words in text
        assert text.count("fix: ") >= 1

    return check
