"""The dashboard on a running cluster: newer readings become the picture, its age is in sight, trouble marks it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs
from textual.pilot import Pilot

from engine.errors import InputError
from tests.patience import HANG_S
from tests.playing.server import STANDALONE
from tests.tui.screens_under_test import run, text_of
from tui.app import RingsideApp
from tui.brokers.screen import BrokersScreen
from tui.cli import pictures as of_readings
from tui.cli.pictures import Pictures
from tui.kit import live_line
from tui.kit.live_line import Freshness, freshness_parts
from tui.kit.session import Session
from tui.sources.cluster import source
from tui.sources.cluster.outcomes import Answer, ClusterOutOfReachError, Fault, Gap
from tui.sources.cluster.reader import OnProgress
from tui.sources.cluster.reading import ClusterReading, Progress
from tui.sources.cluster.source import PROGRESS_EVERY_S, Feed

ORIGIN = "http://broker.example:8080"
ORDERS = "persistent/public/default/orders/partitioned-stats"
BEGAN_MS = 1_795_427_287_000


def reading(second: int, without: str = "", cluster: str = "standalone") -> ClusterReading:
    """What was recorded, as if it was read then, without a consumer of this name."""
    answers = []
    for file in sorted(STANDALONE.rglob("*.json")):
        path = "/" + file.relative_to(STANDALONE).as_posix().removesuffix(".json").replace("@", "?")
        data = file.read_bytes()
        if without and path.endswith(ORDERS):
            stats = json.loads(data)
            for partition in stats["partitions"].values():
                billing = partition["subscriptions"]["billing"]
                billing["consumers"] = [each for each in billing["consumers"] if each["consumerName"] != without]
                if billing["activeConsumerName"] == without:
                    billing["activeConsumerName"] = billing["consumers"][0]["consumerName"]
            data = json.dumps(stats).encode()
        answers.append(Answer(path, data))
    at_ms = BEGAN_MS + 1000 * second
    return ClusterReading(ORIGIN, at_ms, cluster, "4.2.4", ("127.0.0.1:53283",), tuple(answers), ())


class Hand:
    """A feed that brings what a test says."""

    every_s = 10.0

    def __init__(self) -> None:
        self.arrived: Callable[[Session], object] | None = None
        self.missed: Callable[[str], object] | None = None
        self.progressed: Callable[[str], object] | None = None
        self.stopped = False
        self.in_view: tuple[frozenset[str], bool] = frozenset(), False

    def start(
        self,
        arrived: Callable[[Session], object],
        missed: Callable[[str], object],
        progressed: Callable[[str], object],
    ) -> None:
        self.arrived, self.missed, self.progressed = arrived, missed, progressed

    def show(self, topics: frozenset[str], *, brokers: bool) -> None:
        self.in_view = topics, brokers

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Say what time it is, in seconds after the first reading."""
    now = BEGAN_MS + 2000.0

    def moved(seconds: float) -> None:
        nonlocal now
        now = BEGAN_MS + 1000 * seconds

    monkeypatch.setattr(live_line, "now_ms", lambda: now)
    return moved


def app_with(feed: Hand, pictures: Pictures, session: Session | None = None) -> RingsideApp:
    session = session or pictures.session(reading(0))
    return RingsideApp(structs.replace(session, feed=feed), animate=False, depth="truecolor")


def names(app: RingsideApp) -> list[str]:
    (billing,) = app.store.timeline.state.subscriptions
    return [consumer.name for consumer in billing.consumers]


def test_a_newer_reading_becomes_the_picture(at: Callable[[float], None]) -> None:
    feed, pictures = Hand(), Pictures()
    app = app_with(feed, pictures)

    async def story(pilot: Pilot[int]) -> None:
        assert "live, read 2 s ago" in text_of(app)
        assert names(app) == ["c-0", "c-1", "c-2"]
        assert feed.arrived is not None
        at(11)
        feed.arrived(pictures.newer(reading(10, without="c-1")))
        await pilot.pause()
        assert names(app) == ["c-0", "c-2"]
        assert "live, read 1 s ago" in text_of(app)
        reported = app.store.shown.failover_view.reported
        assert reported is not None
        assert [event.kind for event in reported.events if "c-1" in event.text][:1] == ["left"]
        await pilot.press("w")
        await pilot.pause()
        assert app.store.diagnoses()

    run(app, story)
    assert feed.stopped


