"""Pulsar's own classes of one release, in a Java process that answers cases."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.broker.jars import NoBrokerError, jars, jars_of, release
from tests.broker.java import java
from tests.fresh_vectors.inputs import Case

HERE: Final = Path(__file__).parent
QUIET: Final = '<Configuration status="ERROR"><Loggers><Root level="OFF"/></Loggers></Configuration>'
COMMON: Final = ("Json", "Stand", "Leader", "MapOrders", "Shedders", "Placements", "Vectors")
POLICIES: Final = "transfers with policies"
APART: Final = {
    "Average": ("shed_avg", "place_avg"),
    "RoundRobin": ("round_robin",),
    "TopBundles": ("partition_sort",),
    "Context LeastLoad": ("place_least_resource_extensible",),
    "Context Transfers": ("transfer_shedder",),
    "Filters": ("topic_count_modular", "class_filter", "version_filter"),
    "Filters MostServicing": ("most_servicing",),
    "Filters Context ExtensibleFilters": ("topic_count_extensible", "version_filter_extensible"),
    "Filters Service AntiAffinity": ("anti_affinity", "anti_affinity_unload"),
    "Figures": ("percent_usage", "max_usage", "time_average_broker", "report_modular"),
    "Service Cluster Cycle": ("modular_cycle",),
    "Service Cluster TopBundles LargestBundles": ("top_bundles",),
    "Service Cluster Context TransferPolicies": (POLICIES,),
    "LoadAverages": ("broker_load_update", "report_extensible"),
    "PositionImpl Consumers Selectors": ("keyshared_consistent", "keyshared_autosplit", "keyshared_sticky"),
    "PositionImpl Consumers Dispatcher": ("failover_sequences",),
    "Splits": ("split_range", "split_topic_count", "split_specified"),
    "Splits FlowSplits": ("split_flow_qps",),
}
"""What not every release has: sources that are compiled by themselves, and the kinds that they answer."""


class Pulsar:
    """The classes of a release; libraries are those of the broker that tests start. Raises ``NoBrokerError``."""

    def __init__(self, folder: Path, version: str | None = None) -> None:
        whole = version is None or version == release().version
        current = sorted(jars().glob("*.jar"))
        own = [] if whole or version is None else sorted(jars_of(version, HERE / "pom.xml").glob("*.jar"))
        replaced = {_artifact(jar) for jar in own}
        self._folder, self._whole = folder, whole
        self._path = os.pathsep.join(map(str, [*own, *(jar for jar in current if _artifact(jar) not in replaced)]))
        self.has_clusters_in_names = version is not None and tuple(map(int, version.split(".")[:2])) < (4, 2)
        self.lacking: set[str] = set()
        (folder / "log4j2.xml").write_text(QUIET)
        # A compiler takes seconds to start, so it is asked for all sources at once where all fit the release.
        if not self._compiled(dict.fromkeys([*COMMON, *" ".join(APART).split()])):
            return
        printed = self._compiled(COMMON)
        if printed:
            raise NoBrokerError(f"the classes of {version or 'the current release'} do not fit: {printed[-2000:]}")
        for sources, kinds in APART.items():
            if self._compiled(sources.split()):
                self.lacking.update(kinds)

    def _compiled(self, names: Iterable[str]) -> str:
        """Compile sources; what the compiler printed if it could not."""
        beside = Path(java()).with_name("javac")  # not every Java has a compiler
        javac = str(beside) if beside.is_file() else "javac"
        sources = [str(HERE / "java" / f"{name}.java") for name in names]
        command = [
            javac,
            "-nowarn",
            "-cp",
            f"{self._folder}{os.pathsep}{self._path}",
            "-d",
            str(self._folder),
            *sources,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stderr if done.returncode else ""

    def answered(self, cases: Iterable[Case]) -> list[Case]:
        """The same cases with what Pulsar answered as ``out``.

        A case of a kind that is ``lacking`` afterwards has no answer: its classes want libraries of their own release.
        """
        command = [
            *(java(), f"-Dlog4j2.configurationFile={self._folder / 'log4j2.xml'}"),
            *("-XX:TieredStopAtLevel=1", "-cp", f"{self._folder}{os.pathsep}{self._path}", "Vectors"),
        ]
        given = "\n".join(json.dumps(case) for case in cases).encode()
        done = subprocess.run(command, input=given, capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError(f"Pulsar's classes answered with {done.stderr.decode()[-2000:]}")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        lacking = {line["kind"]: line["out"]["lacking"] for line in lines if "lacking" in line["out"]}
        if self._whole and lacking:
            raise RuntimeError(f"Pulsar's classes do not fit each other: {lacking}")
        self.lacking.update(lacking)
        return lines


def _artifact(jar: Path) -> str:
    """The name of a jar without its version."""
    return re.split(r"-\d", jar.name)[0]
