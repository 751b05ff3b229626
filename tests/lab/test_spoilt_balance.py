"""One spoilt number of a cluster that balances itself (its series, logs, owners and settings) is found."""

from __future__ import annotations

import json
from typing import Any, Final

from engine.verify.report import FactKind as Plain
from tests.lab.facts import StepFact as Step
from tests.lab.folder import recording
from tests.lab.spoiling import Case, Found, Spoil, edit, let, line, plus, put, table, written

RANGE, COUNT, FLOW = (f"g-autosplit-modular-{name}" for name in ("range", "count", "flow"))
EXT_RANGE, EXT_FLOW, TWO = "g-autosplit-extensible-range", "g-autosplit-extensible-flow", "g-two-brokers"
UNIFORM, TRANSFER = "g-shed-modular-uniform", "g-shed-extensible-transfer"
SCENARIO, SERIES, LOG_A, LOG_B = "scenario.json", "series.jsonl", "log-a.txt", "log-b.txt"
REPORTS, AVERAGES = "/loadbalance/brokers/", "/loadbalance/bundle-data/"
TOTALS: Final = ("numTopics", "numBundles", "numProducers", "numConsumers", "msgRateIn")
LEADER: Final = "the leader's log"
CHOICE, DECISION, HITS = Step.SPLIT_CHOICE, Step.CYCLE_DECISION, Step.HIT_COUNT
CYCLE_SPLIT: Final = Step.CYCLE_SPLIT


def _reverse_bundles(report: Any) -> None:
    """Under the cap the order decides who wins."""
    report["lastStats"] = dict(reversed(report["lastStats"].items()))


def _busier(report: Any) -> None:
    bundle = next(iter(report["lastStats"].values()))
    for member, owner, more in (("topics", "numTopics", 20), ("msgRateIn", "msgRateIn", 500.0)):
        bundle[member] += more
        report[owner] += more


def _another_cut(name: str) -> Spoil:
    """Another first cut of the first split, wherever the metadata store has it."""

    def spoil(data: bytes) -> bytes:
        split = json.loads(recording(name).files[SCENARIO])["splits"][0]
        cut = split["new_boundaries"][0]
        other = f"0x{int(cut, 16) + 4096:08x}"
        place = f'"/admin/local-policies/{split["namespace"]}"'.encode()
        lines = data.splitlines()
        return b"\n".join(one.replace(cut.encode(), other.encode()) if place in one else one for one in lines)

    return spoil


def setting(name: str, value: str) -> Spoil:
    return put(f"broker_settings.{name}", value)


def limit(name: str) -> str:
    return f"loadBalancerNamespaceBundleMax{name}"