def with_rate(plain: ClusterReading, msgs_per_sec: float) -> ClusterReading:
    """The same reading, with this total of incoming messages/s in the broker's load report."""
    answers = []
    for answer in plain.answers:
        data = answer.data
        if answer.path.endswith("/load-report"):
            report = json.loads(data)
            report["msgRateIn"], report["lastUpdate"] = msgs_per_sec, plain.at_ms
            data = json.dumps(report).encode()
        answers.append(Answer(answer.path, data))
    return replace(plain, answers=tuple(answers))


def test_the_screen_of_brokers_follows_and_keeps_its_what_if(at: Callable[[float], None]) -> None:
    feed, pictures = Hand(), Pictures()
    app = app_with(feed, pictures)

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("B")
        await app.workers.wait_for_complete()
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, BrokersScreen)
        assert screen.view is not None
        await pilot.press("a", "right_square_bracket")
        await app.workers.wait_for_complete()
        assert (screen.cycle, len(screen.frame.rows)) == (1, 2)
        for second, rate in ((10, 111.0), (20, 222.0)):
            assert feed.arrived is not None
            feed.arrived(pictures.newer(with_rate(reading(second), rate)))
        await pilot.pause()
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert (screen.cycle, len(screen.frame.rows)) == (1, 2)
        own = screen.view.loads[0]
        assert own.msg_rate_in == 222.0
        assert "09:48:27 UTC" in screen.view.given.source
        assert [change.kind for change in screen.question.changes] == ["joins"]

    run(app, story)


def test_help_lists_the_key_of_running_clusters_where_one_is_shown(at: Callable[[float], None]) -> None:
    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("question_mark")
        await pilot.pause()
        assert " f5 " in text_of(pilot.app)

    run(app_with(Hand(), Pictures()), story, (150, 70))


def test_trouble_keeps_the_picture_and_marks_it_until_the_cluster_is_back(at: Callable[[float], None]) -> None:
    feed, pictures = Hand(), Pictures()
    app = app_with(feed, pictures)

    async def story(pilot: Pilot[int]) -> None:
        assert feed.missed is not None
        assert feed.arrived is not None
        at(75)
        feed.missed("no connection [/red]")
        await pilot.pause()
        assert "STALE, read 1 min 15 s ago" in text_of(app)
        assert "no connection [/red]" in text_of(app)
        assert names(app) == ["c-0", "c-1", "c-2"]
        feed.arrived(pictures.newer(reading(75)))
        await pilot.pause()
        assert "live, read 0 s ago" in text_of(app)
        assert "STALE" not in text_of(app)

    run(app, story)


def test_steps_of_a_what_if_stay_until_the_newest_is_asked_for(at: Callable[[float], None]) -> None:
    feed, pictures = Hand(), Pictures()
    app = app_with(feed, pictures)

    async def story(pilot: Pilot[int]) -> None:
        assert feed.arrived is not None
        await pilot.press("W")
        await pilot.pause()
        assert "what-if: 0 steps on the reading of" in text_of(app)
        assert app.store.submit_line("add what-if") is None
        at(20)
        feed.arrived(pictures.newer(reading(10, without="c-1")))
        await pilot.pause()
        assert names(app) == ["c-0", "c-1", "c-2", "what-if"]
        assert "what-if: 1 step on the reading of 20 s ago" in text_of(app)
        assert "read 10 s ago" in text_of(app)
        await pilot.press("f5")
        await pilot.pause()
        assert names(app) == ["c-0", "c-2"]
        assert "live, read 10 s ago" in text_of(app)

    run(app, story)


def test_the_shown_subscription_stays_the_shown_one(at: Callable[[float], None]) -> None:
    feed, pictures = Hand(), Pictures()
    app = app_with(feed, pictures)

    async def story(pilot: Pilot[int]) -> None:
        assert feed.arrived is not None
        await pilot.press("n")
        await pilot.pause()
        shown = app.store.shown.key
        assert "ks" in shown
        feed.arrived(pictures.newer(reading(10, without="c-1")))
        await pilot.pause()
        assert app.store.shown.key == shown
        assert "live, read" in text_of(app)

    run(app, story)


