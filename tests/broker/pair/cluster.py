"""Four processes on loopback, thrown away at the end: ZooKeeper, a bookie, and two brokers of one cluster."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.broker import class_archive
from tests.broker.standalone import START_S, Broker, BrokerFailedError, broker_settings, free_ports, java_process

HERE: Final = Path(__file__).parent
CLUSTER: Final = "pair"


@dataclass(slots=True)
class _Starting:
    """Processes in one folder. ``jars`` is the class path; ``ports`` go into the files of settings."""

    jars: str
    options: tuple[str, ...]
    folder: Path
    ports: dict[str, int]
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def java(self, name: str, heap_mb: int, *words: str) -> subprocess.Popen[bytes]:
        process = java_process(self.folder, name, self.jars, heap_mb, (*self.options, *words))
        self.running.append(process)
        return process

    def settings(self, name: str) -> str:
        """Write a file of settings, and return its name."""
        text = (HERE / name).read_text()
        for port, number in self.ports.items():
            text = text.replace(f"@{port}@", str(number))
        if name == "bookie.conf" and Path("/sys/class/net/lo").exists():
            text += "listeningInterface=lo\n"
        (self.folder / name).write_text(text)
        return name

    def until(self, is_ready: Callable[[], bool], name: str) -> None:
        """Return when it is ready. Raises ``BrokerFailedError`` where a process has ended, or after a long time."""
        until = time.monotonic() + START_S
        while time.monotonic() < until and all(process.poll() in (None, 0) for process in self.running):
            if is_ready():
                return
            time.sleep(0.1)
        log = (self.folder / f"{name}.log").read_text(errors="replace")
        raise BrokerFailedError(f"{name} is not ready:\n{log[-3000:]}")

    def stop(self) -> None:
        for process in reversed(self.running):
            process.kill()
            process.wait()


@contextmanager
def two_brokers(
    jars: Path, more_jars: Path, settings: Mapping[str, str] | None = None
) -> Iterator[tuple[Broker, Broker]]:
    """Two brokers with the same ``settings`` that know each other, gone afterwards, also when the test is
    interrupted."""
    with ExitStack() as ending:
        folder = Path(tempfile.mkdtemp(prefix="ringside-brokers-"))
        ending.callback(shutil.rmtree, folder, ignore_errors=True)
        zookeeper, bookie, *ports = free_ports(6)
        listening = {"ZOOKEEPER": zookeeper, "BOOKIE": bookie}
        starting = _Starting(f"{jars}/*:{more_jars}/*", class_archive.to_read(jars), folder, listening)
        ending.callback(starting.stop)
        starting.java(
            "zookeeper",
            96,
            "-Dzookeeper.admin.enableServer=false",
            "org.apache.zookeeper.server.ZooKeeperServerMain",
            starting.settings("zookeeper.cfg"),
        )
        starting.until(lambda: _listens(zookeeper), "zookeeper")
        _set_up(starting, f"zk:127.0.0.1:{zookeeper}", *ports[:2])
        main = "org.apache.bookkeeper.server.Main"
        # A newer bookie takes the address of version 6 that loopback has as well, which is no name of a bookie.
        only_version_4 = "-Djava.net.preferIPv4Stack=true"
        starting.java("bookie", 160, only_version_4, main, "--conf", starting.settings("bookie.conf"))
        starting.until(lambda: _listens(bookie), "bookie")
        first = _broker(starting, "broker-a", *ports[:2], settings or {})
        second = _broker(starting, "broker-b", *ports[2:], settings or {})
        ids = {broker.url.removeprefix("http://") for broker in (first, second)}
        for broker in (first, second):
            starting.until(lambda broker=broker: _members(broker) >= ids, broker.name)  # type: ignore[misc]
        yield first, second


def _set_up(starting: _Starting, store: str, port: int, web_port: int) -> None:
    """Write the cluster, its first tenant and its first namespace into the metadata."""
    setup = starting.java(
        "setup",
        128,
        "org.apache.pulsar.PulsarClusterMetadataSetup",
        *("--cluster", CLUSTER, "--metadata-store", store, "--configuration-metadata-store", store),
        *("--web-service-url", f"http://127.0.0.1:{web_port}", "--broker-service-url", f"pulsar://127.0.0.1:{port}"),
        *("--initial-num-stream-storage-containers", "0"),
    )
    starting.until(lambda: setup.poll() == 0, "setup")


def _broker(starting: _Starting, name: str, port: int, web_port: int, more: Mapping[str, str]) -> Broker:
    store = f"zk:127.0.0.1:{starting.ports['ZOOKEEPER']}"
    settings = {
        "clusterName": CLUSTER,
        "metadataStoreUrl": store,
        "configurationMetadataStoreUrl": store,
        "loadBalancerOverrideBrokerNicSpeedGbps": "10",
        **more,
    }
    (starting.folder / f"{name}.conf").write_text(broker_settings(port, web_port, settings))
    process = starting.java(name, 320, "org.apache.pulsar.PulsarBrokerStarter", "--broker-conf", f"{name}.conf")
    return Broker(starting.folder, process, port, web_port, name)


def _members(broker: Broker) -> set[str]:
    with suppress(OSError, BrokerFailedError):
        return set(broker.admin("GET", f"/admin/v2/brokers/{CLUSTER}"))
    return set()


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False
