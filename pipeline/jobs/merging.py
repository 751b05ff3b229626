"""Merge the small tables of an import, in the driver, from those that its tasks wrote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from engine.admin.clusters import root_of
from engine.bundles.boundaries import (
    FULL_LOWER_BOUND,
    FULL_UPPER_BOUND,
    BundleRange,
    NamespaceBundles,
    parse_range,
)
from engine.errors import Problem
from pipeline.broker_groups import clusters_of_loads
from pipeline.jobs.import_reading import place_of_file
from pipeline.reading.files import FoundFile
from pipeline.reading.rows import BAD, SUPERSEDED, Row, quarantine_row
from pipeline.schemas import BROKERS, BUNDLE_REPORTS
from pipeline.storage import Place
from pipeline.tables import rows_of


def merge_boundary_lists(folder: Place, files: Sequence[FoundFile]) -> tuple[list[Row], list[Row], int]:
    """The bundles of each namespace from its latest list, rows of the quarantine about older lists, and a count.

    The same list in several answers (bundles, policies) is one list. The count is of the bundles in all lists.
    """
    position = {file.name: file.position for file in files}
    lists: dict[str, dict[tuple[int, ...], tuple[int, str]]] = {}
    for namespace, boundaries, file in rows_of(folder, "namespace", "boundaries", "file"):
        place = place_of_file(str(file), position)
        known = lists.setdefault(str(namespace), {})
        key = tuple(boundaries)
        known[key] = max(known.get(key, (-1, "")), (place, str(file)))
    bundles: list[Row] = []
    replaced: list[Row] = []
    count = 0
    for namespace, known in sorted(lists.items()):
        ordered = sorted(known.items(), key=lambda entry: entry[1])
        for boundaries, (_, file) in ordered[:-1]:
            reason = f"its bundles of {namespace} are replaced by those of {ordered[-1][1][1]}"
            problem = Problem(file, "$.boundaries", reason, "a namespace has one list; the later one counts")
            replaced.append(quarantine_row(problem, "bundles", len(boundaries) - 1, SUPERSEDED))
            count += len(boundaries) - 1
        boundaries, (_, file) = ordered[-1]
        bundles += _rows(NamespaceBundles(namespace, boundaries), [file] * (len(boundaries) - 1))
        count += len(boundaries) - 1
    return bundles, replaced, count


def bundles_of_reports(reports: Place, listed: Place, known: set[str]) -> list[Row]:
    """The bundles of namespaces without a list, where load reports and broker-stats together name every range.

    One report has the bundles of one broker only. Ranges with a gap, or with an overlap because a bundle was split
    between two reports, give nothing.
    """
    named: dict[str, dict[BundleRange, str]] = {}
    for folder in (reports, listed):
        for namespace, bundle, file in sorted(set(rows_of(folder, "namespace", "range", "file"))):
            piece = parse_range(bundle) if bundle and namespace not in known else None
            if isinstance(piece, BundleRange):
                named.setdefault(namespace, {}).setdefault(piece, file)
    bundles: list[Row] = []
    for namespace, files in sorted(named.items()):
        ranges = sorted(files, key=lambda bundle: (bundle.lower, bundle.upper))
        ends = [FULL_LOWER_BOUND, *(bundle.upper for bundle in ranges)]
        if ends[-1] == FULL_UPPER_BOUND and ends[:-1] == [bundle.lower for bundle in ranges]:
            bundles += _rows(NamespaceBundles(namespace, tuple(ends)), [files[bundle] for bundle in ranges])
    return bundles


def _rows(bundles: NamespaceBundles, files: Sequence[str]) -> list[Row]:
    """Rows of the table ``bundles``; ``files`` say so, one for each bundle."""
    namespace = bundles.namespace
    return [
        (f"{namespace}/{bundle}", namespace, str(bundle), place, bundle.lower, bundle.upper, file)
        for place, (bundle, file) in enumerate(zip(bundles, files, strict=True))
    ]


def notices(tables: Place, listed: Place) -> list[Row]:
    """Notes about what no single answer shows: bundles that two brokers claim, and brokers of different releases.

    ``listed``: the bundles under which answers list topics. Two clusters may have the same namespaces, so only brokers
    of one cluster claim a bundle twice.
    """
    notes: list[Row] = []
    clusters = clusters_of_loads(tables)
    for folder, where in ((tables / BUNDLE_REPORTS.name, "load reports ({files})"), (listed, "statistics")):
        brokers: dict[str, set[tuple[str, str]]] = {}
        for namespace, bundle, broker, file in rows_of(folder, "namespace", "range", "broker", "file"):
            if broker is not None:
                brokers.setdefault(f"{namespace}/{bundle}", set()).add((broker, file))
        for bundle, pairs in sorted(brokers.items()):
            for names, files in _in_one_cluster(pairs, clusters):
                claim = where.format(files=", ".join(files))
                reason = f"{bundle} is claimed by {' and '.join(names)} in their {claim}"
                advice = (
                    "it moved while the answers were recorded, or a report is older than the move; record them again"
                )
                notes.append(quarantine_row(Problem("", "$", reason, advice), "bundles", 0, BAD))
    versions: dict[str, list[str]] = {}
    for broker, version in rows_of(tables / BROKERS.name, "broker", "version"):
        if version:  # metrics do not name it
            versions.setdefault(str(version), []).append(str(broker))
    if len(versions) > 1:
        words = "; ".join(f"{version}: {', '.join(sorted(set(names)))}" for version, names in sorted(versions.items()))
        problem = Problem("", "$", f"the brokers have different releases: {words}", "rules may differ between them")
        notes.append(quarantine_row(problem, "brokers"))
    return notes


def _in_one_cluster(
    listed: Iterable[tuple[str, str]], clusters: Mapping[str, str]
) -> Iterator[tuple[list[str], list[str]]]:
    """Brokers of one cluster that list the same bundle, where they are two or more, and the files in which they do.

    Statistics in a folder without load reports are of the cluster of that folder.
    """
    by_cluster: dict[str, dict[str, str]] = {}
    for broker, file in sorted(listed):
        root = root_of(file)
        by_cluster.setdefault(clusters.get(root, root.rstrip("/")), {})[broker] = file
    for brokers in by_cluster.values():
        if len(brokers) > 1:
            yield sorted(brokers), sorted(brokers.values())
