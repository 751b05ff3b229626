"""Load reports of the modular load manager: their own sums, and the order of their bundles."""

from __future__ import annotations

import math
from typing import Final

from engine.admin.load_reports import BundleReport
from engine.balance.splitting.modular import visiting_order
from engine.hashing import java_string_hash
from engine.verify.report import FactKind, Ledger

RELATIVE: Final = 1e-9
"""Sums of the same numbers may differ by this part: another serialiser may cut the last digits."""
_MOST_BUCKETS: Final = 2**16


def compare_report(ledger: Ledger, broker: str, report: BundleReport) -> None:
    """Compare the totals of a report with the sums over its bundles, and their order with that of a Java map."""
    bundles = report.bundles
    sums = {
        "numTopics": sum(bundle.topics for bundle in bundles),
        "numBundles": len(bundles),
        "numConsumers": sum(bundle.consumers for bundle in bundles),
        "numProducers": sum(bundle.producers for bundle in bundles),
        "msgRateIn": sum(bundle.msg_rate_in for bundle in bundles),
        "msgRateOut": sum(bundle.msg_rate_out for bundle in bundles),
    }
    totals = report.totals
    differing = [
        name for name in totals if not math.isclose(totals[name], sums[name], rel_tol=RELATIVE, abs_tol=RELATIVE)
    ]
    recorded, modelled = (tuple(f"{name} {side[name]:.9g}" for name in differing) for side in (totals, sums))
    ledger.compare(FactKind.REPORT_TOTALS, broker, recorded, modelled, "the sums over its bundles")
    names = tuple(bundle.bundle for bundle in bundles)
    ledger.compare(FactKind.REPORT_ORDER, broker, names, _map_order(names), "a Java map's, by the hash of the name")


def _map_order(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names as given if some Java map iterates over them so, else the order of a map that was just filled.

    A map that once held more names has more buckets than it needs now.
    """
    codes = [java_string_hash(name) for name in names]
    buckets = 16
    while buckets <= _MOST_BUCKETS:
        places = [(code ^ (code >> 16)) % buckets for code in codes]
        if len(names) <= buckets and places == sorted(places):
            return names
        buckets *= 2
    return visiting_order(names)
