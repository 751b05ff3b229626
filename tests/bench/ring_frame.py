"""How long a warm frame of the ring takes, beside the same picture as Rich Text (what a Static would render).

Run: python tests/bench/ring_frame.py [consumers] [points per consumer] [width] [height]
"""

from __future__ import annotations

import io
import sys
from itertools import count

import mmh3
import numpy as np
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from tests.bench.table import Row, lines, median_ms
from themes.palettes import palette
from tui.drawing.arcs import arcs_of
from tui.drawing.canvas import Canvas, style_of
from tui.drawing.ring import draw_ring
from tui.drawing.ring_picture import Dots, RingPicture

ROUNDS = 60
LARGEST = (100, 100, 66, 38)
TOPICS = 100


def example(consumers: int, replicas: int) -> RingPicture:
    """A ring with the points Pulsar would give consumers named ``consumer-0`` and so on, and 100 topics."""
    points = sorted(
        (mmh3.hash(f"consumer-{consumer}{replica}", signed=False) & 0x7FFFFFFF, consumer)
        for consumer in range(consumers)
        for replica in range(replicas)
    )
    hashes = np.array([mmh3.hash(f"topic-{n}", signed=False) & 0x7FFFFFFF for n in range(TOPICS)], dtype=np.uint32)
    owners = (np.arange(TOPICS) % consumers).astype(np.int32)
    arcs = arcs_of([point for point, _ in points], [owner for _, owner in points], consumers)
    return RingPicture(arcs, Dots(hashes, owners, 7), centre=(f"{consumers} consumers", f"{len(points)} points"))


def as_text(canvas: Canvas, console: Console) -> None:
    """The peer: the same cells appended to a Rich Text and rendered by a console."""
    text = Text(no_wrap=True)
    for row in range(canvas.height):
        for column in range(canvas.width):
            style = style_of(int(canvas.foreground[row, column]), int(canvas.background[row, column]))
            text.append(chr(canvas.chars[row, column]), style)
        text.append("\n")
    console.render_lines(text, console.options.update(width=canvas.width))


def timed(consumers: int, replicas: int, width: int, height: int, rounds: int = ROUNDS) -> Row:
    """The median of a warm frame, in which every topic has another owner than in the one before."""
    picture, colours = example(consumers, replicas), palette("dark")
    console = Console(file=io.StringIO(), width=width, color_system="truecolor", force_terminal=True)
    numbers = count()

    def frame() -> Canvas:
        number = next(numbers)
        owners = ((picture.dots.owners + number) % consumers).astype(np.int32)
        moved = replace(picture, dots=Dots(picture.dots.hashes, owners, number % TOPICS))
        return draw_ring(moved, width, height, colours)

    ours = median_ms(lambda: frame().strips(), rounds)
    peer = median_ms(lambda: as_text(frame(), console), rounds)
    what = f"ring frame: {consumers} consumers x {replicas} points on {width}x{height}"
    return Row(what, ours, "the same cells as Rich Text", peer, "<= 4 ms")


def rows(rounds: int = ROUNDS) -> list[Row]:
    """The ring of a 120x40 terminal, at its most crowded."""
    return [timed(*LARGEST, rounds)]


def main() -> None:
    """Print one row for the numbers on the command line."""
    given = [int(text) for text in sys.argv[1:5]]
    consumers, replicas, width, height = (*given, *LARGEST[len(given) :])
    sys.stdout.write("\n".join(lines([timed(consumers, replicas, width, height)])) + "\n")


if __name__ == "__main__":
    main()
