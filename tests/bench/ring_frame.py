"""How long a warm frame of the ring takes, beside the same picture as Rich Text (what a Static would render).

Run: python tests/bench/ring_frame.py [consumers] [points per consumer] [width] [height]
"""

from __future__ import annotations

import io
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import mmh3
import numpy as np
from rich.console import Console
from rich.text import Text

from themes.palettes import palette
from tui.drawing.arcs import arcs_of
from tui.drawing.canvas import Canvas, style_of
from tui.drawing.ring import draw_ring
from tui.drawing.ring_picture import Dots, RingPicture

ROUNDS = 60
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


def median_ms(work: Callable[[int], object]) -> float:
    """Median of ``ROUNDS`` runs, after one to warm up."""
    work(0)
    taken = []
    for number in range(ROUNDS):
        begin = time.perf_counter()
        work(number)
        taken.append((time.perf_counter() - begin) * 1000)
    return statistics.median(taken)


def main() -> None:
    """Print the two medians and their ratio."""
    given = [int(text) for text in sys.argv[1:5]]
    consumers, replicas, width, height = given + [100, 100, 66, 38][len(given) :]
    picture, colours = example(consumers, replicas), palette("dark")
    console = Console(file=io.StringIO(), width=width, color_system="truecolor", force_terminal=True)

    def frame(number: int) -> Canvas:
        owners = ((picture.dots.owners + number) % consumers).astype(np.int32)
        moved = replace(picture, dots=Dots(picture.dots.hashes, owners, number % TOPICS))
        return draw_ring(moved, width, height, colours)

    strips = median_ms(lambda number: frame(number).strips())
    text = median_ms(lambda number: as_text(frame(number), console))
    sys.stdout.write(
        f"{consumers} x {replicas} on {width}x{height}: strips {strips:.2f} ms a warm frame, "
        f"the same cells as Rich Text {text:.2f} ms, ratio {text / strips:.1f}\n"
    )


if __name__ == "__main__":
    main()