def test_pictures_of_files_have_no_such_line() -> None:
    session = Pictures().session(reading(0))
    app = RingsideApp(Session(session.timeline, seen=session.seen), animate=False)

    async def story(pilot: Pilot[int]) -> None:
        assert not app.screen.query("#live")

    run(app, story)


def test_so_many_readings_are_kept_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = Pictures()
    monkeypatch.setattr(of_readings, "MOST_TOPICS", 33)
    kept = [len(pictures.session(reading(second)).seen) for second in (0, 10, 20, 30, 40)]
    assert kept == [1, 2, 3, 3, 3]
    monkeypatch.setattr(of_readings, "MOST_TOPICS", 1)
    assert len(pictures.session(reading(50)).seen) == 2


def test_what_happened_between_readings_can_be_gone_back_to(at: Callable[[float], None]) -> None:
    feed, pictures = Hand(), Pictures()
    app = app_with(feed, pictures)

    async def story(pilot: Pilot[int]) -> None:
        assert feed.arrived is not None
        feed.arrived(pictures.newer(reading(10, without="c-1")))
        await pilot.pause()
        assert app.store.moment == (2, 2)
        await pilot.press("[")
        await pilot.pause()
        assert app.store.moment == (1, 2)
        assert names(app) == ["c-0", "c-1", "c-2"]
        at(25)
        feed.arrived(pictures.newer(reading(20, without="c-1")))
        await pilot.pause()
        assert names(app) == ["c-0", "c-1", "c-2"]
        assert "= moment 1 of 2, read 25 s ago" in text_of(app)
        await pilot.press("f5")
        await pilot.pause()
        assert names(app) == ["c-0", "c-2"]
        assert app.store.moment == (3, 3)
        assert "live, read 5 s ago" in text_of(app)

    run(app, story)


@pytest.mark.parametrize(
    ("newest_s", "trouble", "stays", "now_s", "sign"),
    [
        (0, "", False, 5, "*"),
        (0, "", False, 31, "!"),
        (0, "away", False, 5, "!"),
        (0, "", True, 5, "="),
        (0, "", True, 31, "!"),
        (10, "", True, 12, "="),
        (10, "away", True, 12, "!"),
    ],
)
def test_the_sign_says_what_the_colour_says(newest_s: int, trouble: str, stays: bool, now_s: int, sign: str) -> None:
    freshness = Freshness(ORIGIN, 10.0, BEGAN_MS, BEGAN_MS + 1000 * newest_s, trouble, stays=stays)
    assert freshness_parts(freshness, BEGAN_MS + 1000 * now_s)[0][0].startswith(sign)


class Planned:
    """Reads what was planned; the last of it for ever."""

    def __init__(self, *outcomes: ClusterReading | Exception) -> None:
        self.outcomes = list(outcomes)

    def read(self, *, stop: threading.Event, on_progress: OnProgress, **_: object) -> ClusterReading:
        for done in range(4):
            on_progress(Progress(done, 4, None))
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def close(self) -> None:
        pass


def test_the_address_of_a_cluster_in_trouble_is_named_once() -> None:
    freshness = Freshness(ORIGIN, 10.0, BEGAN_MS, BEGAN_MS, f"{ORIGIN}: the cluster is out of reach")
    text = "".join(piece for piece, _ in freshness_parts(freshness, BEGAN_MS + 1000))
    assert text.count(ORIGIN) == 1


def test_a_turn_says_what_came_of_it() -> None:
    planned = Planned(reading(0), away(), InputError("nothing in it"), reading(30, cluster="another"), reading(40))
    feed = Feed(planned, 10.0, lambda each: each.at_ms, "standalone")
    arrived: list[int] = []
    missed: list[str] = []
    for _ in range(5):
        feed.turn(arrived.append, missed.append)
    assert arrived == [BEGAN_MS, BEGAN_MS + 40_000]
    assert len(missed) == 3
    assert "another" in missed[2]


