"""``record``: save what a running cluster answers, as a folder that every other command reads."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from engine.errors import RingsideError
from engine.text import counted, visible
from tui.cli.cluster import ClusterChoice, Duration, cluster_options
from tui.cli.exits import FAILED, FINE
from tui.cli.output import say, say_fault, write_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tui.sources.cluster.reading import ClusterReading

_EVERY_S: Final = 30.0


@click.command("record")
@click.argument("url", metavar="URL")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--every", type=Duration(), metavar="TIME", help="Repeat at this interval.  [default: 30s]")
@click.option("--for", "lasts", type=Duration(), metavar="TIME", help="For so long; without it until ctrl+c.")
@cluster_options(settings=False)
def record_command(*, url: str, folder: Path, every: float | None, lasts: float | None, cluster: ClusterChoice) -> int:
    """Read the cluster at URL (http://HOST:8080) and save its answers in FOLDER: one moment, or with --every and --for
    many.

    FOLDER/<moment>/<path of the request>.json holds each answer. `ringside FOLDER`, why, lint, verify and fleet read
    it. Nothing in the cluster is changed, nothing is loaded or assigned; secrets in the brokers' own settings are
    hidden. A moment gets its folder when it is complete: ctrl+c keeps the moments before, and nothing of the one
    that is being read.

    Exit code 0: something was saved. 1: the disk failed, or another cluster answers at URL. 2: the input cannot be
    used. 3: the cluster is out of reach. 130: stopped with ctrl+c.

    Example: ringside record http://localhost:8080 answers/ --every 30s --for 10m
    """
    from tui.cli.cluster import read_once, require_same_cluster
    from tui.sources.cluster.outcomes import ClusterOutOfReachError, summed_up
    from tui.sources.cluster.reading import prepare_dump, write_moment

    source = cluster.source(url)
    prepare_dump(folder)
    first: ClusterReading | None = None
    saved = 0
    for _ in times(every, lasts):
        try:
            reading = read_once(source)
            first = first or reading
            require_same_cluster(first, reading)
            place, left_out = write_moment(folder, reading, source.access.secret)
        except ClusterOutOfReachError as error:
            if first is None:
                raise
            say(f"{error}; trying again")
            continue
        except (RingsideError, OSError):
            raise
        except Exception as error:
            say_fault(error)
            continue
        saved += 1
        for sentence in summed_up(left_out):
            say(sentence)
        answers = len(reading.answers) - len(left_out)
        write_out(
            f"{visible(str(place))}: {counted(answers, 'answer')}, {counted(reading.topics, 'topic')},"
            f" {len(reading.gaps)} without an answer, {reading.took_s:.1f} s"
        )
    return FINE if saved else FAILED


def times(every: float | None, lasts: float | None) -> Iterator[None]:
    """Yield at this interval, for this long. After a turn that took longer the next one follows at once."""
    began = time.monotonic()
    yield
    if every is None and lasts is None:
        return
    pause = every or _EVERY_S
    turn = 1
    while lasts is None or turn * pause <= lasts:
        left = began + turn * pause - time.monotonic()
        if left > 0:
            time.sleep(left)
        yield
        turn = max(turn + 1, int((time.monotonic() - began) // pause))
