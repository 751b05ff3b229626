"""A request to end is heard once it was sent, whatever Python did at that moment."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.patience import HANG_S
from tui.cli import main as entry
from tui.cli.exits import ENDING, Unwinding
from tui.cli.screen import ScreenSignals
from tui.sources.cluster.source import apart

CODES = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


@pytest.fixture(autouse=True)
def default_signals() -> Iterator[None]:
    """Signals as a terminal's shell leaves them, however these tests were started."""
    before = {number: signal.getsignal(number) for number in ENDING}
    for number in ENDING:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Thing:
    """Something that can be referred to weakly."""


def in_a_weak_reference(action: Callable[[], None]) -> None:
    thing = Thing()
    reference = weakref.ref(thing, lambda _: action())
    del thing
    assert reference() is None


def in_a_destructor(action: Callable[[], None]) -> None:
    class Closing:
        def __del__(self) -> None:
            action()

    Closing()


def in_the_garbage_collector(action: Callable[[], None]) -> None:
    def begun(phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            action()

    gc.callbacks.append(begun)
    try:
        gc.collect()
    finally:
        gc.callbacks.remove(begun)


@pytest.mark.parametrize(("number", "code"), CODES)
@pytest.mark.parametrize("forgets", [in_a_weak_reference, in_a_destructor, in_the_garbage_collector])
def test_a_signal_whose_exception_python_forgets_is_heard_again(
    forgets: Callable[[Callable[[], None]], None], number: signal.Signals, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it happened while modules were loaded: the import system cleans up in callbacks of weak references."""
    sent = []

    def once() -> None:
        if not sent:
            sent.append(number)
            signal.raise_signal(number)

    ending = Unwinding()
    with ending.installed():
        forgets(once)
        threading.Event().wait(HANG_S)
        pytest.fail("nothing was heard")
    assert ending.code == code
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("number", "code"), CODES)
def test_a_signal_that_another_thread_takes_ends_a_wait_of_this_one(number: signal.Signals, code: int) -> None:
    """It interrupts no system call here; nor does one that comes in the moment before the call begins."""
    reader, writer = os.pipe()
    ending = Unwinding()
    other = threading.Thread(target=lambda: signal.pthread_kill(threading.get_ident(), number))
    with ending.installed():
        other.start()
        os.read(reader, 1)
        pytest.fail("nothing was heard")
    other.join()
    os.close(reader)
    os.close(writer)
    assert ending.code == code


@pytest.mark.parametrize(("number", "code"), CODES)
def test_a_request_that_became_another_error_on_its_way_gives_its_code(
    number: signal.Signals, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python 3.11 turns whatever is raised while a class is being made into a RuntimeError."""

    def stopped_while_a_class_is_made(_: object) -> int:
        try:
            signal.raise_signal(number)
        except BaseException as request:
            raise RuntimeError("Error calling __set_name__") from request
        return 0

    monkeypatch.setattr(entry, "_run", stopped_while_a_class_is_made)
    assert entry.main([]) == code
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("number", "code"), CODES)
def test_a_signal_ends_what_runs_apart_and_the_wait_for_it(number: signal.Signals, code: int) -> None:
    given_up, over = threading.Event(), threading.Event()

    def call() -> None:
        os.kill(os.getpid(), number)
        given_up.wait(HANG_S)
        over.set()

    ending = Unwinding()
    with ending.installed():
        apart(call, given_up.set)
    assert (ending.code, over.is_set()) == (code, True)


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_that_was_ignored_from_the_start_stays_so(number: signal.Signals) -> None:
    """Of nohup, and of a job in the background of a script."""
    signal.signal(number, signal.SIG_IGN)
    ending = Unwinding()
    with ending.installed():
        signal.raise_signal(number)
        ending.code = 0
    assert ending.code == 0
    assert signal.getsignal(number) is signal.SIG_IGN


def test_afterwards_everything_is_as_it_was() -> None:
    hook: Any = sys.unraisablehook
    threads = threading.active_count()
    ending = Unwinding()
    with ending.installed():
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        ending.code = 3
    assert ending.code == 3
    assert [signal.getsignal(number) for number in ENDING] == [signal.SIG_DFL] * len(ENDING)
    assert sys.unraisablehook is hook
    assert signal.set_wakeup_fd(-1) == -1
    assert threading.active_count() == threads


def closed_with(ask: Callable[[], None], *, before_the_loop: bool) -> tuple[list[int], int | None]:
    """What a screen is asked to close with, and the exit code, when a signal comes early or while the loop waits."""
    asked: list[int] = []
    signals = ScreenSignals(lambda: pytest.fail("the terminal needs no restoring"))

    async def screen() -> None:
        closed = asyncio.Event()

        def close(code: int) -> None:
            asked.append(code)
            closed.set()

        signals.closes(close)
        if not before_the_loop:
            asyncio.get_running_loop().call_soon(threading.Thread(target=ask).start)
        async with asyncio.timeout(HANG_S):
            await closed.wait()

    with signals.installed():
        if before_the_loop:
            ask()
        asyncio.run(screen())
    return asked, signals.code


@pytest.mark.real_time
@pytest.mark.parametrize("before_the_loop", [True, False])
@pytest.mark.parametrize(("number", "code"), CODES)
def test_a_screen_is_asked_to_close_whenever_and_wherever_a_signal_comes(
    number: signal.Signals, code: int, before_the_loop: bool
) -> None:
    """Also in another thread than the one that waits."""
    asked, ended = closed_with(
        lambda: signal.pthread_kill(threading.get_ident(), number), before_the_loop=before_the_loop
    )
    assert (asked, ended) == ([code], code)
