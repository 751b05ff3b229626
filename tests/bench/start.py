"""How long the dashboard takes to its first paint, and to its full content: ``python -m tests.bench.start``.

Wall-clock, the best of several runs each. The first paint is the frame with the sentence that something is opened;
the content is there when the table's last consumer can be read in a pseudo terminal.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench.table import Row, lines
from tests.process.terminal import Terminal

RUNS = 7
FRAME, CONTENT = "opening the embedded cluster", "billing-9"
ROOT = Path(__file__).resolve().parents[2]
# As a user has it: compiled modules are kept, so that only the first of the runs compiles, and the size is that of the
# terminal. Readline, which pytest loads, leaves 80 columns to the processes that it starts; not all consumers fit.
_NOT_A_USERS = ("PYTHONDONTWRITEBYTECODE", "COLUMNS", "LINES")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in _NOT_A_USERS}


def best_ms(action: Callable[[], None], runs: int) -> float:
    """The shortest of so many runs, in milliseconds."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times) * 1000


def importing(module: str) -> Callable[[], None]:
    """A fresh interpreter that imports one module."""
    return lambda: (
        subprocess.run([sys.executable, "-c", f"import {module}"], check=True, cwd=ROOT, env=ENVIRONMENT) and None
    )


SMALLEST_APP = f"""
from textual.app import App
from textual.widgets import Static
class Smallest(App[None]):
    BINDINGS = [("q", "quit", "Quit")]
    def compose(self):
        yield Static("{CONTENT}")
Smallest().run()
"""


def to_paint(
    home: str, marker: str, runs: int, program: tuple[str, ...] = (sys.executable, "-m", "tui", "--no-animation")
) -> float:
    """Milliseconds from starting the process until the marker can be read, without the time to close it."""
    env = {**ENVIRONMENT, "TERM": "xterm-256color", "XDG_STATE_HOME": home, "PYTHONPATH": str(ROOT)}
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        with Terminal([], env=env, cwd=Path(home), program=program) as terminal:
            terminal.wait_for(marker, CONTENT)  # on a busy machine the content may be there before the frame is painted
            times.append(time.perf_counter() - start)
            terminal.send("q")
            terminal.wait()
    return min(times) * 1000


def rows(runs: int = RUNS) -> list[Row]:
    """Frame, content and imports, beside importing Textual and beside the smallest app."""
    with tempfile.TemporaryDirectory() as home:
        frame, content = to_paint(home, FRAME, runs), to_paint(home, CONTENT, runs)
        smallest = to_paint(home, CONTENT, runs, (sys.executable, "-c", SMALLEST_APP))
    textual = best_ms(importing("textual.app"), runs)
    one_word = "a Textual app with one word, to its paint"
    return [
        Row("start to the first paint (the frame)", frame, "importing Textual", textual, ">= 0.71x"),
        Row("start to the first paint (the frame)", frame, one_word, smallest),
        Row("start to the full content", content, "importing Textual", textual, ">= 0.4x"),
        Row("start to the full content", content, one_word, smallest),
        Row("importing the application", best_ms(importing("tui.app"), runs), "importing Textual", textual),
    ]


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines(rows())) + "\n")
