"""The filters of candidates at their edges, by hand: golden vectors cover the middle."""

from __future__ import annotations

import math
from collections.abc import ItemsView, ValuesView

import pytest

from engine.balance.averages import new_bundle_data
from engine.balance.brokers import BrokerLoad, report_of
from engine.balance.filters import (
    IsolationPolicy,
    SemanticVersion,
    anti_affinity,
    below_max_topics,
    below_max_topics_extensible,
    least_servicing,
    newest_version,
    permitted,
    semantic_version,
    unload_is_useful,
)
from engine.balance.leadership.policies import ClusterPolicies
from engine.balance.limits import BundleStats
from engine.balance.placement.model import KnownBroker
from engine.balance.settings import LOAD_SETTING_DEFAULTS, LoadSettings
from engine.errors import Rejection
from engine.load_rules import LoadRules, VersionLibrary
from tests.releases import known


def test_a_host_is_all_before_the_last_colon() -> None:
    policies = (IsolationPolicy(("t/n",), (r"\[::1\]",)),)
    brokers = {name: BrokerLoad(name) for name in ("[::1]:8080", "b:1:8080", "b:1")}
    assert permitted("t/n", brokers, policies) == ("[::1]:8080",)


@pytest.mark.parametrize(
    ("pattern", "of_4_2", "of_5_0"),
    [
        ("a", ("a:1", "a:2"), ("a:1", "a:2")),
        ("a:1", (), ("a:1",)),
        (r"(?:a):\d", (), ("a:1", "a:2")),  # any colon will do
        (r"a.1", (), ()),
        (r"\[::1\]", ("[::1]:1",), ("[::1]:1",)),
        (r"\[::1\]:1", (), ("[::1]:1",)),
        (r"::1:1", (), ()),
    ],
)
def test_a_pattern_with_a_colon_is_tried_on_host_and_port_too(
    pattern: str, of_4_2: tuple[str, ...], of_5_0: tuple[str, ...]
) -> None:
    brokers = {name: BrokerLoad(name) for name in ("a:1", "a:2", "[::1]:1")}
    policies = [IsolationPolicy(("t/n",), (pattern,)), IsolationPolicy(("t/o",), ("nobody",), (pattern,), 1)]
    for version, expected in (("4.2.4", of_4_2), ("5.0.1", of_5_0)):
        rules = known(version).load
        assert permitted("t/n", brokers, policies, rules) == permitted("t/o", brokers, policies, rules) == expected
        shared = permitted("t/without", brokers, policies, rules)
        assert shared == tuple(broker for broker in brokers if broker not in expected)


@pytest.mark.parametrize(("broker", "there"), [("a:65535", True), ("a:65536", False), ("[a:1", False), ("a]:1", True)])
def test_a_port_has_16_bits_and_brackets_come_in_pairs(broker: str, there: bool) -> None:
    """``[a`` is a host too, whose pattern would be written with its bracket."""
    policies = [IsolationPolicy(("t/n",), (r"(?:a|a\]):\d+",))]
    found = permitted("t/n", {broker: BrokerLoad(broker)}, policies, known("5.0.1").load)
    assert (found == (broker,)) is there


def test_a_broker_takes_the_kind_of_topics_that_its_report_says() -> None:
    brokers = {
        "p:1": BrokerLoad("p:1", persistent_topics=True, non_persistent_topics=False),
        "n:1": BrokerLoad("n:1", persistent_topics=False, non_persistent_topics=True),
        "new:1": None,
    }
    assert permitted("t/n", brokers, ()) == ("p:1",)
    assert permitted("t/n", brokers, (), persistent=False) == ("n:1",)


def test_without_a_least_number_secondary_brokers_are_not_asked() -> None:
    brokers = {"b:1": BrokerLoad("b:1")}
    assert permitted("t/n", brokers, [IsolationPolicy(("t/n",), ("a",), ("b",))]) == ()
    assert permitted("t/n", brokers, [IsolationPolicy(("t/n",), ("a",), ("b",), 1)]) == ("b:1",)


