"""Pulsar's own Java clients, from the jars of the broker that tests start: producers, and what the v5 client has."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import ClassVar, TypeVar

from tests.broker.jars import HERE, compiler
from tests.broker.releases import java, release
from tests.fresh_vectors.pulsar import QUIET


class JavaClient:
    """A Java process; each line that it is sent is answered by one. ``SOURCE`` is the class that it runs."""

    SOURCE: ClassVar[str]

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def answer(self, line: str) -> str:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        assert answer, f"the Java client ended at {line!r}"
        return answer

    def kill(self) -> None:
        """End the process, so that all of its connections are lost."""
        self._process.kill()
        self._process.wait()


class Producing(JavaClient):
    """Producers of topics and partitions."""

    SOURCE = "Producing"

    def open(
        self, name: str, topic: str, *, lazy: bool = False, limit: int = 0, hashing: str = "JavaStringHash"
    ) -> tuple[str, int]:
        """Open a producer, round robin or partial round robin: "ok" or its exception's class, and the milliseconds."""
        word, ms = self.answer(f"open {name} {topic} {'lazy' if lazy else 'eager'} {limit} {hashing}").split()
        return word, int(ms)

    def send(self, name: str, count: int) -> list[str]:
        """Send messages one after another: "ok" or the class of its exception for each."""
        return self.answer(f"send {name} {count}").split()

    def send_keys(self, name: str, keys: Sequence[str]) -> list[int]:
        """Send a message for each key; the partition that each went to."""
        return [int(partition) for partition in self.answer(f"keys {name} {' '.join(keys)}").split()]

    def close(self, name: str) -> None:
        assert self.answer(f"close {name}") == "ok"


class ScalableClient(JavaClient):
    """Producers and consumers of scalable topics."""

    SOURCE = "Scalable"

    def produce(self, name: str, topic: str) -> None:
        assert self.answer(f"produce {name} {topic}") == "ok"

    def send(self, name: str, keys: Sequence[str | None]) -> list[int]:
        """Send a message for each key, or without one; the segment that each went to."""
        return [int(segment) for segment in self.answer(f"keys {name} {_words(keys)}").split()]

    def load(self, name: str, per_second: int, keys: Sequence[str | None]) -> None:
        """Send messages of these keys in turn from now on."""
        assert self.answer(f"load {name} {per_second} {_words(keys)}") == "ok"

    def join(self, name: str, topic: str, subscription: str, kind: str) -> str:
        """Subscribe: "ok", or the class of the exception."""
        return self.answer(f"join {name} {topic} {subscription} {kind.lower()}")

    def received(self, name: str) -> list[tuple[str | None, int, int]]:
        """The keys that came since the last time, the segment of each, and its number among all that were sent."""
        words = (word.rsplit("@", 2) for word in self.answer(f"received {name}").split()[1:])
        return [(key[1:] if key != "-" else None, int(segment), int(number)) for key, segment, number in words]

    def hold(self, name: str) -> None:
        """Let a consumer acknowledge nothing from now on."""
        assert self.answer(f"hold {name}") == "ok"

    def acknowledge(self, name: str) -> None:
        """Let a consumer acknowledge all that came, and all that comes."""
        assert self.answer(f"ack {name}") == "ok"

    def close(self, name: str) -> None:
        assert self.answer(f"close {name}") == "ok"


def _words(keys: Sequence[str | None]) -> str:
    return " ".join("-" if key is None else f"={key}" for key in keys)


_Client = TypeVar("_Client", bound=JavaClient)


@contextmanager
def java_client(kind: type[_Client], jars: Path, port: int) -> Iterator[_Client]:
    """A process of a Java client that is gone afterwards. Raises ``NoBrokerError`` where none can be had."""
    with _COMPILING:
        folder = _classes(kind.SOURCE, jars).name
    command = [
        *(java(), f"-Dlog4j2.configurationFile={folder}/log4j2.xml", "-Xmx128m", "-XX:TieredStopAtLevel=1"),
        *("-XX:+UseSerialGC", "-cp", f"{folder}{os.pathsep}{jars}{os.sep}*", kind.SOURCE, f"pulsar://127.0.0.1:{port}"),
    ]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
    try:
        yield kind(process)
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


_COMPILING = Lock()


@cache
def _classes(source: str, jars: Path) -> tempfile.TemporaryDirectory[str]:
    """The folder of the compiled client, gone with the tests."""
    folder = tempfile.TemporaryDirectory(prefix="ringside-client-")
    compiling = (java(), "-jar", str(compiler()), f"-{release().java}", "-nowarn", "-proc:none", "-cp")
    listed = os.pathsep.join(map(str, sorted(jars.glob("*.jar"))))
    command = [*compiling, listed, "-d", folder.name, str(HERE / "java" / f"{source}.java")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    Path(folder.name, "log4j2.xml").write_text(QUIET)
    return folder
