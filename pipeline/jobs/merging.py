"""Merge the small tables of an import, in the driver, from those that its tasks wrote."""

from __future__ import annotations

from collections.abc import Sequence

from engine.bundles.boundaries import (
    FULL_LOWER_BOUND,
    FULL_UPPER_BOUND,
    BundleRange,
    NamespaceBundles,
    parse_range,
)
from engine.errors import Problem
from pipeline.jobs.import_reading import BOUNDARY_LISTS, place_of_file
from pipeline.reading.files import FoundFile
from pipeline.reading.rows import BAD, IMPORT, SUPERSEDED, Row, quarantine_row
from pipeline.schemas import BROKERS, Table
from pipeline.tables import Tables


def merge_boundary_lists(working: Tables, files: Sequence[FoundFile]) -> tuple[list[Row], list[Row], int]:
    """The bundles of each namespace from its latest list, rows of the quarantine about older lists, and a count.

    The same list in several answers (bundles, policies) is one list. The count is of the bundles in all lists.
    """
    position = {file.name: file.position for file in files}
    lists: dict[tuple[str, str], dict[tuple[int, ...], tuple[int, str]]] = {}
    for cluster, namespace, boundaries, file in working.rows(
        BOUNDARY_LISTS, "cluster", "namespace", "boundaries", "file"
    ):
        place = place_of_file(str(file), position)
        known = lists.setdefault((cluster, namespace), {})
        key = tuple(boundaries)
        known[key] = max(known.get(key, (-1, "")), (place, str(file)))
    bundles: list[Row] = []
    replaced: list[Row] = []
    count = 0
    for (cluster, namespace), known in sorted(lists.items()):
        ordered = sorted(known.items(), key=lambda entry: entry[1])
        for boundaries, (_, file) in ordered[:-1]:
            reason = f"its bundles of {namespace} are replaced by those of {ordered[-1][1][1]}"
            problem = Problem(file, "$.boundaries", reason, "a namespace has one list; the later one counts")
            replaced.append((cluster, IMPORT, *quarantine_row(problem, "bundles", len(boundaries) - 1, SUPERSEDED)))
            count += len(boundaries) - 1
        boundaries, (_, file) = ordered[-1]
        bundles += _rows(cluster, NamespaceBundles(namespace, boundaries), [file] * (len(boundaries) - 1))
        count += len(boundaries) - 1
    return bundles, replaced, count


def bundles_of_reports(listed: Sequence[tuple[Tables, Table]], known: set[tuple[str, str]]) -> list[Row]:
    """The bundles of namespaces without a list, where load reports and broker-stats together name every range.

    One report has the bundles of one broker only. Ranges with a gap, or with an overlap because a bundle was split
    between two reports, give nothing.
    """
    named: dict[tuple[str, str], dict[BundleRange, str]] = {}
    for tables, table in listed:
        for cluster, namespace, bundle, file in sorted(
            set(tables.rows(table, "cluster", "namespace", "range", "file"))
        ):
            piece = parse_range(bundle) if bundle and (cluster, namespace) not in known else None
            if isinstance(piece, BundleRange):
                named.setdefault((cluster, namespace), {}).setdefault(piece, file)
    bundles: list[Row] = []
    for (cluster, namespace), files in sorted(named.items()):
        ranges = sorted(files, key=lambda bundle: (bundle.lower, bundle.upper))
        ends = [FULL_LOWER_BOUND, *(bundle.upper for bundle in ranges)]
        if ends[-1] == FULL_UPPER_BOUND and ends[:-1] == [bundle.lower for bundle in ranges]:
            bundles += _rows(cluster, NamespaceBundles(namespace, tuple(ends)), [files[bundle] for bundle in ranges])
    return bundles


def _rows(cluster: str, bundles: NamespaceBundles, files: Sequence[str]) -> list[Row]:
    """Rows of the table ``bundles``; ``files`` say so, one for each bundle."""
    namespace = bundles.namespace
    return [
        (cluster, f"{namespace}/{bundle}", namespace, str(bundle), place, bundle.lower, bundle.upper, file)
        for place, (bundle, file) in enumerate(zip(bundles, files, strict=True))
    ]


def notices(tables: Tables, listed: Sequence[tuple[Tables, Table]]) -> list[Row]:
    """Notes about what no single answer shows: bundles that two brokers of a cluster claim, and brokers of different
    releases. ``listed``: the tables of reported bundles, and of those under which answers list topics."""
    notes: list[Row] = []
    claims: dict[tuple[str, str], dict[str, set[str]]] = {}
    columns = ("cluster", "namespace", "range", "broker", "file")
    for where, table in listed:
        for cluster, namespace, bundle, broker, file in where.rows(table, *columns):
            if broker is not None:
                claims.setdefault((cluster, f"{namespace}/{bundle}"), {}).setdefault(broker, set()).add(file)
    advice = "it moved while the answers were recorded, or a report is older than the move; record them again"
    for (cluster, bundle), files in sorted(claims.items()):
        if len(files) > 1:
            brokers = " and ".join(f"{broker} ({', '.join(sorted(own))})" for broker, own in sorted(files.items()))
            problem = Problem("", "$", f"{bundle} is claimed by {brokers}", advice)
            notes.append((cluster, IMPORT, *quarantine_row(problem, "bundles", 0, BAD)))
    versions: dict[str, dict[str, set[str]]] = {}
    for cluster, broker, version in tables.rows(BROKERS, "cluster", "broker", "version"):
        if version:  # metrics do not name it
            versions.setdefault(cluster, {}).setdefault(version, set()).add(broker)
    for cluster, brokers_of in sorted(versions.items()):
        if len(brokers_of) > 1:
            words = "; ".join(f"{version}: {', '.join(sorted(names))}" for version, names in sorted(brokers_of.items()))
            problem = Problem("", "$", f"the brokers have different releases: {words}", "rules may differ between them")
            notes.append((cluster, IMPORT, *quarantine_row(problem, "brokers")))
    return notes
