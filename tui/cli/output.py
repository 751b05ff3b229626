"""Standard output for data, stderr for messages, and documents as JSON. Nothing else in this package prints."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import Struct

from engine.errors import DEBUG, InputError, Problem, Rejection, accepted, fault_of_ours
from engine.text import visible
from tui.cli.exits import FINE, ClosedPipe

if TYPE_CHECKING:
    from tui.kit.themed_app import Hides

A = TypeVar("A")
SHOWN_PROBLEMS = 20
LONGEST_SENTENCE: Final = 1_500
"""Characters on stderr; a name may have thousands, and the sentence around it is what counts."""
_CONTROLS: Final = {code: f"\\u{code:04x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"}
"""A terminal takes some of them for commands. JSON may have those from 0x7f on; escaped they mean the same."""


_secret: Hides | None = None


def keep_secret(secret: Hides | None) -> None:
    """Take this out of whatever is printed from now on: brokers may repeat what they were asked with."""
    global _secret  # noqa: PLW0603 - the streams belong to the process as well
    _secret = secret


def kept_secret() -> Hides | None:
    return _secret


def without_secret(text: str) -> str:
    """A text as it may be printed or served."""
    return text if _secret is None else _secret.hide(text)


def prepare_streams() -> None:
    """Let no character end the program: what an encoding does not have is written as an escape."""
    keep_secret(None)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def speaks_unicode() -> bool:
    """Whether standard output can carry more than ASCII."""
    return (getattr(sys.stdout, "encoding", None) or "ascii").lower().startswith("utf")


def write_out(text: str) -> None:
    """Write data and flush, so that a full disk or a closed pipe is noticed here and not when Python shuts down.

    Raises ``ClosedPipe`` when the reader is gone, ``OSError`` when standard output cannot take the text.
    """
    if sys.stdout is None:
        raise OSError("standard output is closed")
    try:
        sys.stdout.flush()
        text = without_secret(text.removesuffix("\n").translate(_CONTROLS))
        rest = memoryview((text + "\n").encode(sys.stdout.encoding, "backslashreplace"))
        while rest:
            # An unbuffered stream (PYTHONUNBUFFERED) may take a part only, and ``print`` would lose what is left.
            rest = rest[sys.stdout.buffer.write(rest) :]
        sys.stdout.buffer.flush()
    except BrokenPipeError as error:
        raise ClosedPipe from error


def write_page(lines: Iterable[str], *, ascii_only: bool) -> None:
    """Write lines of text, in ASCII where asked or where standard output takes no more."""
    from tui.cli.plain import plain

    page = "\n".join(map(visible, lines))
    write_out(plain(page, ascii_only=ascii_only or not speaks_unicode()))


def accepted_option(answer: A | Rejection) -> A:
    """The answer. Raises ``InputError`` for a refusal, behind the option that it is about."""
    return accepted(answer, f"--{answer.field.replace('_', '-')}" if isinstance(answer, Rejection) else "")


class Form(Struct, frozen=True):
    """How a command prints its answer: as JSON, else as a page, in ASCII where asked."""

    as_json: bool
    ascii_only: bool

    def show(self, answer: object, lines: Iterable[str] | Callable[[], Iterable[str]], code: int = FINE) -> int:
        """Print the document of the answer or its page, and return the exit code.

        Either may be a function that makes it, which is called for what is printed alone.
        """
        if self.as_json:
            write_out(json_text(answer() if callable(answer) else answer))
        else:
            write_page(lines() if callable(lines) else lines, ascii_only=self.ascii_only)
        return code


def say(sentence: str) -> None:
    """Tell a person something on stderr, on one line. Lost talk never changes how a run ends."""
    from tui.kit.wording import safe_name

    if sys.stderr is not None:
        text = safe_name(without_secret(sentence))
        if len(text) > LONGEST_SENTENCE:
            text = f"{text[: LONGEST_SENTENCE // 2]} … {text[-LONGEST_SENTENCE // 2 :]} ({len(text):,} characters)"
        with suppress(OSError, ValueError):
            sys.stderr.write(f"ringside: {text}\n")
            sys.stderr.flush()


def say_problems(problems: tuple[Problem, ...], *, shown: int = SHOWN_PROBLEMS) -> None:
    """List problems, one a line, the first ``shown`` of them."""
    for problem in problems[:shown]:
        say(str(problem))
    if len(problems) > shown:
        say(f"and {len(problems) - shown} more problems like these")


def say_input_error(error: InputError) -> None:
    """An input that could not be used at all: what, where, what to do."""
    message = str(error)
    say(message)
    say_problems(tuple(problem for problem in error.problems if str(problem) not in message))


def say_fault(error: Exception) -> None:
    """An error that nothing expected, said as a fault of ours, while it is handled."""
    say(fault_of_ours(error))
    debug_traceback()


def debug_traceback() -> None:
    """The traceback of the error that is handled, for those who asked for it."""
    if os.environ.get(DEBUG) and sys.stderr is not None:
        traceback.print_exc(file=sys.stderr)


def abandon_stdout() -> None:
    """Point standard output at nothing, so that Python's last flush at exit cannot fail once more."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def say_not_saved(trouble: str) -> None:
    """Say what a journal could not keep; nothing when all is safe."""
    if trouble:
        say(f"the steps of this session are not all saved: {trouble}")


def json_text(answer: object) -> str:
    """The document of an answer, or of plain values, as indented JSON."""
    from engine.documents import document

    return json.dumps(document(answer), indent=2, ensure_ascii=True, allow_nan=False)


def json_rows(form: str, member: str, rows: Iterable[object]) -> str:
    """A document with one row of plain values a line, for lists that are too long to be read with one number a line.

    >>> print(json_rows("ringside.ranges/1", "nodes", [{"node": 0, "ranges": [[0, 9]]}, {"node": 1, "ranges": []}]))
    {
      "format": "ringside.ranges/1",
      "nodes": [
        {"node": 0, "ranges": [[0, 9]]},
        {"node": 1, "ranges": []}
      ]
    }
    """
    lines = ",\n".join(f"    {json.dumps(row, ensure_ascii=True, allow_nan=False)}" for row in rows)
    listed = f"[\n{lines}\n  ]" if lines else "[]"
    return f'{{\n  "format": {json.dumps(form)},\n  {json.dumps(member)}: {listed}\n}}'
