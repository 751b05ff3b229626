"""Checkers of the bundle families: names and hashes, boundary lists, the split algorithms, whole split requests.

Each answers a line's ``in`` in the shape of its ``out``. Refusals are compared by Pulsar's exception name, and by
status and stage where the line has them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from engine.bundles.algorithms import flow_limits, range_equally_divide, resolve_algorithm, specified_positions_divide
from engine.bundles.boundaries import (
    BundleRange,
    NamespaceBundles,
    SplitRefusal,
    boundary_text,
    compare_bundles,
    default_boundaries,
    namespace_bundles,
    parse_range,
    split_bundles,
)
from engine.bundles.bulk_splits import flow_or_qps_as_proposed, flow_or_qps_equally_divide, topic_count_equally_divide
from engine.bundles.columns import topics_in
from engine.bundles.loads import (
    BundleAverage,
    TopicLoad,
    find_topic,
    hottest_bundle,
    largest_bundle,
    topic_load,
    with_partitions,
)
from engine.bundles.split import choose_cuts
from engine.config import BrokerSettings
from engine.errors import Rejection
from engine.hashing import crc32_hash
from engine.names import TopicName, parse_topic_name
from tests.golden.creation import validate_boundaries_at_creation
from tests.golden.harness import Line, checks
from tests.golden.load_lines import release_in_force

Given = dict[str, Any]
Answer = dict[str, Any]

CLASSES = {
    "range_equally_divide": "RangeEquallyDivideBundleSplitAlgorithm",
    "topic_count_equally_divide": "TopicCountEquallyDivideBundleSplitAlgorithm",
    "specified_positions_divide": "SpecifiedPositionsBundleSplitAlgorithm",
    "flow_or_qps_equally_divide": "FlowOrQpsEquallyDivideBundleSplitAlgorithm",
}


def answers(*families: str, kind: str) -> Callable[[Callable[[Given], Answer]], Callable[[Given], Answer]]:
    """Register a function from ``in`` to ``out`` as the checker of a kind, in its own families and in unit_tests."""

    def register(answer: Callable[[Given], Answer]) -> Callable[[Given], Answer]:
        def check(line: Line) -> None:
            given = answer(line["in"])
            expected = line["out"]
            # Where Pulsar's answer names a stage only for the reader, ours has none.
            shown = {key: value for key, value in expected.items() if key in given or key != "stage"}
            assert given == shown
            _check_expectation(line.get("expect", {}), given)

        for family in (*families, "unit_tests"):
            checks(family, kind=kind)(check)
        return answer

    return register


def _check_expectation(expect: Answer, given: Answer) -> None:
    """What the Java test itself asserts: members of the answer, the number of children, the first boundary."""
    for key, value in expect.items():
        if key == "n":
            assert len(given["children"]) == value
        elif key == "first":
            assert given["boundaries"][0] == value
        else:
            assert given[key] == value, key


def _error(rejection: Rejection) -> Answer:
    answer: Answer = {"error": rejection.error}
    if rejection.error == "RestException":
        answer["status"] = rejection.status
    if isinstance(rejection, SplitRefusal):
        answer["stage"] = rejection.stage
    return answer


def _texts(boundaries: tuple[int, ...]) -> list[str]:
    return [boundary_text(boundary) for boundary in boundaries]


def _bundles(given: Given) -> NamespaceBundles:
    built = namespace_bundles(given["ns"], given["boundaries"])
    assert isinstance(built, NamespaceBundles), built
    return built


def _default_bundles(namespace: str, count: int) -> NamespaceBundles:
    boundaries = default_boundaries(count)
    assert isinstance(boundaries, tuple), boundaries
    return NamespaceBundles(namespace, boundaries)


def _range(text: str) -> BundleRange:
    parsed = parse_range(text)
    assert isinstance(parsed, BundleRange), parsed
    return parsed


def _load(entry: Any) -> TopicLoad:
    if isinstance(entry, str):
        return topic_load(entry)
    if entry.get("noStats"):
        return topic_load(entry["name"], has_stats=False)
    return topic_load(entry["name"], entry["rateIn"], entry["rateOut"], entry["thrIn"], entry["thrOut"])


def _loads(entries: list[Any] | None) -> list[TopicLoad] | None:
    return None if entries is None else [_load(entry) for entry in entries]


def _limits(config: dict[str, int], default: str = "flow_or_qps_equally_divide") -> BrokerSettings:
    return BrokerSettings(
        defaultNamespaceBundleSplitAlgorithm=default,
        loadBalancerNamespaceBundleMaxMsgRate=config["maxMsgRate"],
        loadBalancerNamespaceBundleMaxBandwidthMbytes=config["maxBandwidthMbytes"],
        flowOrQpsDifferenceThresholdPercentage=config["diffPercent"],
    )


def _cuts(cuts: tuple[int, ...] | Rejection | None) -> Answer:
    if isinstance(cuts, Rejection):
        return _error(cuts)
    return {"boundaries": None if cuts is None else list(cuts)}


@answers("bundle_hash", kind="topic_hash")
def topic_hash(given: Given) -> Answer:
    name = parse_topic_name(given["topic"])
    if isinstance(name, Rejection):
        return _error(name)
    position = crc32_hash(name.complete)
    placed: Answer = {}
    for count in given["numBundles"]:
        result = _default_bundles(name.namespace, count).pulsar_find(position)
        placed[str(count)] = _error(result) if isinstance(result, Rejection) else str(result)
    return {
        "complete": name.complete,
        "domain": name.domain,
        "namespace": name.namespace,
        "partition": name.partition_index,
        "partitionedTopic": name.partitioned_topic,
        "hash": position,
        "bundle": placed,
    }


@answers("bundles", kind="default_boundaries")
def default_boundaries_answer(given: Given) -> Answer:
    boundaries = default_boundaries(given["numBundles"])
    if isinstance(boundaries, Rejection):
        return _error(boundaries)
    texts = _texts(boundaries)
    answer: Answer = {
        "numBundles": given["numBundles"],
        "count": len(texts),
        "sha256": hashlib.sha256(",".join(texts).encode()).hexdigest(),
        "valid": isinstance(namespace_bundles("tn/ns", boundaries), NamespaceBundles),
    }
    shown = {"boundaries": texts} if len(texts) <= 70 else {"first": texts[:4], "last": texts[-4:]}
    return answer | shown


@answers("bundles", kind="namespace_bundles")
def namespace_bundles_answer(given: Given) -> Answer:
    built = namespace_bundles(given["ns"], given["boundaries"])
    if isinstance(built, Rejection):
        return _error(built)
    return {"bundles": list(built.full_names), "boundaries": _texts(built.boundaries)}


@answers("bundles", kind="find")
def find(given: Given) -> Answer:
    bundles = _bundles(given)
    result = bundles.pulsar_find(given["hash"])
    if isinstance(result, Rejection):
        return _error(result)
    return {"bundle": str(result), "index": bundles.index_of(given["hash"])}


@answers("bundles", kind="find_topic")
def find_topic_answer(given: Given) -> Answer:
    name = parse_topic_name(given["topic"])
    assert isinstance(name, TopicName)
    topic = find_topic(_bundles(given), name)
    return _error(topic) if isinstance(topic, Rejection) else {"bundle": str(topic)}


@answers("bundles", kind="range")
def parse_range_answer(given: Given) -> Answer:
    bundle = parse_range(given["range"])
    if isinstance(bundle, Rejection):
        return _error(bundle)
    return {
        "bundle": f"{given['ns']}/{bundle}",
        "lower": bundle.lower,
        "upper": bundle.upper,
        "upperInclusive": bundle.upper_inclusive,
        "canSplit": bundle.can_split,
    }


@answers("bundles", kind="includes")
def includes(given: Given) -> Answer:
    name = parse_topic_name(given["topic"])
    assert isinstance(name, TopicName)
    inside = name.namespace == given["ns"] and _range(given["range"]).includes(crc32_hash(name.complete))
    return {"includes": inside}


@answers("bundles", kind="validate")
def validate(given: Given) -> Answer:
    refusal = _bundles(given).validate_bundle(_range(given["range"]))
    return {"ok": True} if refusal is None else _error(refusal)


@answers("bundles", kind="compare")
def compare(given: Given) -> Answer:
    sign = compare_bundles(given["ns"], _range(given["a"]), given["nsB"], _range(given["b"]))
    return _error(sign) if isinstance(sign, Rejection) else {"sign": sign}


@answers("bundles", kind="create_boundaries")
def create_boundaries(given: Given) -> Answer:
    boundaries = validate_boundaries_at_creation(given["boundaries"])
    if isinstance(boundaries, Rejection):
        return _error(boundaries)
    return {"boundaries": _texts(boundaries), "numBundles": len(boundaries) - 1}


@answers("bundles", kind="largest_bundle")
def largest_bundle_answer(given: Given) -> Answer:
    largest = largest_bundle(_bundles(given), _loads(given["topics"]) or ())
    return {"bundle": None if largest is None else str(largest)}


@answers("bundles", kind="hot_bundle")
def hot_bundle(given: Given) -> Answer:
    averages = {
        text: BundleAverage(data["topics"], data["longThrIn"], data["longThrOut"])
        for text, data in given["bundleData"].items()
    }
    hottest = hottest_bundle(_bundles(given), averages)
    return {"bundle": None if hottest is None else str(hottest)}


@answers("split_range", kind="split_range")
def split_range(given: Given) -> Answer:
    bundle = _range(given["bundle"])
    return _cuts(range_equally_divide(bundle.lower, bundle.upper))


@answers("split_topic_count", kind="split_topic_count")
def split_topic_count(given: Given) -> Answer:
    return _cuts(topic_count_equally_divide(_loads(given["topics"]) or ()))


@answers("split_specified", kind="split_specified")
def split_specified(given: Given) -> Answer:
    bundle, topics = _range(given["bundle"]), _loads(given["topics"])
    return _cuts(specified_positions_divide(bundle, topics, given["positions"], force=given["force"]))


@answers("split_flow_qps", kind="split_flow_qps")
def split_flow_qps(given: Given) -> Answer:
    topics, limits = _loads(given["topics"]) or (), flow_limits(_limits(given["config"]))
    merged = _cuts(flow_or_qps_equally_divide(topics, limits))
    return merged | {"proposal": list(flow_or_qps_as_proposed(topics))}


@answers("split_bundles", kind="split_bundles")
def split_bundles_answer(given: Given) -> Answer:
    return _split(_bundles(given), _range(given["target"]), given["numBundles"], given["splitBoundaries"])


def _split(bundles: NamespaceBundles, target: BundleRange, number: int, cuts: Any) -> Answer:
    result = split_bundles(bundles, target, number, cuts)
    if isinstance(result, Rejection):
        return _error(result)
    if result is None:
        return {"result": None}
    return {"boundaries": _texts(result.bundles.boundaries), "children": [str(child) for child in result.children]}


@answers("split_bundles", kind="split_plan")
def split_plan(given: Given) -> Answer:
    """The chain below the REST layer, which alone refuses unknown names: name, topics of the bundle, cuts, bundles."""
    bundles, target = _bundles(given), _range(given["target"])
    topics = topics_in(target, with_partitions(_loads(given["topics"]) or (), given["partitions"]))
    settings = _limits(given["config"], given["defaultAlgorithm"])
    algorithm = resolve_algorithm(given["algorithm"], given["defaultAlgorithm"])
    cuts = choose_cuts(target, algorithm, given["positions"], topics, settings, behaviour=release_in_force())
    if isinstance(cuts, Rejection):
        return _error(cuts) | {"stage": "sync"}
    if not cuts:
        return {"result": None}
    answer = _split(bundles, target, len(cuts) + 1, cuts)
    # In the chain the second step runs inside a future, so whatever it throws arrives by the future.
    return answer | {"stage": "async"} if "error" in answer else answer


@answers(kind="algorithm_name")
def algorithm_name(given: Given) -> Answer:
    used = resolve_algorithm(given["name"], given.get("default", "range_equally_divide"))
    return {"class": CLASSES.get(given["name"]), "broker": CLASSES[used]}
