"""What the project saves, as programs that ``tests.process.faults`` can stop anywhere."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from engine.cluster.commands import AddConsumer
from engine.cluster.journal.file import Journal, JournalFailure
from engine.cluster.timeline import Timeline
from engine.errors import RingsideError
from engine.views.fleet.runs import Manifest
from engine.views.fleet.tables import BROKERS, FILES, SETTINGS, Table
from pipeline.jobs import importing, job_called
from pipeline.jobs.result import JobOptions
from pipeline.runs import Draft, new_run
from pipeline.stamps import new_run_id
from tests.engine.cluster.support import cluster
from tests.process.faults import DONE, Saver, Say
from tui.sources import sessions
from tui.sources.fleet_export import export
from tui.sources.fleet_listing import Columns, Listing
from tui.sources.sessions import SessionSaver

STEPS: Final = 3
BEFORE: Final = 2
TORN: Final = b'{"kind":"step","st'
ROWS: Final = 400


def add(timeline: Timeline) -> Timeline:
    after, rejection = timeline.submit(AddConsumer("billing", f"c-{timeline.length}"))
    assert rejection is None
    return after


def nothing(_: Path) -> None:
    """There is nothing before."""


def unsaid(_: str) -> None:
    """What is saved before is not asked for."""


# A session of the dashboard, with the folder of journals under ``place``.


def save_session(place: Path, say: Say) -> None:
    """Each step is said once the status line says that it is saved, and tried again with the next one if not."""
    sessions.session_folder = lambda: place / "ringside" / "sessions"
    keeping = SessionSaver(sessions.prepare_session_file)
    timeline = Timeline.start(cluster([]))
    for _ in range(STEPS):
        timeline = add(timeline)
        if keeping.record(timeline).startswith("saved in "):
            say(str(timeline.length))
    if not keeping.close():
        say(str(timeline.length))
        say(DONE)


# A journal with a torn last line, that is gone on with.


def prepare_torn(place: Path) -> None:
    result = Journal.create(place / "mine", add(add(Timeline.start(cluster([])))))
    assert isinstance(result, Journal)
    result.close()
    with (place / "mine").open("ab") as file:
        file.write(TORN)


def go_on(place: Path, say: Say) -> None:
    resumed = Journal.resume(place / "mine")
    if isinstance(resumed, JournalFailure):
        raise RingsideError(str(resumed))
    timeline = resumed.timeline
    with resumed.journal as journal:
        for _ in range(STEPS):
            timeline = add(timeline)
            if journal.save(timeline) is None:
                say(str(timeline.length))
        if journal.save(timeline) is None:
            say(str(timeline.length))
            say(DONE)


# An export.


def exported(name: str, place: Path, say: Say) -> None:
    names = [f"name-{at}" for at in range(ROWS)]
    table = pa.table({"name": names, "rate": [at / 8 for at in range(ROWS)]})
    listing = Listing(Columns(table, ("name",)), rows=list(range(ROWS)))
    assert export(listing, place / name).rows == ROWS
    say(DONE)


# A result of a fleet: by its writing alone, first over an old one with other tables, then as the first one.


def prepare_result(place: Path) -> None:
    written("old", (SETTINGS, FILES), place, unsaid)


def written(word: str, tables: tuple[Table, ...], place: Path, say: Say) -> None:
    with new_run(place, "job", Manifest(new_run_id()), alone=True, keep=1) as draft:
        for table in tables:
            draft.write(table, [("", word, "1", "f")] if table is SETTINGS else [])
        draft.write_json("job.json", {"run": word})
    say(DONE)


# A whole import, whose tasks run in this process instead of a JVM's.


def put_answers(place: Path, count: int) -> None:
    consumers = {"s": {"type": "Failover", "consumers": [{"consumerName": "a"}]}}
    topics = {f"persistent://t/n/x-{at}": {"msgRateIn": 1.0, "subscriptions": consumers} for at in range(count)}
    (place / "in").mkdir(exist_ok=True)
    text = json.dumps({"t/n": {"0x00000000_0xffffffff": {"persistent": topics}}})
    (place / "in" / "broker-stats.json").write_text(text)


def prepare_import(place: Path) -> None:
    put_answers(place, 3)
    imported(place, unsaid)
    put_answers(place, 5)


def write_here(rows: Any, draft: Draft, work: Any, kind: Any, *, aside: Collection[Table]) -> list[Any]:
    """What Spark does with the data source that writes."""
    with draft.writer(aside) as parts:
        return [work(rows, parts)]


def read_here(_: Any, shares: Sequence[Any], work: Any, tasks: int) -> Iterator[Any]:
    return (batch for number, share in enumerate(shares) for batch in work(share, number))


def imported(place: Path, say: Say) -> None:
    importing.read_by_engine = read_here  # type: ignore[assignment]
    importing.write_by_engine = write_here
    job_called("import")(None, place / "in", place / "out", JobOptions())  # type: ignore[arg-type]
    say(DONE)


session: Final = Saver(nothing, save_session, save_session)
torn: Final = Saver(prepare_torn, go_on, go_on)
csv: Final = Saver(nothing, partial(exported, "list.csv"), partial(exported, "later.csv"))
json_list: Final = Saver(nothing, partial(exported, "list.json"), partial(exported, "later.json"))
parquet: Final = Saver(nothing, partial(exported, "list.parquet"), partial(exported, "later.parquet"))
result: Final = Saver(
    prepare_result, partial(written, "new", (SETTINGS, BROKERS)), partial(written, "later", (SETTINGS, BROKERS))
)
first_result: Final = Saver(
    nothing, partial(written, "new", (SETTINGS, BROKERS)), partial(written, "later", (SETTINGS, BROKERS))
)
whole_import: Final = Saver(prepare_import, imported, imported)