def test_a_fault_of_ours_is_said_and_the_next_reading_is_shown() -> None:
    several = ExceptionGroup("several", [ValueError("Invalid IPv6 URL")])
    feed = Feed(Planned(reading(0), several, reading(20), reading(30)), 10.0, one_of_two, "standalone")
    arrived: list[int] = []
    missed: list[str] = []
    for _ in range(4):
        feed.turn(arrived.append, missed.append)
    assert arrived == [BEGAN_MS, BEGAN_MS + 20_000]
    assert ["unexpected ValueError: Invalid IPv6 URL" in missed[0], "unexpected KeyError" in missed[1]] == [True, True]


def one_of_two(each: ClusterReading) -> int:
    if each.at_ms == BEGAN_MS + 30_000:
        raise KeyError("a fault")
    return each.at_ms


def test_the_thread_of_a_feed_outlives_every_fault() -> None:
    """Those of reading, of making the picture, and of whoever hears of either."""
    outcomes = [KeyError("a"), reading(30), away(), reading(0), reading(20)]
    feed = Feed(Planned(*outcomes), 0.0, one_of_two, "standalone")
    said: list[object] = []
    last = threading.Event()

    def arrived(at_ms: int) -> None:
        said.append(at_ms)
        if at_ms == BEGAN_MS + 20_000:
            feed.stop()
            last.set()
        raise LookupError("whoever hears of it")

    def missed(why: str) -> None:
        said.append(why.split(":", maxsplit=1)[0])
        raise RuntimeError("the loop is closed")

    feed.start(arrived, missed)
    assert last.wait(HANG_S)
    assert said == ["unexpected KeyError", "unexpected KeyError", "http", BEGAN_MS, BEGAN_MS + 20_000]


def away() -> Exception:
    return ClusterOutOfReachError(ORIGIN, Gap("/admin/v2/clusters", Fault.TIMEOUT))


def test_a_turn_that_takes_its_time_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter((0.0, PROGRESS_EVERY_S / 2, PROGRESS_EVERY_S, PROGRESS_EVERY_S * 1.5, PROGRESS_EVERY_S * 2))
    monkeypatch.setattr(source.time, "monotonic", lambda: next(times))
    feed = Feed(Planned(reading(0)), 10.0, lambda each: each.at_ms, "standalone")
    sentences: list[str] = []
    feed.turn(lambda at_ms: None, sentences.append, sentences.append)
    assert sentences == [str(Progress(1, 4, None)), str(Progress(3, 4, None))]


def test_the_progress_of_a_reading_is_shown_until_it_is_there(at: Callable[[float], None]) -> None:
    feed, pictures = Hand(), Pictures()
    app = app_with(feed, pictures)

    async def story(pilot: Pilot[int]) -> None:
        assert feed.progressed is not None
        assert feed.arrived is not None
        view = app.store.shown.failover_view
        feed.progressed("7 of 90 requests")
        await pilot.pause()
        assert "7 of 90 requests" in text_of(app)
        assert app.store.shown.failover_view is view
        feed.arrived(pictures.newer(reading(10)))
        await pilot.pause()
        assert "of 90 requests" not in text_of(app)

    run(app, story, (160, 40))


def test_a_stopped_feed_says_nothing_more() -> None:
    feed = Feed(Planned(reading(0)), 10.0, lambda each: each.at_ms, "standalone")
    feed.stop()
    outcomes: list[object] = []
    feed.turn(outcomes.append, outcomes.append)
    assert outcomes == []


def test_a_reading_with_gaps_says_so() -> None:
    gap = Gap("/admin/v2/tenants", Fault.FORBIDDEN, "no", ORIGIN, 403)
    bare = replace(reading(0), gaps=(gap,), not_loaded=4, assumed=("settings",))
    codes = {notice.code for notice in Pictures().session(bare).notes}
    assert {"not-all-read", "not-loaded", "settings-assumed"} <= codes


def test_the_recorded_cluster_is_there() -> None:
    assert (Path(STANDALONE) / f"admin/v2/{ORDERS}.json").is_file()