def test_secondary_brokers_come_after_the_primary_ones_and_one_that_is_both_comes_once() -> None:
    brokers = {name: BrokerLoad(name) for name in ("s-1:1", "p-1:1", "other:1", "p-2:1", "s-2:1")}
    policies = [IsolationPolicy(("t/n",), ("p-.",), ("[ps]-.",), 3)]
    assert permitted("t/n", brokers, policies) == ("p-1:1", "p-2:1", "s-1:1", "s-2:1")
    assert permitted("t/n", brokers, [IsolationPolicy(("t/n",), ("p-.",), ("[ps]-.",), 2)]) == ("p-1:1", "p-2:1")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("g", "G", True),
        ("i", "\u0130", True),
        ("i", "\u0131", True),
        ("s", "\u017f", True),
        ("k", "\u212a", True),
        ("\u03c3", "\u03c2", True),
        ("ss", "\xdf", False),
        ("\xdf", "\u1e9e", True),
        ("\U00010400", "\U00010428", True),
        ("g", "g ", False),
    ],
)
def test_groups_are_the_same_as_java_compares_them_without_regard_to_case(one: str, other: str, same: bool) -> None:
    policies = ClusterPolicies(groups={"t/a": one, "t/b": other})
    assert policies.same_group("t/a") == ({"t/a", "t/b"} if same else {"t/a"})
    assert policies.same_group("t/c") is None


class _CountedReads(dict[str, str]):
    reads = 0

    def items(self) -> ItemsView[str, str]:
        self.reads += 1
        return super().items()

    def values(self) -> ValuesView[str]:
        self.reads += 1
        return super().values()


def test_all_groups_are_read_for_the_first_question_only() -> None:
    groups = _CountedReads({f"t/{at}": f"{'Gg'[at % 2]}{at // 4}" for at in range(40)})
    policies = ClusterPolicies(groups=groups)
    assert policies.same_group("t/0") == {"t/0", "t/1", "t/2", "t/3"}
    reads = groups.reads
    assert all(len(policies.same_group(namespace) or ()) == 4 for namespace in list(groups))
    assert groups.reads == reads


def test_topics_placed_since_the_report_count_and_exactly_the_maximum_is_allowed() -> None:
    load = report_of("b:1", [BundleStats("t/n/0x0", topics=3)])
    placed = new_bundle_data().update(BundleStats("t/n/0x1", topics=2))
    brokers = {"b:1": KnownBroker(load, preallocated={"t/n/0x1": placed}), "b:2": KnownBroker(load)}
    names = ("b:1", "b:2", "unknown:1")
    assert [below_max_topics(names, brokers, most) for most in (2, 3, 4, 5)] == [
        ("unknown:1",), ("b:2", "unknown:1"), ("b:2", "unknown:1"), names,
    ]  # fmt: skip
    assert below_max_topics(names[:2], brokers, 2) == names[:2], "all, if all have more"
    assert below_max_topics_extensible(("b:1", "b:2", "c:1"), {"b:1": 3, "b:2": 2}, 3) == ("b:2", "c:1")
    assert below_max_topics_extensible(("c:1",), {}, 1) == ("c:1",)
    assert below_max_topics_extensible(("c:1",), {}, 0) == ()


def test_fewest_of_nobody_is_nobody() -> None:
    assert least_servicing((), {}) == ()


def test_the_domain_with_fewest_namespaces_comes_before_the_broker_with_fewest() -> None:
    domains = {"a:1": "east", "a:2": "east", "b:1": "west"}
    assert anti_affinity(("a:1", "a:2", "b:1"), {"a:1": 2, "b:1": 1}, domains) == ("b:1",)
    assert anti_affinity(("a:1", "a:2", "b:1"), {"b:1": 1}, domains) == ("a:1", "a:2")
    assert anti_affinity(("a:1", "c:1"), {"a:1": 1}, domains) == ("c:1",), "a broker of no domain is in one of its own"


@pytest.mark.parametrize(
    ("candidates", "counts", "useful"),
    [
        (("a", "b"), {}, True),
        ((), {"a": 1}, False),
        (("a", "b"), {"a": 1}, True),  # b has none
        (("a", "b"), {"a": 2, "b": 1}, True),
        (("a", "b"), {"a": 1, "b": 1}, False),
        (("b", "c"), {"a": 1, "b": 1, "c": 1}, False),  # a may not own it
        (("b", "c"), {"a": 1}, True),
        (("b",), {"a": 1, "b": 1}, False),
        (("a", "b", "c"), {"a": 1, "b": 2, "c": 2}, True),
    ],
)
def test_when_an_unload_can_bring_namespaces_apart(
    candidates: tuple[str, ...], counts: dict[str, int], useful: bool
) -> None:
    assert unload_is_useful(candidates, counts) is useful


def _read(text: str, library: VersionLibrary = "0.9") -> SemanticVersion:
    version = semantic_version(text, library)
    assert version is not None, text
    return version


