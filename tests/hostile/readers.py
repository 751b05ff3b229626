"""What reads input: the commands for each kind of file, and the readers of fleets without Spark around them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, Final

from engine.views.fleet.runs import result_at

KINDS: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "answers": (
        ("{}", "--once"),
        ("{}", "--json"),
        ("lint", "{}"),
        ("lint", "{}", "--json"),
        ("explain", "orders", "{}"),
        ("explain", "key", "k-1", "{}"),
        ("split", "LARGEST", "{}"),
        ("split", "HOT", "{}", "--json"),
        ("forecast", "--curve", "LARGEST", "{}"),
        ("forecast", "{}"),
        ("keys", "{}"),
        ("why", "{}", "--all", "--json"),
        ("verify", "{}"),
        ("{}", "--once", "--topic", "persistent://public/default/orders"),
        ("-", "--once"),
        ("@import", "{}"),
    ),
    "journals": (
        ("replay", "{}", "--once"),
        ("replay", "{}", "--json"),
        ("replay", "{}", "--once", "--no-journal"),
        ("lint", "{}"),
        ("keys", "{}"),
        ("{}", "--once"),
    ),
    "scripts": (
        ("demo", "{}", "--headless"),
        ("demo", "{}", "--headless", "--json"),
        ("demo", "{}", "--once"),
        ("{}", "--once"),
    ),
    "keys": (
        ("keys", "--consumers", "a,b", "--keys", "{}"),
        ("partitions", "--from", "3", "--to", "7", "--keys", "{}"),
        ("plan", "--nodes", "3", "--to", "4", "--keys", "{}", "--json"),
        ("keys", "--consumers", "a,b", "--keys", "-"),
    ),
    "consumers": (
        ("keys", "--consumers-from", "{}"),
        ("keys", "--consumers-from", "{}", "--mode", "sticky", "--json"),
        ("lint", "--names-from", "{}"),
        ("lint", "--names-from", "{}", "--sticky"),
        ("explain", "key", "k-1", "--consumers-from", "{}"),
        ("lint", "{}"),
    ),
    "lists": (("@lists", "{}"),),
    "traces": (("@traces", "{}"),),
    "recordings": (
        ("verify", "{}"),
        ("verify", "{}", "--json"),
        ("{}", "--once"),
        ("{}", "--json"),
        ("lint", "{}"),
        ("split", "LARGEST", "{}"),
        ("keys", "{}"),
        ("why", "{}", "--ruled-out"),
        ("forecast", "{}"),
    ),
    "results": (("fleet", "open", "{}", "--once"), ("fleet", "open", "{}", "--json"), ("@screen", "{}")),
}
"""The commands that read a kind of file: ``{}`` is its path, ``-`` standard input."""

ABOUT_A_PART: Final = frozenset({"explain", "split", "--curve"})
"""What is about a topic, a bundle or a key in a file: a sentence that it is not there does not name the file."""

MAY_FAIL: Final = frozenset({"verify", "lint", "why", "demo"})
"""Commands that end with 1 for what a sound file says: a difference, a finding, an expectation that does not hold."""


def import_answers(words: Sequence[str]) -> int:
    """What ``fleet import`` does with one file before Spark has it."""
    from pipeline.reading.answers import QUARANTINED, FileContext, take_file
    from pipeline.reading.rows import Rows

    (path,) = words
    rows = Rows()
    outcomes = {
        take_file(rows, Path(path), Path(path).name, told, limit_bytes=10**8).outcome
        for told in (
            FileContext(),
            FileContext("broker-0", "public/default"),
            FileContext("broker-0", "persistent://public/default/orders"),
        )
    }
    return _said(rows.quarantine, refused=outcomes == {QUARANTINED})


def read_traces(words: Sequence[str]) -> int:
    """What ``fleet keys`` does with one trace before Spark has it."""
    from engine.errors import InputError
    from pipeline.reading.trace_pieces import read_piece
    from pipeline.reading.trace_rows import TraceAccount
    from pipeline.reading.traces import find_traces

    try:
        pieces, problems = find_traces(Path(words[0]))
    except InputError as error:
        return _refused(error)
    account = TraceAccount()
    rows = sum(table.num_rows for piece in pieces for table in read_piece(piece, account, spread=False))
    for problem in problems:
        sys.stderr.write(f"ringside: {_visible(str(problem))}\n")
    return _said(account.quarantine(), refused=not rows and bool(account.quarantine()))


def read_lists(words: Sequence[str]) -> int:
    """What ``fleet assign --consumers-from`` does with a list."""
    from engine.errors import InputError
    from pipeline.reading.consumer_lists import read_consumer_lists

    try:
        _, result = read_consumer_lists(Path(words[0]))
    except InputError as error:
        return _refused(error)
    return _said(result, refused=False)


def show_results(words: Sequence[str]) -> int:
    """What ``fleet open`` does with a folder on its screen: every list, and what each opens."""
    from engine.errors import InputError
    from tui.cli.fleet.screen import session_of
    from tui.fleet.app import FleetApp
    from tui.sources.fleet_results import read_results

    folder = Path(words[0])
    try:
        results = read_results(result_at(folder))
    except InputError as error:
        return _refused(error)
    for keys in (("s", "down"), ("2", "slash", "a", "escape"), ("3",), ("4", "end")):
        app = FleetApp(results)
        asyncio.run(_press(app, *keys, "enter"))
        if app.chosen is not None:
            try:
                session_of(result_at(folder), app.chosen)
            except InputError as error:
                _refused(error)
    return 0


async def _press(app: Any, *keys: str) -> None:
    async with app.run_test() as pilot:
        await pilot.press(*keys)


OTHER_READERS: Final[dict[str, Callable[[Sequence[str]], int]]] = {
    "@import": import_answers,
    "@traces": read_traces,
    "@lists": read_lists,
    "@screen": show_results,
}


def _said(rows: Sequence[Any], *, refused: bool) -> int:
    for source, place, line, column, *_, reason, _ in rows[:20]:
        where = f"{source}:{line}:{column}" if line else f"{source} at {place}"
        sys.stderr.write(f"ringside: {_visible(f'{where}: {reason}')}\n")
    return 2 if refused else 0


def _refused(error: Exception) -> int:
    sys.stderr.write(f"ringside: {_visible(str(error))}\n")
    return 2


def _visible(text: str) -> str:
    from engine.text import visible

    return visible(text)


def load_everything() -> None:
    """Import all that a child could load, so that no child has to."""
    for package in ("engine", "tui", "pipeline"):
        for name in _modules(package):
            import_module(name)


def _modules(package: str) -> Iterator[str]:
    result = import_module(package)
    for each in walk_packages(result.__path__, f"{package}."):
        if not each.name.endswith("__main__"):
            yield each.name
