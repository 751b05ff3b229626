"""How long the dashboard takes to its first paint, against importing Textual alone: ``python -m tests.bench.start``.

Wall-clock, the best of several runs each, in milliseconds. The first paint is the moment at which the table's last
consumer can be read in a pseudo terminal.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.process.terminal import Terminal

RUNS = 9
MARKER = "billing-9"
ROOT = Path(__file__).resolve().parents[2]
# As a user has it: compiled modules are kept, so that only the first of the runs compiles.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def best_ms(action: Callable[[], None], runs: int = RUNS) -> float:
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
        yield Static("{MARKER}")
Smallest().run()
"""


def to_first_paint(home: str, program: tuple[str, ...] = (sys.executable, "-m", "tui", "--no-animation")) -> float:
    """Milliseconds from starting the process until the first full picture, without the time to close it."""
    env = {**ENVIRONMENT, "TERM": "xterm-256color", "XDG_STATE_HOME": home, "PYTHONPATH": str(ROOT)}
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        with Terminal([], env=env, cwd=Path(home), program=program) as terminal:
            terminal.wait_for(MARKER)
            times.append(time.perf_counter() - start)
            terminal.send("q")
            terminal.wait()
    return min(times) * 1000


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as home:
        paint = to_first_paint(home)
        smallest = to_first_paint(home, (sys.executable, "-c", SMALLEST_APP))
    interpreter, textual = best_ms(importing("sys")), best_ms(importing("textual.app"))
    figures = {
        "an interpreter": interpreter,
        "importing numpy": best_ms(importing("numpy")),
        "importing Textual": textual,
        "importing the dashboard": best_ms(importing("tui.app")),
        "paint of a Textual app with one word": smallest,
        "first paint": paint,
    }
    for name, milliseconds in figures.items():
        sys.stdout.write(f"{name:<38}{milliseconds:7.0f} ms\n")
    sys.stdout.write(f"first paint / importing Textual: {paint / textual:.2f}\n")


if __name__ == "__main__":
    main()
