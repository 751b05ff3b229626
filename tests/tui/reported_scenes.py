"""Apps on answers of brokers, as somebody opens them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Final

from engine.admin.files import AnswerFile
from engine.admin.moments import Moment, read_moments
from engine.cluster.timeline import Timeline
from engine.scenarios.opening import Opened, open_moments
from tests.engine.diagnosis.samples import sample
from tui.app import RingsideApp
from tui.kit.session import Session
from tui.sources.answers import opened

RECORDINGS: Final = Path(__file__).parents[1] / "recordings"
LOAD_REPORT: Final = RECORDINGS / "pip392-flag-on" / "03-load-report.json.gz"


def app_on(path: Path, *, topic: str | None = None, mono: bool = False) -> RingsideApp:
    """A still app on answers."""
    return app_of_opened(opened(str(path), topic=topic), mono=mono)


def app_of_opened(found: Opened, **how: Any) -> RingsideApp:
    """A still app on what was opened, with everything that is prepared before the first picture."""
    timeline = Timeline.start(found.state, 0, "a dump")
    app = RingsideApp(Session(timeline, seen=found.seen), **({"animate": False, "depth": "truecolor"} | how))
    app.store.prepare()
    return app


def sample_app(name: str, **how: Any) -> RingsideApp:
    """A still app on a recorded fault, with its moments."""
    files = [
        AnswerFile(f"{time}/{path}.json", json.dumps(answer).encode())
        for time, answers in sample(name)["moments"].items()
        for path, answer in answers.items()
    ]
    return app_of_opened(open_moments(read_moments(*files)), **how)


def draining_app(**how: Any) -> RingsideApp:
    """A still app on the six statistics of a recording of draining, as moments a second apart."""
    return app_of_opened(open_moments(draining_moments()), **how)


def draining_moments() -> tuple[Moment, ...]:
    """The statistics of that recording."""
    path = "admin/v2/persistent/shop/orders/placed/stats.json"
    result = sorted((RECORDINGS / "c-keyshared-draining").glob("0*-stats.json.gz"))
    return read_moments(
        *(
            AnswerFile(f"2026-11-21T11-02-{at + 30}Z/{path}", gzip.decompress(file.read_bytes()))
            for at, file in enumerate(result)
        )
    )


def actives_differ_app(folder: str, count: int, **how: Any) -> RingsideApp:
    """A still app on a recording in which so many partitions report somebody else than the rule gives."""
    return app_of_opened(open_moments(read_moments(*actives_that_differ(folder, count))), **how)


def actives_that_differ(folder: str, count: int) -> list[AnswerFile]:
    """The last statistics of a recording of Failover, spoilt, and the flag that its name says."""
    saved = sorted((RECORDINGS / folder).glob("*-partitioned-stats.json.gz"))[-1]
    stats = json.loads(gzip.decompress(saved.read_bytes()))
    for topic in list(stats["partitions"].values())[:count]:
        for subscription in topic["subscriptions"].values():
            names = [consumer["consumerName"] for consumer in subscription["consumers"]]
            names.remove(subscription["activeConsumerName"])
            subscription["activeConsumerName"] = names[0]
    parent = next(iter(stats["partitions"])).partition("-partition-")[0].partition("://")[2]
    flag = {"activeConsumerFailoverConsistentHashing": str("hash" in folder).lower()}
    return [
        AnswerFile(f"admin/v2/persistent/{parent}/partitioned-stats.json", json.dumps(stats).encode()),
        AnswerFile("admin/v2/brokers/configuration/runtime.json", json.dumps(flag).encode()),
    ]


def ranges_differ_app(**how: Any) -> RingsideApp:
    """A still app on a recorded ring of slots in which one consumer reports a third of another one's ranges."""
    return app_of_opened(open_moments(read_moments(ranges_that_differ())), **how)


def ranges_that_differ() -> AnswerFile:
    """The last statistics of a recording of Key_Shared, spoilt."""
    saved = sorted((RECORDINGS / "c-keyshared-ring").glob("*stats.json.gz"))[-1]
    stats = json.loads(gzip.decompress(saved.read_bytes()))
    (subscription,) = stats["subscriptions"].values()
    first, second, *_ = subscription["consumers"]
    ranges = first["keyHashRangeArrays"]
    taken = ranges[: len(ranges) // 3]
    first["keyHashRangeArrays"] = ranges[len(taken) :]
    second["keyHashRangeArrays"] = sorted(second["keyHashRangeArrays"] + taken)
    return AnswerFile("admin/v2/persistent/shop/orders/placed/stats.json", json.dumps(stats).encode())
