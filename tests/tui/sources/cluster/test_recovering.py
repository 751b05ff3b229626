"""What reads again and again outlives bad answers and faults of ours, says them, and goes on."""

from __future__ import annotations

import stat
import threading
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from engine.admin.earlier import EarlierAnswers
from engine.admin.moments import read_moments
from engine.names import TopicName, parse_topic_name
from tests.playing.clock import CountingClock
from tests.playing.server import RECORDED_BROKER, playing, recorded
from tests.tui.cli.conftest import Run, run
from tui.cli.commands import record
from tui.cli.pictures import Pictures
from tui.kit.session import Session
from tui.sources.cluster import paths
from tui.sources.cluster.access import Access
from tui.sources.cluster.outcomes import Answer
from tui.sources.cluster.reading import ClusterReading, write_moment
from tui.sources.cluster.source import Feed, Source

__all__ = ["run"]


def test_the_picture_is_back_when_the_cluster_is() -> None:
    """One answer is nonsense for a while; each time one of them, and never anything but that is missing."""
    path = "/admin/v2/brokers/standalone"
    nonsense = (b'["["]', b'["127.0.0.1:99999"]', b"[1]", b"{}", b"<html>")
    pictures = Pictures()
    with playing() as server, closing(Source(Access(server.url)).follower(CountingClock())) as follower:
        feed = Feed(follower, 10.0, pictures.newer, "standalone")
        arrived: list[Session] = []
        missed: list[str] = []
        for answer in (*nonsense, b'["' + RECORDED_BROKER.encode() + b'"]'):
            server.answers[path] = answer
            feed.turn(arrived.append, missed.append)
    assert (len(arrived), missed) == (len(nonsense) + 1, [])
    assert [bool([note for note in each.notes if note.code == "not-all-read"]) for each in arrived] == [
        True, True, False, False, True, False,
    ]  # fmt: skip


def test_a_follower_begins_anew_after_a_fault_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    with playing() as server, closing(Source(Access(server.url)).follower(CountingClock())) as follower:
        whole = len(follower.read().answers)
        follower.read()
        with monkeypatch.context() as patch:
            patch.setattr(EarlierAnswers, "begin", lambda self: {}["a fault"])
            with pytest.raises(KeyError):
                follower.read()
        server.requests.clear()
        assert len(follower.read().answers) == whole == len(server.requests)


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize(("place", "name"), [(Source, "read"), (ClusterReading, "files_of_moment")])
def test_a_recording_goes_on_after_a_fault_of_ours(
    run: Run, monkeypatch: pytest.MonkeyPatch, place: type, name: str
) -> None:
    turns = iter(range(3))
    works = getattr(place, name)

    def faulty(self: object, *words: object) -> object:
        return works(self, *words) if next(turns) != 1 else {}["a fault"]

    monkeypatch.setattr(record, "times", lambda every, lasts: iter([None] * 3))
    monkeypatch.setattr(place, name, faulty)
    with playing() as server:
        ran = run("record", server.url, "dump", "--every", "1s")
    assert (ran.code, len(read_moments(Path("dump")))) == (0, 2)
    assert "unexpected KeyError" in ran.err
    assert len(list(Path("dump").iterdir())) == 2


@pytest.mark.usefixtures("no_waiting")
def test_a_recording_of_nothing_but_faults_fails(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Source, "read", lambda self, *words: {}["a fault"])
    ran = run("record", "http://127.0.0.1:9", "dump")
    assert (ran.code, ran.out, list(Path("dump").iterdir())) == (1, "", [])


@pytest.mark.usefixtures("no_waiting")
def test_a_dump_is_for_its_owner_alone(run: Run) -> None:
    with playing() as server:
        assert run("record", server.url, "new/dump").code == 0
    paths = [Path("new"), *Path("new").rglob("*")]
    rights = {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in paths}
    assert rights == {(True, 0o700), (False, 0o600)}


NAMES = ("x.json", "x.JSON", "x.json.gz", "partitioned.json", "partitioned", ".x", "stats", "bundles", "a@b=c", "%2E")


def test_whatever_a_topic_or_a_namespace_is_called_its_answers_are_saved_and_read_again(tmp_path: Path) -> None:
    one = recorded()["/admin/v2/persistent/public/default/keys x/stats"]
    topics = [f"persistent://public/{namespace}/{name}" for namespace in ("default", "x.json") for name in NAMES]
    found = dict.fromkeys((paths.topics_of("persistent", f"public/{name}") for name in ("default", "x.json")), b"[]")
    found |= {f"{path}/partitioned": data for path, data in found.items()}
    found |= {paths.of_topic(cast("TopicName", parse_topic_name(topic)), "stats"): one for topic in topics}
    answers = tuple(Answer(path, data) for path, data in found.items())
    place, left_out = write_moment(tmp_path, ClusterReading("http://x", 0, "standalone", "4.2.4", (), answers, ()))
    assert (left_out, sum(path.is_file() for path in place.rglob("*"))) == ((), len(found))
    (moment,) = read_moments(place)
    assert sorted(moment.snapshot.topics) == sorted(topics)


def test_answers_that_would_have_one_file_are_one_gap(tmp_path: Path) -> None:
    asked = ("/admin/v2/namespaces/t/x", "/admin/v2/namespaces/t/x", "/admin/v2/" + "y" * 300, "/admin/v2/tenants")
    answers = tuple(Answer(path, b"[%d]" % number) for number, path in enumerate(asked))
    place, left_out = write_moment(tmp_path, ClusterReading("http://x", 0, "", "", (), answers, ()))
    assert {gap.path for gap in left_out} == {asked[1], asked[2]}
    assert {path.read_bytes() for path in place.rglob("*.json")} == {b"[0]", b"[3]"}


def test_a_cluster_is_read_where_no_signal_raises() -> None:
    """In a callback of asyncio the exception of a handler is taken for a fault of the connection, and is lost."""
    threads = set()
    with playing() as server:
        Source(Access(server.url)).read(lambda _: threads.add(threading.current_thread()))
    assert threads and threading.main_thread() not in threads
