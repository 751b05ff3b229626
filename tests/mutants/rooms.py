"""The rooms of the engine's rules, deciders and ground floor: the files that are changed, the tests that notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.golden.harness import SCALABLE

ROOT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Room:
    """``files`` are changed; ``tests`` (besides the doctests of ``files``) and the golden ``families`` are run."""

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...]
    families: tuple[str, ...]

    def paths(self) -> list[Path]:
        """The source files, sorted. A pattern without a file is a mistake."""
        result: set[Path] = set()
        for pattern in self.files:
            matches = set(ROOT.glob(pattern))
            assert matches, f"{pattern} matches no file"
            result |= matches
        return sorted(result)

    def arguments(self) -> list[str]:
        """The words for pytest that select the tests of the room."""
        words = [path.relative_to(ROOT).as_posix() for path in self.paths()]
        for pattern in self.tests:
            matches = sorted(ROOT.glob(pattern))
            assert matches, f"{pattern} matches no test"
            words += [path.relative_to(ROOT).as_posix() for path in matches]
        return words + [f"tests/golden/test_golden.py::test_family[{family}]" for family in self.families]


_KEYSHARED: Final = (
    "keyshared_autosplit",
    "keyshared_consistent",
    "keyshared_consistent_legacy",
    "keyshared_sticky",
    "keyshared_sticky_legacy",
    "keyshared_sticky_client",
)
_BUNDLES: Final = (
    "bundle_hash",
    "bundles",
    "split_range",
    "split_topic_count",
    "split_specified",
    "split_flow_qps",
    "split_bundles",
)
_BALANCE: Final = ("autosplit", "load_average")
_SHEDDING: Final = (
    "shed_overload",
    "shed_threshold",
    "shed_uniform",
    "shed_avg",
    "transfer_shedder",
    "place_avg",
    "place_least_rate",
    "place_least_resource",
    "round_robin",
    "most_servicing",
    "filters",
    "bundle_choice",
    "broker_load_weighted",
    "report_needed",
    "modular_cycle",
)
_ROUTING: Final = ("partition_index", "routers", "publisher_stats", "partitioned_stats")
_FAILOVER: Final = ("failover", "failover_sequences")
_SCALABLE: Final = tuple(f"5.0.1/{family}" for family in SCALABLE)

ROOMS: Final = {
    room.name: room
    for room in (
        Room(
            "ground",
            ("engine/[!_]*.py",),
            (
                "tests/engine/test_*.py",
                "tests/engine/admin/test_hostile_names.py",
                "tests/properties/test_bulk_hashing.py",
            ),
            ("murmur3", "unit_tests", *_ROUTING, *_FAILOVER, *_BUNDLES, *_BALANCE, *_KEYSHARED),
        ),
        Room(
            "failover",
            ("engine/failover/*.py",),
            (
                "tests/engine/failover/test_*.py",
                "tests/properties/test_*failover*.py",
                "tests/properties/test_one_look_up.py",
                "tests/engine/test_bulk_bug_rows.py",
            ),
            ("unit_tests", *_FAILOVER),
        ),
        Room(
            "keyshared",
            ("engine/keyshared/*.py",),
            ("tests/engine/keyshared/test_*.py", "tests/properties/test_*keyshared*.py"),
            ("unit_tests", *_KEYSHARED),
        ),
        Room(
            "routing",
            ("engine/routing/*.py",),
            (
                "tests/engine/routing/test_*.py",
                "tests/properties/test_routing_laws.py",
                "tests/properties/test_producer_laws.py",
                "tests/properties/test_producer_machine.py",
            ),
            ("unit_tests", "murmur3", *_ROUTING),
        ),
        Room(
            "scalable",
            ("engine/scalable/*.py",),
            ("tests/engine/scalable/test_*.py", "tests/properties/test_scalable_laws.py"),
            _SCALABLE,
        ),
        Room(
            "scalable-cluster",
            ("engine/cluster/scalable/*.py",),
            ("tests/engine/cluster/test_scalable_*.py", "tests/engine/views/test_scalable.py"),
            (),
        ),
        Room(
            "bundles",
            ("engine/bundles/*.py",),
            (
                "tests/engine/bundles/test_*.py",
                "tests/properties/test_bulk_bundles.py",
                "tests/properties/test_bundle_laws.py",
            ),
            ("unit_tests", *_BUNDLES),
        ),
        Room(
            "balance",
            ("engine/balance/**/*.py",),
            (
                "tests/engine/balance/test_*.py",
                "tests/engine/views/test_brokers.py",
                "tests/lab/test_shedding.py",
                "tests/properties/test_autosplit_laws.py",
                "tests/properties/test_balance_*.py",
                "tests/properties/test_broker_deaths.py",
                "tests/properties/test_shedding_laws.py",
            ),
            ("unit_tests", *_BALANCE, *_SHEDDING),
        ),
        Room(
            "diagnosis",
            ("engine/diagnosis/*.py", "engine/diagnosis/causes/*.py"),
            ("tests/engine/diagnosis/test_*.py", "tests/properties/test_why_order.py"),
            (),
        ),
    )
}
