"""A command as it is stored and shown: without where its boards are reached."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from edgebench.vocabulary.launch_secrets import MASK


def masked(command: Sequence[str], places: Collection[str] = ()) -> tuple[str, ...]:
    """The command with `...` for the value of every --host and --port, and of each --set of a place."""
    masked_words: list[str] = []
    for word in command:
        if masked_words and masked_words[-1] in ("--host", "--port"):
            masked_words.append(MASK)
        elif word.startswith(("--host=", "--port=")):
            masked_words.append(f"{word.partition('=')[0]}={MASK}")
        elif masked_words and masked_words[-1] == "--set":
            masked_words.append(masked_option(word, places))
        elif word.startswith("--set="):
            masked_words.append(f"--set={masked_option(word.removeprefix('--set='), places)}")
        else:
            masked_words.append(word)
    return tuple(masked_words)


def masked_option(setting: str, places: Collection[str]) -> str:
    """`key=value` of an option, without the value of one that says where a board is."""
    name, equals, _ = setting.partition("=")
    return f"{name}={MASK}" if equals and name.strip().replace("-", "_") in places else setting