@table(
    *(
        Case(RANGE, SERIES, written(REPORTS, 7, put(member, plus(1))), [Plain.REPORT_TOTALS])
        for member in TOTALS
    ),
    *(
        Case(RANGE, "03-load-report-a.json", put(member, plus(1)), [Plain.REPORT_TOTALS],
             verified={Plain.REPORT_TOTALS})
        for member in TOTALS
    ),
    Case(RANGE, SERIES, written(REPORTS, 9, edit(_reverse_bundles)), [Plain.REPORT_ORDER]),
    # No order of the reports explains it.
    *(
        Case(RANGE, SERIES, written(AVERAGES, 30, put(f"{term}TermData.{member}", plus(1))), [Step.STORED_AVERAGE])
        for term in ("short", "long")
        for member in ("numSamples", "msgRateIn", "msgThroughputIn", "msgRateOut")
    ),
    # Others need another order there.
    Case(COUNT, SERIES, written(AVERAGES, 30, put("longTermData.msgRateIn", plus(0.01))), [Step.STORED_AVERAGE]),
    Case(RANGE, SERIES, written(REPORTS, 11, edit(_busier)), [Step.STORED_AVERAGE] * 3),
    Case(RANGE, SERIES, written("/admin/local-policies/ring/topics", 1, let("bundles.boundaries", list.reverse)), [],
         {Plain.VALID_LIST}),
    *(
        Case(RANGE, LOG_B, line(pattern, instead), [], {CHOICE}, file=LEADER)
        for pattern, instead in (
            (r"^.*Load-manager splitting bundle ring/sessions/.*\n", ""),
            (r"(Load-manager splitting bundle )ring/sessions/\S+", r"\1ring/rate/0x00000000_0x8"),
            (r"^.*Bundle ring/topics/\S+ has been removed, skip.*\n", ""),
            (r"Load-manager splitting bundle ring/lone/(\S+) and unloading true",
             r"Bundle ring/lone/\1 has been removed, skip split this bundle"),
        )
    ),
    *(
        Case(RANGE, LOG_B, line(pattern, instead), [Step.SPLIT_CHOICE_NUMBERS], file=LEADER)
        for pattern, instead in (
            (r"(is considered to be unload\. Topics: )\d+", r"\g<1>7"),
            (r"(is considered to be unload\. .* Sessions: \()\d+", r"\g<1>7"),
            (r"(bundle ring/rate/.* is considered to be unload\. .* Message Rate: )[\d.]+", r"\g<1>61.5"),
            (r"(bundle ring/rate/.* is considered to be unload\. .* Message Throughput: )[^/]+", r"\g<1>0.5"),
        )
    ),
    *(
        Case(name, SCENARIO, put(f"splits.{number}.new_boundaries", ["0x12345678"]),
             [Found(Step.AUTO_SPLIT_LISTED, "0x12345678")])
        for name, number in ((RANGE, 1), (COUNT, 1), (FLOW, 0), (EXT_RANGE, 2), (EXT_FLOW, 0))
    ),
    Case(RANGE, SCENARIO, let("splits", lambda splits: splits.pop(3)), [Found(Step.AUTO_SPLIT_LISTED, "not listed")]),
    Case(RANGE, SCENARIO, let("splits", lambda splits: splits.append(splits[3])),
         [Found(Step.AUTO_SPLIT_LISTED, None, "no such split")]),
    # Also the bundle lists that brokers answered with, and what is decided after it, do not fit it any more.
    *(
        Case(name, SERIES, _another_cut(name), [Found(Step.AUTO_BOUNDARIES, recorded)],
             {Step.AUTO_SPLIT_LISTED, *more})
        for name, recorded, more in (
            (RANGE, "0xc0000fff", [Step.AUTO_BOUNDARIES, CHOICE]),
            (COUNT, "0x439475b4", []),
            (FLOW, "0x5bb70d2d, 0xd055fb3e", [CHOICE]),
            (EXT_RANGE, "0x6aaabaa9", []),
            (EXT_FLOW, "0x87b8c559", []),
        )
    ),
    Case(RANGE, SCENARIO, setting("defaultNamespaceBundleSplitAlgorithm", "topic_count_equally_divide"), [],
         {Step.AUTO_BOUNDARIES}),
    *(
        Case(RANGE, SCENARIO, setting(name, value), [], {CHOICE, *more})
        for name, value, more in (
            (limit("Topics"), "9", []),
            (limit("Sessions"), "60", []),
            (limit("MsgRate"), "90", []),
            ("loadBalancerNamespaceMaximumBundles", "17", [Step.STORED_AVERAGE]),
        )
    ),
    *(
        Case(EXT_RANGE, SCENARIO, setting(name, value), [], others)
        for name, value, others in (
            (limit("Topics"), "10", {CYCLE_SPLIT}),
            (limit("Sessions"), "100", {HITS, DECISION, CYCLE_SPLIT}),
            (limit("MsgRate"), "300", {HITS, DECISION, CYCLE_SPLIT}),
            ("loadBalancerNamespaceMaximumBundles", "99", {DECISION, CYCLE_SPLIT}),
            ("loadBalancerMaxNumberOfBundlesToSplitPerCycle", "3", {DECISION, CYCLE_SPLIT}),
            ("loadBalancerNamespaceBundleSplitConditionHitCountThreshold", "2", {HITS, DECISION, CYCLE_SPLIT}),
        )
    ),
    *(
        Case(name, f"log-{letter}.txt", line("hit count: 2 is", "hit count: 3 is"), [Found(HITS, "3 hits", "2 hits")],
             file=f"log of broker {letter}")
        for name in (EXT_RANGE, EXT_FLOW)
        for letter in "ab"
    ),
    # Two cycles above the limit, one below: counting starts again at 1.
    Case(EXT_RANGE, LOG_A, line(r"(flicker/0x00000000_0xffffffff\. Split condition hit count: )0( is)", r"\g<1>3\2"),
         [Found(HITS, "3 hits", "0 hits")]),
    Case(EXT_RANGE, LOG_A,
         line(r"(ring/many/0x55555554_0x7ffffffe\. Split condition hit count: 2 .* Topics: )11(/)", r"\g<1>8\2"), [],
         {HITS, DECISION, CYCLE_SPLIT}),
    *(
        Case(name, LOG_A, line(pattern, instead), [DECISION])
        for name, pattern, instead in (
            (EXT_FLOW, "The split boundaries is null", "The size of split boundaries is not 1. splitBoundary:[1, 2]"),
            (EXT_FLOW, r"splitBoundary:\[\d+", "splitBoundary:[473367470"),
            (EXT_RANGE, "The topic count is less than 2", "Namespace:x has too many bundles:16"),
            (EXT_FLOW, r"(ring/flicker/\S+ The size of split boundaries is not 1\. splitBoundary:\[)\d+",
             r"\g<1>1139022711"),
            # One piece cannot hold three of the four topics, and a cut is in the middle of two hashes.
            *(
                (EXT_FLOW, r"\[1139022709, 2271720232, 3152829005\]", cuts)
                for cuts in ("[1139022709]", "[1139022709, 2271720233, 3152829005]", "[7, 8]")
            ),
        )
    ),
    *(
        Case(EXT_RANGE, LOG_A, line(pattern, instead), found)
        for pattern, instead, found in (
            ("label=Success, reason=Topics", "label=Success, reason=Sessions", [CYCLE_SPLIT]),
            (r"\{0x6aaaaaa9_0x7ffffffe=", "{0x6aaaaaaa_0x7ffffffe=", [CYCLE_SPLIT]),
            (r"SplitDecision\(split=Split\[serviceUnit=ring/many/.*?reason=Topics\), ", "", [CYCLE_SPLIT, DECISION]),
        )
    ),
)  # fmt: skip
def test_splits(case: Case) -> None:
    case.check()


