"""The known keys that the command line names, with the messages of each."""

from __future__ import annotations

from engine.errors import InputError, Rejection
from engine.keyshared.key_text import key_of_text
from tui.cli.key_options import KeyChoice
from tui.cli.output import say_problems


def known_keys(choice: KeyChoice) -> dict[bytes, int]:
    """Keys in the order they were named, each with the number of times it was. Raises ``InputError``.

    Lines of a file that are no keys are told, and the others are kept.
    """
    counts: dict[bytes, int] = {}
    for text in choice.texts:
        key = key_of(text, "--key")
        counts[key] = counts.get(key, 0) + 1
    if choice.path is not None:
        from tui.sources.key_files import read_keys

        file = read_keys(choice.path)
        say_problems(file.problems)
        for key, count in file.counts.items():
            counts[key] = counts.get(key, 0) + count
    for number in range(choice.generated):
        key = b"key-%d" % number
        counts[key] = counts.get(key, 0) + 1
    return counts


def key_of(text: str, option: str) -> bytes:
    """The bytes of a key on the command line. Raises ``InputError``, which names the option."""
    key = key_of_text(text)
    if isinstance(key, Rejection):
        raise InputError(f"{option}: {key.message}")
    return key
