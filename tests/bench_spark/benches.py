"""Each job of the pipeline beside its peers: the same input, one run, and results compared before times count."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from engine.views.fleet.runs import result_at
from engine.views.fleet.summary import read_summary
from pipeline.jobs import job_called
from pipeline.jobs.result import JobOptions
from tests.bench_spark import assign_peers, bundle_peers, import_peers, key_peers, synthetic
from tests.bench_spark.spending import Meter, Spent, best, spent
from tui.sources.fleet_part import part_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

THREADS: Final = 2
_PULSAR: Final = JobOptions({"policies": "pulsar"})


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large each benchmark is; the tests run small ones. ``grown``: partitions, ascending."""

    partitions: int = 10_000_000
    topics: int = 1_000_000
    events: int = 10_000_000
    document_topics: int = 260_000
    few_topics: int = 1_000
    grown: tuple[int, ...] = (1_000_000, 4_000_000, 16_000_000)
    rounds: int = 2
    fleet: int = 5_000_000


@dataclass(frozen=True, slots=True)
class Line:
    """One comparison; ``goal`` is the most that ours / peer should be."""

    what: str
    ours: Spent
    peer: str
    theirs: Spent | None
    goal: str = ""


@dataclass
class Benches:
    """All benchmarks of one session; ``folder`` takes inputs and results, and is emptied of them again."""

    spark: SparkSession
    folder: Path
    sizes: Sizes

    def assign(self) -> Iterator[Line]:
        """Every partition of 200 subscriptions under both of Pulsar's rules."""
        source = self._made(synthetic.write_failover, self.sizes.partitions)
        cold, warm, ours = self._job("assign", source, _PULSAR)
        what = f"assign, {self.sizes.partitions:,} partitions"
        peers: tuple[tuple[str, Callable[[Path], None], str], ...] = (
            (f"DuckDB, {THREADS} threads", lambda target: assign_peers.by_duckdb(source, target, THREADS), "2.5"),
            ("numpy, one process", lambda target: assign_peers.by_numpy(source, target), ""),
        )
        yield from self._beside(what, cold, warm, ours, peers, assign_peers.check_equal)
        shutil.rmtree(source)

    def bundles(self) -> Iterator[Line]:
        """Every topic in its bundle, every bundle judged and cut by four algorithms."""
        source = self._made(synthetic.write_topics, self.sizes.topics)
        cold, warm, ours = self._job("bundles", source, JobOptions())
        what = f"bundles, {self.sizes.topics:,} topics"
        peers: tuple[tuple[str, Callable[[Path], None], str], ...] = (
            (f"DuckDB, {THREADS} threads", lambda target: bundle_peers.by_duckdb(source, target, THREADS), "2.5"),
            ("Arrow, one process", lambda target: bundle_peers.by_arrow(source, target), ""),
        )
        yield from self._beside(what, cold, warm, ours, peers, bundle_peers.check_equal)
        shutil.rmtree(source)

    def keys(self) -> Iterator[Line]:
        """A key trace of 16 subscriptions: slots, loads in every mode, hot keys."""
        source = self._made(synthetic.write_trace, self.sizes.events)
        options = JobOptions({"consumers-from": str(source / "consumers.json"), "top": str(key_peers.HOTTEST)})
        cold, warm, ours = self._job("keys", source / "traces", options)
        peers = ((f"DuckDB, {THREADS} threads", lambda target: key_peers.by_duckdb(source, target, THREADS), "2.5"),)
        yield from self._beside(f"keys, {self.sizes.events:,} events", cold, warm, ours, peers, key_peers.check_equal)
        shutil.rmtree(source)

    def imports(self) -> Iterator[Line]:
        """One large document, and a thousand topics."""
        source = self._fresh("document")
        document = source / "broker-stats-topics.json"
        size = synthetic.write_broker_stats(document, self.sizes.document_topics)
        cold, warm, ours = self._job("import", source, JobOptions())
        peers = (("msgspec alone", lambda target: import_peers.by_msgspec(document, target), "2.5"),)
        what = f"import, one document of {size / 1e6:,.0f} MB"
        yield from self._beside(what, cold, warm, ours, peers, import_peers.check_equal)
        synthetic.write_broker_stats(document, self.sizes.few_topics)
        cold, warm, ours = self._job("import", source, JobOptions())
        shutil.rmtree(ours)
        yield Line(f"import, {self.sizes.few_topics:,} topics, first", cold, "3 s from a started session", None)
        yield Line(f"import, {self.sizes.few_topics:,} topics, warm", warm, "", None)
        shutil.rmtree(source)

    def whole(self) -> Iterator[Line]:
        """A whole run over the answers of 20 brokers, job by job, once."""
        source, target = self._fresh("answers"), self._fresh("out-run")
        size = synthetic.write_fleet(source, self.sizes.fleet)
        meter, jobs, by_job = Meter(), [""], dict[str, Spent]()

        def say(text: str) -> None:
            if text.endswith("…"):
                by_job[jobs[-1]] = meter.read()
                jobs.append(text.removesuffix(" …"))

        what = f"{self.sizes.fleet:,} partitions"
        taken = spent(lambda: job_called("run")(self.spark, source, target, JobOptions({}, say)))
        by_job[jobs[-1]] = meter.read()
        for job in jobs[1:]:
            yield Line(f"run: {job}, {what}", by_job[job], "", None)
        yield Line(
            f"run, {what}, {size / 1e6:,.0f} MB",
            taken,
            f"{taken.wall_sec / self.sizes.fleet * 1e6:.1f} s a million",
            None,
        )
        summary = read_summary(result_at(target).document("summary.json"))
        assert not summary.failed, f"jobs failed: {summary.failed}"
        assert summary.totals.topics == self.sizes.fleet
        first = summary.worst_subscriptions[0]
        opened = spent(lambda: part_of(result_at(target), first.cluster, first.namespace, first.subscription))
        yield Line("fleet open, enter", opened, "", None, "0.3 CPU s")
        shutil.rmtree(source)
        shutil.rmtree(target)

    def growth(self) -> Iterator[Line]:
        """The same job at several sizes, each after a first run that is not counted; last the exponent."""
        taken: list[tuple[int, Spent]] = []
        for rows in self.sizes.grown:
            source = self._made(synthetic.write_failover, rows)
            _, warm, ours = self._job("assign", source, _PULSAR)
            taken.append((rows, warm))
            shutil.rmtree(source)
            shutil.rmtree(ours)
            before = taken[-2] if len(taken) > 1 else None
            peer = "" if before is None else f"{before[0]:,} partitions"
            goal = "4.4" if before is not None and rows == 4 * before[0] else ""
            yield Line(f"assign, {rows:,} partitions", taken[-1][1], peer, None if before is None else before[1], goal)

    def _made(self, write: Callable[[Path, int], None], rows: int) -> Path:
        folder = self._fresh(f"in-{rows}")
        write(folder, rows)
        return folder

    def _fresh(self, name: str) -> Path:
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def _job(self, name: str, source: Path, options: JobOptions) -> tuple[Spent, Spent, Path]:
        """The first run, the best of the later ones (of none, the first again), and the result."""
        target = self._fresh(f"out-{name}")

        def run() -> None:
            job_called(name)(self.spark, source, target, options)

        first = spent(run)
        return first, best(run, self.sizes.rounds) if self.sizes.rounds else first, target

    def _beside(
        self, what: str, cold: Spent, warm: Spent, ours: Path,
        peers: Sequence[tuple[str, Callable[[Path], None], str]], check: Callable[[Path, Path], int],
    ) -> Iterator[Line]:  # fmt: skip
        for name, work, goal in peers:
            target = self._fresh("peer")
            first = spent(lambda work=work, target=target: work(target))  # type: ignore[misc]
            assert check(ours, target) > 0, f"{what}: nothing was compared"
            theirs = best(lambda work=work, target=target: work(target), max(1, self.sizes.rounds - 1))  # type: ignore[misc]
            least = Spent(min(first.wall_sec, theirs.wall_sec), min(first.cpu_sec, theirs.cpu_sec))
            yield Line(f"{what}, first", cold, name, least)
            yield Line(f"{what}, warm", warm, name, least, goal)
            shutil.rmtree(target)
        shutil.rmtree(ours)


