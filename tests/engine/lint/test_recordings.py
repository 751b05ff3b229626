"""What the doctor says of every recording of a broker: the table below, and nothing else.

Folders that are not in the table are clean. Counts are summed over the moments of a folder.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.admin.client_facts import client_facts
from engine.admin.snapshot import read_answers
from engine.errors import InputError
from engine.lint import Finding, Severity, lint
from engine.scenarios.embedded import SCENES, embedded
from engine.scenarios.linting import reported_facts
from engine.scenarios.opening import open_snapshot
from engine.scenarios.synthetic import synthetic_state
from tests.engine.scenarios.recordings import RECORDINGS
from tests.engine.scenarios.test_opening_recordings import RECORDED, steps

DUPLICATES, COLLIDE = "failover-duplicate-names", "failover-names-collide"
IGNORED, UNKNOWN = "failover-flag-ignored", "failover-flag-unknown"
NAMESAKES, GAPS, SERVED, NO_SLOTS = "key-duplicate-names", "key-gaps", "key-gaps-served", "key-no-slots"
HOT, VAIN = "bundle-hot-topic", "split-in-vain"
MANY, EMPTY = "split-many-boundaries", "split-empty-half"

EXPECTED: dict[str, dict[str, int]] = {
    # c-1 and c-11 in four moments, two consumers named c-1 in two of them.
    "a-namesakes-4p-hash": {DUPLICATES: 2, COLLIDE: 4},
    "a-namesakes-4p-modulo": {DUPLICATES: 2, COLLIDE: 4},
    # Topics without partitions while the flag is off, in each moment with two consumers of the best level.
    "b-failover-nonpartitioned-modulo": {IGNORED: 3},
    "b-priority-nonpartitioned-modulo": {IGNORED: 4},
    "b-priority-reversed-nonpartitioned-modulo": {IGNORED: 2},
    # Sticky ranges with holes; one consumer declares slots beyond the last one, another one slot 0 only.
    # In three moments one consumer has left and nobody has its ranges yet.
    "c-java-sticky-rejoin": {GAPS: 3},
    "c-keyshared-sticky": {GAPS: 5, NO_SLOTS: 1},
    "c-keyshared-sticky-slot0": {NO_SLOTS: 1},
    # One bundle between the limit of 120 messages/s and the 10 percent more that the flow algorithm wants.
    "d-flow-msgrate-4x60": {VAIN: 1},
    "f-inventory-2": {DUPLICATES: 2, COLLIDE: 1, IGNORED: 20, NAMESAKES: 1},
    # ring/lone: one topic of 100 messages/s where a bundle may carry 60, alone in its bundle, in three moments.
    # The namespaces full and nearly have, or come to have, as many bundles as they may.
    "g-autosplit-modular-count": {HOT: 3, VAIN: 18},
    # The same with another topic beside it; and bundles above their limits that the default algorithm cannot mend.
    "g-autosplit-extensible-flow": {HOT: 10, VAIN: 76, MANY: 17},
    "g-autosplit-extensible-range": {HOT: 10, EMPTY: 2, VAIN: 17},
    "g-autosplit-modular-flow": {HOT: 3, VAIN: 39},
    "g-autosplit-modular-range": {HOT: 3, EMPTY: 4, VAIN: 18},
    # Three weights are 0 in each of three moments, and the shedder in force has none.
    "g-shed-modular-uniform": {"setting-without-use": 9},
    "v2.11.0-c-keyshared-sticky-gaps-all-owned": {GAPS: 5, SERVED: 5},
    # Limits of 6 messages/s in these, and a topic that gets its messages in bursts.
    "v3.2.3-c-keyshared-autosplit": {HOT: 3, NAMESAKES: 4},
    "v3.3.6-c-keyshared-autosplit": {HOT: 3, NAMESAKES: 4},
    "v2.11.0-c-keyshared-autosplit": {NAMESAKES: 4},
    "v4.0.1-c-keyshared-ring": {NAMESAKES: 5},
    # Since #24730 a gap between ranges of one consumer is a gap.
    "v4.0.7-c-keyshared-sticky-gaps": {GAPS: 6},
    "v4.0.7-c-keyshared-sticky-gaps-any-order": {GAPS: 6},
    # Two named m1, v-a in four and three moments; two-1 and two-11; ranges that nobody has yet in four moments.
    "v5.0.1-a-wire-6p-hash": {DUPLICATES: 4},
    "v5.0.1-a-wire-6p-modulo": {DUPLICATES: 4},
    "v5.0.1-b-failover-nonpartitioned-hash": {COLLIDE: 1},
    "v5.0.1-c-keyshared-ring": {NAMESAKES: 3},
    "v5.0.1-c-keyshared-sticky": {GAPS: 4},
    # One topic alone above the limit of 40 messages/s.
    "v5.0.1-d-flow-msgrate-4x40": {HOT: 5},
}
for _version in ("3.0.2", "3.0.7", "3.3.2", "4.0.0", "4.0.7"):
    EXPECTED[f"v{_version}-c-keyshared-autosplit"] = {HOT: 4, NAMESAKES: 4}
for _version in ("2.11.0", "3.0.2", "3.0.7", "3.2.3", "3.3.2", "3.3.6", "4.0.0", "4.0.7"):
    EXPECTED[f"v{_version}-c-keyshared-ring"] = {NAMESAKES: 4}
for _version in ("4.0.0", "4.0.7"):
    EXPECTED[f"v{_version}-c-keyshared-ring-classic"] = {NAMESAKES: 4}
for _version in ("2.11.0", "3.0.2", "3.0.7", "3.2.3", "3.3.2", "3.3.6", "4.0.0", "4.0.1"):
    EXPECTED[f"v{_version}-c-keyshared-sticky-gaps"] = {GAPS: 7, SERVED: 7}
    if _version != "4.0.1":
        EXPECTED[f"v{_version}-c-keyshared-sticky-gaps-any-order"] = {GAPS: 7, SERVED: 7}
# The setting is in broker.conf, and these releases do not know it: modulo, and in 2.11.0 the first connected.
EXPECTED["v2.11.0-b-failover-8t-hash"] = {UNKNOWN: 6}
EXPECTED["v2.11.0-b-priority-nonpartitioned-hash"] = {UNKNOWN: 6}
for _version in ("2.11.0", "3.0.2", "3.0.7", "3.2.3", "3.3.2", "4.0.0"):
    EXPECTED[f"v{_version}-a-failover-6p-hash"] = {UNKNOWN: 5}
    if _version != "3.0.7":
        EXPECTED[f"v{_version}-a-namesakes-4p-hash"] = {DUPLICATES: 2, UNKNOWN: 4, COLLIDE: 4}
for _version in ("3.3.6", "4.0.7"):
    EXPECTED[f"v{_version}-a-namesakes-4p-hash"] = {DUPLICATES: 2, COLLIDE: 4}

WHOLE: dict[str, dict[str, int]] = {
    # A folder as one moment: of two answers about one thing the later one counts, so its last moment is left.
    "a-failover-8p-hash": {},
    "a-namesakes-4p-hash": {COLLIDE: 1},
    "b-failover-nonpartitioned-modulo": {IGNORED: 1},
    "c-keyshared-sticky-slot0": {NO_SLOTS: 1},
    "d-bundles-4x60": {},
    "e-key-routing-6p": {},
    "f-inventory-2": {DUPLICATES: 2, COLLIDE: 1, IGNORED: 20, NAMESAKES: 1},
    "g-two-brokers": {},
    "pip392-flag-off": {},
    "pip392-flag-on": {},
    "v4.0.0-a-failover-6p-hash": {UNKNOWN: 1},
    "versions": {},
    "versions-generated": {},
}


def moments(folder: Path) -> Iterator[tuple[bytes, list[Finding]]]:
    """Each recorded moment that can be opened, as one document, and what is found in it."""
    for files in steps(folder).values():
        named = {
            path.name.removesuffix(".gz"): gzip.decompress(path.read_bytes())
            for path in [*files, folder / "scenario.json.gz"]
        }
        inner = b",".join(json.dumps(name).encode() + b":" + text for name, text in named.items() if text.strip())
        whole = b"{" + inner + b"}"
        try:
            json.loads(whole)  # some answers are plain words
            snapshot = read_answers(whole)
            opened = open_snapshot(snapshot)
        except (InputError, ValueError):
            continue
        yield whole, list(lint(opened.state, reported_facts(snapshot, opened.state, client_facts(whole))))


@pytest.mark.parametrize("folder", RECORDED, ids=lambda path: path.name)
def test_the_moments_of_a_recording_have_exactly_the_findings_of_the_table(folder: Path) -> None:
    counts: Counter[str] = Counter()
    namesakes = 0
    for whole, findings in moments(folder):
        counts.update(finding.rule for finding in findings)
        namesakes += len(duplicates_by_hand(whole)) if folder.name != "f-inventory-2" else 0
    assert dict(counts) == EXPECTED.get(folder.name, {})
    if folder.name != "f-inventory-2":
        assert counts[DUPLICATES] + counts[NAMESAKES] == namesakes, "the consumers of the answers, counted by hand"


def duplicates_by_hand(whole: bytes) -> set[tuple[str, str]]:
    """(Subscription, name) where some list of consumers has a name twice, from the answers alone."""
    results: set[tuple[str, str]] = set()

    def walk(value: Any) -> None:
        for name, subscription in value.get("subscriptions", {}).items() if isinstance(value, dict) else ():
            kind = subscription.get("type")
            listed = Counter(each.get("consumerName") for each in subscription.get("consumers", ()))
            if kind in ("Failover", "Key_Shared"):
                results.update((name, each) for each, count in listed.items() if count > 1)
        for inner in value.values() if isinstance(value, dict) else ():
            walk(inner)

    for name, answer in json.loads(whole).items():
        if isinstance(answer, dict) and name != "scenario.json":
            partitions = answer.get("partitions")
            walk(partitions if partitions else answer)
    return results


def test_every_folder_of_the_table_is_there() -> None:
    folders = {path.name for path in RECORDED}
    assert set(EXPECTED) <= folders
    assert len(folders - set(EXPECTED)) > 40, "most recordings are clean"


def test_B05_what_the_extensible_load_manager_logged_as_failures_is_found_with_its_number_of_boundaries() -> None:
    folder = RECORDINGS / "g-autosplit-extensible-flow"
    log = b"".join(gzip.decompress(path.read_bytes()) for path in folder.glob("log-*.txt.gz")).decode()
    refused = re.findall(
        r"Can't split broker:(\S+)\. The size of split boundaries is not 1\. splitBoundary:\[(.*?)\]", log
    )
    nothing = re.findall(r"Can't split broker:(\S+)\. The split boundaries is null", log)
    assert refused and nothing
    findings = [each for _, found in moments(folder) for each in found]

    def of_rule(rule: str) -> list[Finding]:
        return [finding for finding in findings if finding.rule == rule]

    reported = {(bundle_of(each), each.number("boundaries")) for each in of_rule(MANY)}
    assert {(bundle, len(cuts.split(","))) for bundle, cuts in refused} <= reported
    assert {bundle for bundle, _ in reported} == {bundle for bundle, _ in refused}
    assert {each.severity for each in of_rule(MANY)} == {Severity.ERROR}
    assert set(nothing) <= {bundle_of(each) for each in of_rule(VAIN)}


@pytest.mark.parametrize("algorithm", ["flow", "range"])
def test_B13_what_the_extensible_load_manager_logged_as_too_many_bundles_is_reported_as_that(algorithm: str) -> None:
    folder = RECORDINGS / f"g-autosplit-extensible-{algorithm}"
    log = b"".join(gzip.decompress(path.read_bytes()) for path in folder.glob("log-*.txt.gz")).decode()
    logged = set(re.findall(r"Can't split broker:(\S+)\. Namespace:\S+ has too many bundles:16", log))
    vain = [finding for _, found in moments(folder) for finding in found if finding.rule == VAIN]
    full = {bundle_of(each) for each in vain if "loadBalancerNamespaceMaximumBundles is 16" in each.what}
    assert logged and logged <= full
    tried = {bundle_of(each) for each in vain if "tried again" in each.what}
    assert not any(bundle.startswith("ring/full/") for bundle in tried), "nothing was ever tried there"


def bundle_of(finding: Finding) -> str:
    return f"{finding.where.namespace}/{finding.where.bundle}"


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_a_folder_as_a_whole_has_the_findings_of_its_last_moment(name: str) -> None:
    folder = RECORDINGS / name
    snapshot = read_answers(folder)
    opened = open_snapshot(snapshot)
    findings = lint(opened.state, reported_facts(snapshot, opened.state, client_facts(folder)))
    assert dict(Counter(finding.rule for finding in findings)) == WHOLE[name]


@pytest.mark.parametrize("scene", [scene.name for scene in SCENES])
def test_the_embedded_scenes_have_no_warning_but_for_the_one_topic_of_pip_169_that_is_too_much(scene: str) -> None:
    findings = [(finding.rule, finding.severity) for finding in lint(embedded(scene).state)]
    expected = {
        "pip392": [],
        "flow-split": [(VAIN, Severity.INFO)],
        "pip-169": [("bundle-hot-topic", Severity.WARNING), ("split-many-boundaries", Severity.INFO)],
    }
    assert findings == expected.get(scene, [])


def test_a_clean_fleet_has_no_finding() -> None:
    for flag in (False, True):
        state = synthetic_state(topics=500, partitions=2, consumers=10, bundles=16, consistent_hashing=flag)
        assert lint(state.state) == ()
