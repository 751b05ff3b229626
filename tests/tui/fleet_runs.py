"""Two runs of a small fleet, as the jobs write them; what differs is counted by hand in the tests."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from engine.views.fleet import tables as schemas
from engine.views.fleet.tables import Table
from tests import fleet_results

MONDAY: Final = ("20261123T060000000Z-aaaaaaaa", datetime(2026, 11, 23, 6, tzinfo=UTC))
TUESDAY: Final = ("20261124T060000000Z-bbbbbbbb", datetime(2026, 11, 24, 6, tzinfo=UTC))
"""Run id and moment."""
NAMESPACE: Final = "shop/orders"
BILLING: Final[Mapping[str, tuple[str | None, ...]]] = {
    "monday": ("a", "b", "c", "a", "b"),
    "tuesday": ("a", "c", "c", "d", "d", "d"),
}
"""Owners of the partitions: of five, 1, 3 and 4 move; the sixth is new."""
AUDIT: Final[Mapping[str, tuple[str | None, ...]]] = {"monday": ("x", None), "tuesday": ("x", "x")}
"""Owners by modulo; the second partition had nobody."""


def topic(index: int) -> str:
    return f"persistent://{NAMESPACE}/o-partition-{index}"


def write(folder: Path, table: Table, rows: list[tuple[Any, ...]], run_id: str) -> None:
    """A table of a run, of rows without their cluster: there is only one."""
    fleet_results.put_table(folder, table.name, table.columns_of([("", *row) for row in rows]), run_id)


def result(folder: Path, day: str) -> Path:
    """The run of one day, added to those that the folder has."""
    run_id, moment = MONDAY if day == "monday" else TUESDAY
    later = day == "tuesday"
    # billing is on the ring (flag_on), audit by modulo (flag_off); the other policy's consumers must not count.
    owners: list[tuple[Any, ...]] = []
    for name, actives, in_force in (("billing", BILLING[day], "flag_on"), ("audit", AUDIT[day], "flag_off")):
        for index, active in enumerate(actives):
            by_policy = [active if policy == in_force else f"not-in-force-{day}" for policy in ("flag_off", "flag_on")]
            chosen = [column for owner in by_policy for column in (owner, 0, "", False)]
            owners.append((name, topic(index), NAMESPACE, index, 1, None, active, 0, *chosen, 1.0, 1.0))
    write(folder, schemas.ASSIGNMENTS, owners, run_id)
    loads = [
        (NAMESPACE, name, policy, 5, 3, 0, 2, 1.0, 1.0, 1.0, 1.0, 0, 0, 1.0, True, policy == in_force, 1, 0.0, None,
         None, None)
        for name, in_force in (("billing", "flag_on"), ("audit", "flag_off"))
        for policy in ("flag_off", "flag_on")
    ]  # fmt: skip
    write(folder, schemas.SUBSCRIPTION_LOADS, loads, run_id)
    gone_or_new = "late" if later else "early"
    worst = [
        _worst("billing", "Failover", 1.5 if later else 1.2, 2 if later else 0, 30.0 if later else 10.0, None),
        _worst("audit", "Failover", 1.0 if later else 2.0, 0 if later else 1, 0.0 if later else 4.0, None),
        _worst("keys", "Key_Shared", 1.25, 0, 3.0, "HOT_KEY" if later else "CHANCE"),
        _worst("unknown", "Failover", 9.0 if later else None, 0, 1.0 + (1e-13 if later else 0.0), None),
        _worst(gone_or_new, "Shared", None, 0, 0.0, None),
    ]
    write(folder, schemas.WORST_SUBSCRIPTIONS, worst, run_id)
    findings = [
        _finding("failover-names-collide", "warning", "billing", f"{90 if later else 91} of 100 points"),
        _finding("failover-idle", "error", "billing", "2 idle") if later else
        _finding("failover-nobody", "error", "audit", "1 partition"),
    ]  # fmt: skip
    write(folder, schemas.FINDINGS, findings, run_id)
    rows = [
        (topic(at), "persistent", NAMESPACE, f"persistent://{NAMESPACE}/o", at, None, "b-1", 1.0, 1.0, 1.0, 1.0, 0, 0,
         1, 1, "stats", "a.json")
        for at in range(len(BILLING[day]))
    ]  # fmt: skip
    write(folder, schemas.TOPICS, rows, run_id)
    brokers = ("b-1", "b-3", "b-4") if later else ("b-1", "b-2")
    write(folder, schemas.BROKERS, [(name, "4.0.7", 0, 2, "a.json") for name in brokers], run_id)
    fleet_results.put_moment(folder, moment, run_id)
    return folder


def _worst(name: str, kind: str, uneven: float | None, idle: int, lost: float, verdict: str | None) -> tuple[Any, ...]:
    return (
        NAMESPACE, name, kind, "flag_on", 5, 3, idle, None, 0, 0, verdict, 0, None, 1.0, 0, uneven, 1, lost,
        None, None, None, 0, 0, True,
    )  # fmt: skip


def _finding(rule: str, severity: str, subscription: str, what: str) -> tuple[Any, ...]:
    return (NAMESPACE, subscription, rule, severity, 2, "", "", "", 1, what, "mend it", [])


def both_days(folder: Path) -> tuple[str, str]:
    """Two result folders, Monday's and Tuesday's."""
    return str(result(folder / "monday", "monday")), str(result(folder / "tuesday", "tuesday"))