def exponent(lines: Sequence[Line], sizes: Sequence[int]) -> float:
    """By which power of the size the CPU time grows, from the first to the last; 1 is in proportion.

    >>> two = [Line("", Spent(1, 1), "", None), Line("", Spent(8, 8), "", None)]
    >>> exponent(two, (1, 4))
    1.5
    """
    first, last = lines[0].ours, lines[-1].ours
    return math.log((last.cpu_sec or last.wall_sec) / (first.cpu_sec or first.wall_sec)) / math.log(
        sizes[-1] / sizes[0]
    )


def text_of(line: Line) -> str:
    """One line of the table."""
    ours = f"{line.what:<44} {line.ours.wall_sec:>8.2f} {line.ours.cpu_sec:>8.2f}   {line.peer:<28}"
    if line.theirs is None:
        return ours.rstrip()
    wall = line.ours.wall_sec / line.theirs.wall_sec
    cpu = line.ours.cpu_sec / line.theirs.cpu_sec if line.theirs.cpu_sec else math.nan
    theirs = f"{line.theirs.wall_sec:>8.2f} {line.theirs.cpu_sec:>8.2f} {wall:>8.2f} {cpu:>8.2f}"
    return f"{ours} {theirs}  {f'at most {line.goal}' if line.goal else ''}".rstrip()


_SECONDS: Final = f"{'wall s':>8} {'CPU s':>8}"
HEADING: Final = f"{'what':<44} {_SECONDS}   {'peer':<28} {_SECONDS} {'x wall':>8} {'x CPU':>8}  goal"
