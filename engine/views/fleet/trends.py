"""How a fleet grew: what the summaries of the runs of one folder say of each cluster and tenant, by their moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from engine.errors import InputError
from engine.views.fleet.runs import ResultFolder, result_at, run_ids
from engine.views.fleet.summary import FILE_NAME, FleetSummary, read_summary

MOST_RUNS: Final = 30
"""The newest so many are read."""
MEASURES: Final = ("topics", "msg_rate_in", "msg_rate_out", "storage_size_bytes", "backlog_size_bytes")


@dataclass(frozen=True, slots=True)
class Trend:
    """One cluster, or with ``tenant`` one tenant of it: of each of ``MEASURES`` a value for each run, None where it is
    unknown."""

    cluster: str
    tenant: str
    values: tuple[tuple[float | None, ...], ...]


def growth(values: Sequence[float | None]) -> float | None:
    """The change from the first known value to the last one, as a share of the first; None where one is unknown.

    >>> growth((None, 8.0, 9.0, 10.0)), growth((None, 8.0)), growth((0, 8.0)), growth((8.0, 9.0, None))
    (0.25, None, None, None)
    """
    *before, last = values
    first = next((value for value in before if value is not None), None)
    return last / first - 1 if last is not None and first else None


def history_of(result: ResultFolder) -> list[FleetSummary]:
    """The summaries of the runs of a folder up to the moment of this one, by their moments.

    A run without a moment, or without a summary that this release can read, is left out. Reads a manifest for each run.
    """
    summaries: dict[str, FleetSummary] = {}
    for run in run_ids(result.root)[-MOST_RUNS:]:
        try:
            summary = read_summary(result_at(result.root, run).document(FILE_NAME))
        except (InputError, OSError):  # it was removed meanwhile, or another release wrote it
            continue
        if summary.snapshot_time is not None:
            summaries[summary.snapshot_time] = summary  # of two runs about one moment the later one
    last = result.manifest.snapshot_time
    return [summaries[moment] for moment in sorted(summaries) if last is None or moment <= last.isoformat()]


def trends_of(history: Sequence[FleetSummary]) -> list[Trend]:
    """The trends of the clusters and tenants that the last summary has: clusters first, then those of most topics."""
    if len(history) < 2:
        return []
    runs = [{(group.cluster, group.tenant): group for group in summary.groups} for summary in history]
    last = sorted(
        history[-1].groups, key=lambda group: (bool(group.tenant), -group.topics, group.cluster, group.tenant)
    )
    return [
        Trend(
            group.cluster, group.tenant,
            tuple(
                tuple(getattr(run.get((group.cluster, group.tenant)), measure, None) for run in runs)
                for measure in MEASURES
            ),
        )
        for group in last
    ]  # fmt: skip
