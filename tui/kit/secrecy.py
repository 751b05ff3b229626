"""The secret that this process asks a cluster with, taken out of every text that leaves the process.

What brokers answer is decoded as it is, and they may repeat what they were sent.
"""

from __future__ import annotations

from typing import Protocol


class Hides(Protocol):
    """A secret that knows where it is in a text."""

    def hide(self, text: str) -> str:
        """The text without it."""

    def cover(self, text: str) -> str:
        """The same, as long as before."""


_secret: Hides | None = None


def keep_secret(secret: Hides | None) -> None:
    """Have this taken out of texts from now on; None for a process that has no secret."""
    global _secret  # noqa: PLW0603 - terminal, clipboard and files belong to the process as well
    _secret = secret


def has_secret() -> bool:
    return _secret is not None


def without_secret(text: str) -> str:
    """A text to print, to copy or to save."""
    return text if _secret is None else _secret.hide(text)


def covered(text: str) -> str:
    """A line of a screen, where columns stay as they are."""
    return text if _secret is None else _secret.cover(text)
