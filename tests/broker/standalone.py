"""One real broker with its bookie and metadata store in one process, on loopback, thrown away at the end."""

from __future__ import annotations

import ctypes
import json
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from tests.broker import class_archive
from tests.broker.jars import HERE
from tests.broker.releases import java

START_S: Final = 180.0
STATISTICS_S: Final = 1
_TRIES: Final = 3
_CLASSES: Final = "classes.jsa"
_OPENED: Final = (
    *("java.base/jdk.internal.loader", "java.base/java.lang", "java.base/java.io", "java.base/java.util.zip"),
    *("java.base/java.nio", "java.base/jdk.internal.misc", "java.base/sun.net", "java.base/jdk.internal.platform"),
    *("java.management/sun.management", "jdk.management/com.sun.management.internal"),
)
"""The modules that a Pulsar start script opens."""


class BrokerFailedError(Exception):
    """The broker ended, did not become ready, or refused what a test asked for."""


class Broker:
    """A running broker. ``admin`` and ``port`` are how tests change it; Ringside itself only reads it."""

    def __init__(
        self, folder: Path, process: subprocess.Popen[bytes], port: int, web_port: int, name: str = "broker"
    ) -> None:
        self.name = name
        self.folder = folder
        self.port = port
        self.url = f"http://127.0.0.1:{web_port}"
        self.process = process

    def admin(self, method: str, path: str, body: object = None) -> Any:
        """One request of the admin API; the decoded answer. Raises ``BrokerFailedError`` for a refusal."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            raise BrokerFailedError(f"{method} {path}: {error.code} {error.read()[:500]!r}") from error
        try:
            return json.loads(text) if text else None
        except ValueError:
            return text

    def raw(self, path: str) -> bytes:
        """The bytes that a request is answered with."""
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            data: bytes = answer.read()
        return data

    def wait_until_ready(self) -> None:
        """Return when the last namespace that a start makes is there."""
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise BrokerFailedError(f"the broker ended with {self.process.returncode}:\n{self.log()}")
            with suppress(OSError, BrokerFailedError):
                self.admin("GET", "/admin/v2/namespaces/public/default")
                return
            time.sleep(0.1)
        raise BrokerFailedError(f"the broker was not ready after {START_S:g} s:\n{self.log()}")

    def wait_until_listed(self, namespace: str, count: int) -> None:
        """Return when the list of a namespace's topics has all ``count``, system topics included, and each is loaded.

        The first topic that is loaded brings ``__change_events``, some time later. It is listed before it is loaded,
        and a split counts what is loaded.
        """
        until = time.monotonic() + START_S
        while not self._all_loaded(namespace, count):
            if time.monotonic() > until:
                raise BrokerFailedError(f"{namespace} did not list {count} loaded topics after {START_S:g} s")
            time.sleep(0.02)

    def _all_loaded(self, namespace: str, count: int) -> bool:
        topics = self.admin("GET", f"/admin/v2/persistent/{namespace}?includeSystemTopic=true")
        if len(topics) < count:
            return False
        try:
            for topic in topics:
                self.admin("GET", f"/admin/v2/{topic.replace('://', '/')}/stats")
        except BrokerFailedError:  # 404: nobody has loaded it yet
            return False
        return True

    def cpu_s(self) -> float:
        """The CPU seconds of its threads that are alive, as Linux counts them in nanoseconds."""
        spent = 0
        for thread in Path(f"/proc/{self.process.pid}/task").iterdir():
            with suppress(OSError):  # it has just ended
                spent += int((thread / "schedstat").read_text().split()[0])
        return spent / 1e9

    def log(self) -> str:
        """The last lines of its log."""
        lines = (self.folder / f"{self.name}.log").read_text(errors="replace").splitlines()
        return "\n".join(lines[-30:])

    def stop(self) -> None:
        """End the process for good. Nothing in its folder is worth an orderly end."""
        self.process.kill()
        self.process.wait()


@contextmanager
def real_broker(jars: Path, settings: Mapping[str, str]) -> Iterator[Broker]:
    """A broker with these settings, its folder and its process gone afterwards, also when the test is interrupted."""
    for attempt in range(_TRIES):
        with ExitStack() as ending:
            folder = Path(tempfile.mkdtemp(prefix="ringside-broker-"))
            ending.callback(shutil.rmtree, folder, ignore_errors=True)
            broker = _started(folder, jars, settings)
            ending.callback(broker.stop)
            ending.callback(class_archive.end_and_keep, broker.process, folder / _CLASSES, jars)
            try:
                broker.wait_until_ready()
            except BrokerFailedError:
                # A port that was free may have been taken meanwhile.
                if "Address already in use" in broker.log() and attempt + 1 < _TRIES:
                    continue
                raise
            yield broker
            return


def _started(folder: Path, jars: Path, settings: Mapping[str, str]) -> Broker:
    port, web_port = free_ports(2)
    (folder / "standalone.conf").write_text(broker_settings(port, web_port, settings))
    words = (
        *(
            "org.apache.pulsar.PulsarStandaloneStarter",
            "--config",
            "standalone.conf",
            "-nfw",
            "-nss",
            "-a",
            "127.0.0.1",
        ),
        *("--metadata-dir", "data/metadata", "--bookkeeper-dir", "data/bookkeeper"),
    )
    classes = class_archive.to_read(jars) or class_archive.to_write(folder / _CLASSES, jars)
    return Broker(folder, java_process(folder, "broker", f"{jars}/*", 384, (*classes, *words)), port, web_port)


def broker_settings(port: int, web_port: int, settings: Mapping[str, str]) -> str:
    """The file of a broker's settings: those of all tests, and these."""
    text = (HERE / "standalone.conf").read_text()
    for name, value in (("BROKER_PORT", port), ("WEB_PORT", web_port), ("STATS_SECONDS", STATISTICS_S)):
        text = text.replace(f"@{name}@", str(value))
    if Path("/sys/class/net/lo").exists():
        text += "listeningInterface=lo\n"  # the bookie listens on all of them otherwise
    return text + "".join(f"{name}={value}\n" for name, value in settings.items())


def java_process(
    folder: Path, name: str, class_path: str, heap_mb: int, words: Sequence[str]
) -> subprocess.Popen[bytes]:
    """A process that works in the folder and ends with this one. ``words`` are more options and the class."""
    command = [
        *(java(), f"-Xmx{heap_mb}m", "-XX:MaxDirectMemorySize=256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
        *("-Dio.netty.tryReflectionSetAccessible=true", "-Dfile.encoding=UTF-8", f"-Djava.io.tmpdir={folder}"),
        f"-Dlog4j2.configurationFile={HERE / 'log4j2.xml'}",
        *(word for package in _OPENED for word in ("--add-opens", f"{package}=ALL-UNNAMED")),
        *("-cp", class_path, *words),
    ]
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            command,
            cwd=folder,
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            preexec_fn=_end_with_parent if _may_ask_the_kernel() else None,  # noqa: PLW1509
        )


def _may_ask_the_kernel() -> bool:
    return sys.platform == "linux" and threading.current_thread() is threading.main_thread()


def _end_with_parent() -> None:
    """Linux ends the broker when the test process is killed, so that none is left behind."""
    death_signal_option = 1
    ctypes.CDLL(None).prctl(death_signal_option, signal.SIGKILL)


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on at this moment."""
    with ExitStack() as closing:
        sockets = [closing.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