def _owned_twice(bundle: str) -> Spoil:
    return edit(lambda document: document.update({bundle: {}}))


@table(
    *(
        Case(name, f"{number}-owned-b.json", _owned_twice(bundle), [Found(Step.OWNED_ONCE, about=bundle)])
        for name, number, bundle in (
            (RANGE, "03", "ring/topics/0x00000000_0x40000000"),
            (EXT_RANGE, "03", "ring/nearly/0x77777777_0x88888888"),
            (TWO, "02", "ring/shared/0x00000000_0x20000000"),
        )
    ),
    *(
        Case(TWO, "13-lookup-5-b.json", put(member, "pulsar://127.0.0.1:1"), [Step.LOOKUP_OWNER])
        for member in ("brokerUrl", "httpUrl")
    ),
    Case(TWO, "13-lookup-0-a.json", lambda _: recording(TWO).files["13-lookup-2-a.json"],
         [Found(Step.LOOKUP_OWNER, "b", "a")]),
)  # fmt: skip
def test_owners(case: Case) -> None:
    case.check()


_SHED: Final = (Step.SHED_TRAFFIC, Step.SHED_DESTINATION, Step.BROKERS_CONSIDERED)


@table(
    *(
        Case(UNIFORM, LOG_B, line(pattern, instead), [kind])
        for pattern, instead, kind in (
            (r"msgRate 71\.10290399719241", "msgRate 71.2", Step.SHED_TRAFFIC),
            (r"2 brokers being considered", "1 brokers being considered", Step.BROKERS_CONSIDERED),
            (r"maximum change 25\.0%", "maximum change 26.0%", Step.REPORT_CHANGE),
        )
    ),
    Case(UNIFORM, LOG_B,
         line(r"(Unloading bundle: ring/shed/0x80000000_0xa0000000 from broker \S+ to dest broker )127.0.0.1:39025",
              r"\g<1>127.0.0.1:1"),
         [Step.SHED_DESTINATION, Step.SHED_CYCLE]),
    *(
        Case(UNIFORM, SCENARIO, setting(name, value), [], {Step.SHED_CYCLE, *_SHED})
        for name, value in (("loadBalancerMsgRateDifferenceShedderThreshold", "2000"), ("maxUnloadPercentage", "0.1"))
    ),
    # S32: with the node that was made anew taken for one that was rewritten, averages differ.
    Case(UNIFORM, SERIES,
         line(r'("/loadbalance/brokers/127\.0\.0\.1:39025", )"version": 0, ("mzxid": 468)', r'\1"version": 5, \2'),
         [], {Step.STORED_AVERAGE, Step.PLACED_BY_LEADER, Step.SHED_CYCLE, *_SHED}),
    Case(TRANSFER, LOG_A, line("Reason:CoolDown", "Reason:NoLoadData"), [Step.TRANSFER_CYCLE]),
    Case(TRANSFER, SCENARIO, setting("loadBalancerSheddingConditionHitCountThreshold", "3"), [],
         {Step.TRANSFER_CYCLE, Step.TRANSFER_ORDER, Step.TRANSFER_STOP}),
)  # fmt: skip
def test_shedding(case: Case) -> None:
    case.check()
