"""What can be wrong with an input or a request, as data; shells make sentences of it.

Four kinds, four forms: a broken assumption of ours is an ``assert``; a refused request is a ``Rejection`` value; bad
input is a list of ``Problem`` values, each with its place; the environment's failures (disk, terminal) are caught once,
by the command line.
"""

from __future__ import annotations

from typing import Annotated, Final, Generic, TypeVar

from msgspec import Struct

from engine.answer import about

DEBUG: Final = "RINGSIDE_DEBUG"
"""The environment variable with which tracebacks of internal errors are printed."""

INSTALL_SPARK: Final = "make spark in the checkout installs what fleets need"

A = TypeVar("A")
T = TypeVar("T")


class RingsideError(Exception):
    """Base of every error this project raises on purpose: the message is a sentence for people."""


class InputError(RingsideError):
    """An input could not be used at all; ``problems`` says what, where, and what to do about each."""

    def __init__(self, message: str, problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems


class Problem(Struct, frozen=True):
    """One thing that is wrong with an input; the good rest is kept.

    ``source`` is the file (or a word such as "standard input"), ``path`` the place inside it, JSON-path like
    (``$.partitions["persistent://t/n/x-partition-3"].msgRateIn``), ``line`` and ``column`` count from 1 and are None
    where unknown.
    """

    source: Annotated[str, about("The file.")]
    path: Annotated[str, about("The place in it, JSON-path like.")]
    reason: Annotated[str, about("What is wrong.")]
    advice: Annotated[str, about("What to do, empty where nothing comes to mind.")] = ""
    line: Annotated[int | None, about("From 1.", 1)] = None
    column: Annotated[int | None, about("From 1.", 1)] = None

    def __str__(self) -> str:
        place = self.source
        if self.line is not None:
            place += f":{self.line}" + (f":{self.column}" if self.column is not None else "")
        if self.path and self.path != "$":
            place += f" at {self.path}"
        advice = f" ({self.advice})" if self.advice else ""
        return f"{place}: {self.reason}{advice}"


class Decoded(Struct, Generic[T], frozen=True):
    """The readable part of an answer and the problems with the rest. ``set_aside`` counts topics left out, in load
    reports bundles."""

    good: T
    problems: tuple[Problem, ...] = ()
    set_aside: int = 0


class Rejection(Struct, frozen=True):
    """A request that was refused, the way Pulsar refuses it where Pulsar would.

    ``error`` is Pulsar's own name for the refusal (``ConsumerBusy``, ``IllegalArgumentException``) or, where only this
    model refuses, a name of ours. ``status`` is the HTTP status of an admin request, 0 where there is none. ``field``
    names the argument that is at fault.
    """

    error: Annotated[str, about("Pulsar's own name of the refusal, or one of ours.")]
    message: Annotated[str, about("What is wrong, in a sentence.")]
    field: Annotated[str, about("The argument at fault, empty where there is none.")] = ""
    status: Annotated[int, about("HTTP status of an admin request, 0 where there is none.", 0)] = 0

    def __str__(self) -> str:
        place = f"{self.field}: " if self.field else ""
        return f"{place}{self.message}"


def accepted(answer: A | Rejection, of: str = "") -> A:
    """The answer. Raises ``InputError`` for a refusal; ``of`` is the option or the file that it is about."""
    if isinstance(answer, Rejection):
        raise InputError(f"{of}: {answer.message}" if of else answer.message)
    return answer


def system_reason(error: Exception) -> str:
    """Why the system refused something, without its number and the path, which the caller names itself."""
    return getattr(error, "strerror", None) or str(error)


def fault_of_ours(error: Exception) -> str:
    """What to say of an error that nothing here expects, so that it is told from what the input or the cluster did."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return (
        f"unexpected {type(error).__name__}: {error} (this is a fault of ringside, not of your input;"
        f" {DEBUG}=1 shows where it happened)"
    )
