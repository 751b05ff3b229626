"""Pulsar's own classes of one release, in a Java process that answers cases."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.broker.jars import compiler, jars, jars_of
from tests.broker.releases import java, release
from tests.fresh_vectors.inputs import Case

HERE: Final = Path(__file__).parent
QUIET: Final = '<Configuration status="ERROR"><Loggers><Root level="OFF"/></Loggers></Configuration>'
POLICIES: Final = "transfers with policies"
SOURCES: Final = {
    "Plans Average": ("shed_avg", "place_avg"),
    "RoundRobin": ("round_robin",),
    "TopBundles": ("partition_sort",),
    "Context LeastLoad": ("place_least_resource_extensible",),
    "Context Transfers": ("transfer_shedder",),
    "Filters": ("topic_count_modular", "class_filter", "version_filter"),
    "Filters MostServicing": ("most_servicing",),
    "Filters Context ExtensibleFilters": ("topic_count_extensible", "version_filter_extensible"),
    "Filters Service AntiAffinity": ("anti_affinity", "anti_affinity_unload"),
    "Figures": ("percent_usage", "max_usage", "time_average_broker", "report_modular"),
    "Plans Service Cluster Cycle": ("modular_cycle",),
    "Service Cluster TopBundles LargestBundles": ("top_bundles",),
    "Service Cluster Context TransferPolicies": (POLICIES,),
    "LoadAverages": ("broker_load_update", "report_extensible"),
    "PositionImpl Consumers Selectors": ("keyshared_consistent", "keyshared_autosplit", "keyshared_sticky"),
    "PositionImpl Consumers Dispatcher": ("failover_sequences",),
    "Splits": ("split_range", "split_topic_count", "split_specified"),
    "Splits FlowSplits": ("split_flow_qps",),
}
"""What not every release has: sources that may not fit one, and the kinds that they answer."""


class MisfitError(Exception):
    """The Java sources here are not for the release."""


class Pulsar:
    """The classes of a release; libraries are those of the broker that tests start. Raises ``NoBrokerError``.

    All sources have to fit a release that has its own libraries. Where ``whole`` is not the case, ``lacking`` are the
    kinds of which some source does not.
    """

    def __init__(self, folder: Path, version: str | None = None, sources: Path = HERE / "java") -> None:
        self.whole = version is None or version == release().version
        current = sorted(jars().glob("*.jar"))
        own = [] if self.whole or version is None else sorted(jars_of(version, HERE / "pom.xml").glob("*.jar"))
        replaced = {_artifact(jar) for jar in own}
        self._folder, self._sources = folder, sources
        self._path = os.pathsep.join(map(str, [*own, *(jar for jar in current if _artifact(jar) not in replaced)]))
        self.has_clusters_in_names = version is not None and tuple(map(int, version.split(".")[:2])) < (4, 2)
        (folder / "log4j2.xml").write_text(QUIET)
        misfits, printed = self._compiled()
        may_lack = set(" ".join(SOURCES).split())
        if printed and (self.whole or not misfits or misfits - may_lack):
            raise MisfitError(f"not all sources fit {version or release().version}: {printed[-2000:]}")
        self.lacking = {kind for names, kinds in SOURCES.items() if misfits & set(names.split()) for kind in kinds}

    def _compiled(self) -> tuple[set[str], str]:
        """Compile what fits the release; the names of the other sources, and what the compiler said of them."""
        command = [
            *(java(), "-jar", str(compiler()), f"-{release().java}", "-nowarn", "-proc:none"),
            *("-cp", self._path, "-d", str(self._folder), str(self._sources)),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return set(re.findall(r"ERROR in .*/(\w+)\.java", done.stderr)), done.stderr if done.returncode else ""

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
        if self.whole and lacking:
            raise MisfitError(f"Pulsar's classes do not fit each other: {lacking}")
        self.lacking.update(lacking)
        return lines


def _artifact(jar: Path) -> str:
    """The name of a jar without its version."""
    return re.split(r"-\d", jar.name)[0]