@pytest.mark.parametrize("library", ["0.9", "0.10"])
def test_versions_come_in_the_order_of_their_standard(library: VersionLibrary) -> None:
    """semver.org, section 11; a number with a leading zero is none."""
    texts = (
        "0.9.9", "1.0.0-0", "1.0.0-2", "1.0.0-10", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-rc.1",
        "1.0.0", "1.0.1", "1.10.0", "2.0.0",
    )  # fmt: skip
    versions = [_read(text, library) for text in texts]
    for at, older in enumerate(versions):
        assert [older.compare(other) < 0 for other in versions] == [place > at for place in range(len(versions))]
        assert [older.compare(other) == 0 for other in versions] == [place == at for place in range(len(versions))]
    for text in ("1.0.0-01", "1.0.0-rc.01.x", "01.0.0", "1.0", "1.0.0-"):
        assert semantic_version(text, library) is None, text


def test_only_the_newest_brokers_are_candidates() -> None:
    versions = {"a:1": "4.0.9", "b:1": "4.0.10", "c:1": "4.0.10+build", "d:1": None}
    of_4_2, of_5_0 = known("4.2.4").load, known("5.0.1").load
    assert newest_version(("a:1", "b:1", "c:1"), versions, of_4_2) == ("b:1", "c:1")
    assert newest_version(("a:1", "b:1", "c:1"), versions, of_5_0) == ("c:1",)
    for candidates in (("a:1", "d:1"), ()):
        refusal = newest_version(candidates, versions)
        assert isinstance(refusal, Rejection) and refusal.error == "BrokerFilterBadVersionException"
        assert refusal.field == "version"


def test_numbers_of_a_version_are_java_integers() -> None:
    assert _read("2147483647.0.0").compare(_read("1234567890.9.9")) == 1
    for text in ("2147483648.0.0", "0.0.2147483648"):
        assert semantic_version(text, "0.9") is None
    assert _read("1.0.0-" + "9" * 30).compare(_read("1.0.0-a")) < 0
    # One past the range is text, and so is what has a letter; text is compared letter by letter.
    assert _read("1.0.0-2147483647").compare(_read("1.0.0-9")) > 0
    assert _read("1.0.0-2147483648").compare(_read("1.0.0-9")) < 0
    assert _read("1.0.0-0000000000x").compare(_read("1.0.0-1")) < 0
    # A hyphen in front is a sign, and the difference of two integers is one of 32 bits.
    assert _read("1.0.0--5").compare(_read("1.0.0--4")) == -1
    assert _read("1.0.0--2147483648").compare(_read("1.0.0-2147483647")) == 1
    assert _read("1.0.0--2147483649").compare(_read("1.0.0-0")) == -1
    assert _read("1.0.0--0").compare(_read("1.0.0-0")) == 0
    assert _read("1.0.0---1").compare(_read("1.0.0--1")) == -1


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("9223372036854775807.0.2147483648", True),
        ("9223372036854775808.0.0", False),
        ("1.0.0-9223372036854775807", True),
        ("1.0.0-rc.9223372036854775808", False),
        ("1.0.0-rc9223372036854775808", True),
        ("1.0.0+9223372036854775808", True),
        ("1.0.0-01", False),
    ],
)
def test_numbers_of_a_version_are_java_longs_for_the_later_library(text: str, is_read: bool) -> None:
    assert (semantic_version(text, "0.10") is not None) is is_read


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("1.0.0-2147483647", "1.0.0-2147483648"),
        ("1.0.0-2", "1.0.0-10"),
        ("1.0.0--4", "1.0.0--5"),
        ("1.0.0--10", "1.0.0--9"),
        ("1.0.0--2147483648", "1.0.0-2147483647"),
        ("1.0.0-0", "1.0.0-9"),
        ("1.0.0-10", "1.0.0-1a"),
        ("1.0.0+0010", "1.0.0+9"),
        ("1.0.0+007", "1.0.0+07"),
        ("1.0.0+2", "1.0.0+10"),
        ("1.0.0+99999999999999999999", "1.0.0+a"),
        ("1.0.0", "1.0.0+1"),
    ],
)
def test_identifiers_are_numbers_of_digits_alone_for_the_later_library(older: str, newer: str) -> None:
    one, other = _read(older, "0.10"), _read(newer, "0.10")
    assert one.compare_with_build(other) < 0 < other.compare_with_build(one)


