"""Producers of Pulsar's own Java client, from the jars of the broker that tests start."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.broker.jars import HERE, compiler
from tests.broker.releases import java, release
from tests.fresh_vectors.pulsar import QUIET

_SOURCE: Final = HERE / "java" / "Producing.java"


class Producing:
    """A Java process with producers; each line that it is sent is answered by one."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def open(
        self, name: str, topic: str, *, lazy: bool = False, limit: int = 0, hashing: str = "JavaStringHash"
    ) -> tuple[str, int]:
        """Open a producer, round robin or partial round robin: "ok" or its exception's class, and the milliseconds."""
        word, ms = self._answer(f"open {name} {topic} {'lazy' if lazy else 'eager'} {limit} {hashing}").split()
        return word, int(ms)

    def send(self, name: str, count: int) -> list[str]:
        """Send messages one after another: "ok" or the class of its exception for each."""
        return self._answer(f"send {name} {count}").split()

    def send_keys(self, name: str, keys: Sequence[str]) -> list[int]:
        """Send a message for each key; the partition that each went to."""
        return [int(partition) for partition in self._answer(f"keys {name} {' '.join(keys)}").split()]

    def close(self, name: str) -> None:
        assert self._answer(f"close {name}") == "ok"

    def _answer(self, line: str) -> str:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        assert answer, f"the Java client ended at {line!r}"
        return answer


@contextmanager
def java_producers(jars: Path, port: int) -> Iterator[Producing]:
    """A process of the Java client that is gone afterwards. Raises ``NoBrokerError`` where none can be had."""
    with tempfile.TemporaryDirectory(prefix="ringside-client-") as folder:
        path = f"{jars}{os.sep}*"
        compiling = (java(), "-jar", str(compiler()), f"-{release().java}", "-nowarn", "-proc:none", "-cp")
        listed = os.pathsep.join(map(str, sorted(jars.glob("*.jar"))))
        command = [*compiling, listed, "-d", folder, str(_SOURCE)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        quiet = Path(folder, "log4j2.xml")
        quiet.write_text(QUIET)
        command = [
            *(java(), f"-Dlog4j2.configurationFile={quiet}", "-Xmx128m", "-XX:TieredStopAtLevel=1"),
            *("-XX:+UseSerialGC", "-cp", f"{folder}{os.pathsep}{path}", "Producing", f"pulsar://127.0.0.1:{port}"),
        ]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            yield Producing(process)
        finally:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
