"""Running ``ringside`` inside the test process."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tui.cli.main import main


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Run ``ringside`` with words in an empty folder and give its exit code and output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("RINGSIDE_DEBUG", raising=False)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}

    def running(*words: str) -> Ran:
        code = main(list(words))
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    yield running
    for number, handler in before.items():
        signal.signal(number, handler)


Answers = Callable[..., Path]


@pytest.fixture
def answers(tmp_path: Path) -> Answers:
    """Write partitioned statistics of one topic with the given consumers and partition names."""

    def written(consumers: list[str], partitions: list[str], name: str = "stats.json") -> Path:
        stats = {"msgRateIn": 1.0, "msgThroughputIn": 10.0}
        subscription = {
            "type": "Failover",
            "activeConsumerName": consumers[0] if consumers else None,
            "consumers": [{"consumerName": consumer} for consumer in consumers],
        }
        document = {
            "msgRateIn": 1.0,  # brokers write it first
            "metadata": {"partitions": len(partitions)},
            "partitions": {
                partition: {**stats, "subscriptions": {"billing": subscription}} for partition in partitions
            },
        }
        path = tmp_path / name
        path.write_text(json.dumps(document))
        return path

    return written
