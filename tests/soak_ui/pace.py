"""How slow the processor is at the moment: with other work beside it the same steps take twice the CPU time.

A fixed piece of work is timed; compared with the fastest run that this process has seen it says by how much.
"""

from __future__ import annotations

from time import thread_time
from typing import Final

VARIES: Final = 1.3
"""So much slower than at its best moment a machine is that does nothing else."""

_fastest = float("inf")


def slowness(times: int = 3) -> float:
    """How many times as long as on a calm machine work takes now; at least 1.

    The best of a few runs: the correction is to excuse too little rather than too much.
    """
    taken = min(_work() for _ in range(times))
    return max(1.0, taken / (_fastest * VARIES))


def get_to_know(times: int = 150) -> None:
    """Find out how fast the processor can be."""
    for _ in range(times):
        _work()


def _work() -> float:
    """About a millisecond of what rendering does: small objects, dictionaries, strings."""
    global _fastest  # noqa: PLW0603
    begin = thread_time()
    cells = {(number, str(number)): [number] * 3 for number in range(2_000)}
    "".join(text for _, text in sorted(cells, key=lambda cell: cell[1]))
    taken = thread_time() - begin
    _fastest = min(_fastest, taken)
    return taken
