"""English for what a cycle of shedding decides, shared by the screen of brokers and the commands."""

from __future__ import annotations

from typing import Final

from engine.balance.ahead.model import Assumption
from engine.balance.leadership.shedding import UnloadOutcome
from engine.balance.shedding.model import BrokerOutcome, BundleOutcome
from engine.balance.shedding.transfer import PairOutcome, SkipReason, TopBundleOutcome

ASSUMED_TEXTS: Final[dict[Assumption, str]] = {
    "traffic-stays": "traffic stays as it is reported",
    "usage-moves-with-traffic": "cpu, direct memory and bandwidth move with a bundle's share of its broker's bytes",
    "averages-from-one-report": "the leader's averages are the reported rates, since each broker has one report only",
    "averages-from-reports": "the leader's averages come from the reports given, which may not be all there were",
    "history-empty": "hit counts and recent unloads, which only the leader knows, are empty",
    "policies-unknown": "no policy is known, so every broker may own every bundle",
    "isolation-unknown": "no isolation policy is known, so every broker may own every bundle",
    "groups-unknown": "no anti-affinity group is known",
    "domains-unknown": "failureDomainsEnabled is true, but no failure domain is known",
    "map-order-unknown": "names share a bucket of a Java map, so another order of bundles is possible",
}
BROKER_TEXTS: Final[dict[BrokerOutcome, str]] = {
    "sheds": "sheds",
    "below-threshold": "is not over the limit",
    "too-few-bundles": "has fewer than two bundles",
    "below-minimum-traffic": "would offload too little to be worth an unload",
    "nothing-to-take": "has no bundle that may be taken or fits",
    "not-the-busiest": "is not the broker that sheds",
    "hits-too-few": "was over the limit too few times in a row",
}
STAYS_TEXTS: Final[dict[UnloadOutcome, str]] = {
    "unloaded": "is unloaded",
    "excluded-namespace": "its namespace is excluded from shedding",
    "no-other-broker": "no other broker may own it",
    "anti-affinity": "its anti-affinity group is spread as well as it can be",
    "no-broker": "the placement finds no broker for it",
    "stays": "the placement chooses its present broker again",
    "refused": "the placement fails",
}
SKIPPED_TEXTS: Final[dict[SkipReason | str, str]] = {
    "switched-off": "shedding is switched off",
    "one-broker": "only one broker is there",
    "CoolDown": "a broker took part in an unload too recently for its load data (CoolDown)",
    "HitCount": "the brokers are even, or were uneven in too few cycles in a row (HitCount)",
    "NoBrokers": "no broker has load data (NoBrokers)",
    "NoBundles": "the fuller brokers have no bundle to move (NoBundles)",
    "NoLoadData": "a broker has no load data at the moment (NoLoadData)",
    "OutDatedData": "all load data is too old (OutDatedData)",
}
PAIR_TEXTS: Final[dict[PairOutcome, str]] = {
    "moves": "exchange bundles",
    "no-load-data": "have no load data",
    "no-bundles-reported": "have no bundle reported",
    "one-bundle": "have one reported bundle only, which stays",
    "nothing-to-move": "have no bundle that may move or fits",
}
BUNDLE_TEXTS: Final[dict[BundleOutcome | TopBundleOutcome, str]] = {
    "unloaded": "unloaded",
    "moved": "moved",
    "swapped": "moved back to make room",
    "recently-unloaded": "unloaded within the grace period",
    "no-averages": "in no report that the leader has averages of",
    "enough-taken": "enough was taken before",
    "too-large": "larger than what should move",
    "idle": "without traffic",
    "maximum-reached": "the maximum of a cycle was reached",
    "not-owned": "not owned any more",
    "excluded-namespace": "the namespace is excluded from shedding",
    "not-movable": "bound by policies, or refused by every filter",
    "last-one": "one reported bundle always stays",
    "not-looked-at": "not looked at, enough was found",
}
