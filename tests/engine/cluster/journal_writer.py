"""A process that adds consumers to a journal for ever and prints the number of each step once it is saved."""

from __future__ import annotations

import sys

from engine.cluster.commands import AddConsumer
from engine.cluster.journal.file import Journal
from engine.cluster.timeline import Timeline
from tests.engine.cluster.support import cluster


def main(path: str) -> None:
    timeline = Timeline.start(cluster([]))
    journal = Journal.create(path, timeline)
    assert isinstance(journal, Journal), journal
    while True:
        timeline, _ = timeline.submit(AddConsumer("billing", f"worker-{timeline.length}"))
        assert journal.save(timeline) is None
        sys.stdout.write(f"{timeline.length}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