def test_a_build_too_large_for_the_later_library_fails_where_two_are_compared() -> None:
    rules = known("5.0.1").load
    builds = {"a:1": "1.0.0+99999999999999999999", "b:1": "1.0.0+1", "c:1": "1.0.0+b"}
    assert newest_version(("a:1", "c:1"), builds, rules) == ("c:1",)
    for order in (("a:1", "b:1"), ("b:1", "a:1")):
        refusal = newest_version(order, builds, rules)
        assert isinstance(refusal, Rejection) and refusal.error == "NumberFormatException"
        assert " 99999999999999999999 " in refusal.message


@pytest.mark.parametrize("release", ["4.2.4", "5.0.1"])
def test_which_version_is_newest_depends_on_the_order_where_the_comparison_runs_in_a_circle(release: str) -> None:
    texts, rules = {"a:1": "1.0.0-2", "b:1": "1.0.0-10", "c:1": "1.0.0-1a"}, known(release).load
    assert newest_version(("a:1", "b:1", "c:1"), texts, rules) == ("c:1",)
    assert newest_version(("b:1", "c:1", "a:1"), texts, rules) == ("a:1",)
    assert newest_version(("c:1", "a:1", "b:1"), texts, rules) == ("b:1",)


def test_build_metadata_only_decides_between_equal_versions() -> None:
    pairs = [("1.0.0", "1.0.0+1"), ("1.0.0+1", "1.0.0+2"), ("1.0.0+a", "1.0.0+a.0"), ("1.0.0+9", "1.0.0+10")]
    for older, newer in pairs:
        assert _read(older).compare(_read(newer)) == 0
        assert _read(older).compare_with_build(_read(newer)) < 0 < _read(newer).compare_with_build(_read(older))
    assert _read("1.0.0+1").compare_with_build(_read("1.0.1")) == -1
    # Equal as versions, but compared with a third one each in its own way: the one with a build is kept.
    rules, three = known("4.2.4").load, ("a:1", "b:1", "c:1")
    assert newest_version(three, {"a:1": "1.0.0-0", "b:1": "1.0.0--0+1", "c:1": "1.0.0--a"}, rules) == ("c:1",)
    assert newest_version(three, {"a:1": "1.0.0-0", "b:1": "1.0.0--0", "c:1": "1.0.0--a"}, rules) == ("a:1", "b:1")


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("failureDomainsEnabled", " True ", True),
        ("failureDomainsEnabled", "FALSE", False),
        ("failureDomainsEnabled", "yes", None),
        ("minUnloadMessage", "+10", 10),
        ("minUnloadMessage", "-2147483648", -2147483648),
        ("minUnloadMessage", "-2147483649", None),
        ("minUnloadMessage", "2147483647", 2147483647),
        ("minUnloadMessage", "2147483648", None),
        ("minUnloadMessage", "1.5", None),
        ("minUnloadMessage", "9" * 12, None),
        ("loadBalancerMemoryResourceWeight", "-.5e1", -5.0),
        ("loadBalancerMemoryResourceWeight", "Infinity", math.inf),
        ("loadBalancerMemoryResourceWeight", "inf", None),
        ("loadBalancerMemoryResourceWeight", "1_000", None),
        ("loadBalancerLoadSheddingStrategy", "org.apache.pulsar.broker.loadbalance.impl.AvgShedder", "AvgShedder"),
    ],
)  # fmt: skip
def test_a_setting_is_read_as_java_does(name: str, text: str, value: object) -> None:
    changed = LoadSettings().with_setting(name, text)
    assert (None if isinstance(changed, Rejection) else getattr(changed, name)) == value
    if isinstance(changed, Rejection):
        is_switch = isinstance(LOAD_SETTING_DEFAULTS[name], bool)
        assert (changed.field, "true or false" in changed.message) == (name, is_switch)


def test_a_bandwidth_weight_counts_in_the_new_spelling_unless_only_the_old_one_was_changed() -> None:
    old = LoadSettings(loadBalancerBandwithInResourceWeight=0.2, loadBalancerBandwithOutResourceWeight=0.3)
    rules = LoadRules(old_bandwidth_spelling_only=False)
    assert old.bandwidth_weights(rules) == (0.2, 0.3)
    both = LoadSettings(
        loadBalancerBandwithOutResourceWeight=0.3, loadBalancerBandwidthOutResourceWeight=0.7
    )  # fmt: skip
    assert both.bandwidth_weights(rules) == (1.0, 0.7)
