"""Suggestions for a goal of evenness: names, numbers of consumers, partitions, points or bundles, or the flag."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as copied
from typing import Annotated, ClassVar, Final, Literal

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from engine.answer import about, extended
from engine.bulk_hashing import crc32_bulk
from engine.bundles.boundaries import default_boundaries
from engine.bundles.occupancy import MAX_BROKERS
from engine.cluster.keys.state import KeySubscription
from engine.cluster.owners import columns_of
from engine.cluster.partitions import traffic
from engine.cluster.state import ClusterState, behaviour_in
from engine.compare.key_shared import KnownKeys, key_consumers_needed, points_needed, ratio_of, work_of_keys
from engine.compare.names import FAILOVER_RING, Fit, Score, Work, fit_names, key_shared_ring
from engine.compare.sizes import (
    CHANCES,
    MOST_CONSUMERS,
    Size,
    Sizing,
    consumers_needed,
    meets,
    partitions_needed,
    sizing_of,
)
from engine.compare.verdict import Goal, SuggestionKind, Verdict, carried_out, flag_change, preview, subscription_of
from engine.config import BrokerSettings
from engine.errors import Rejection
from engine.keyshared.ring import RingSelector

UP_TO: Final = 24
"""How far beyond the present number to compare, by default."""
Suggestion = Fit | Sizing | Verdict


def suggestion(
    state: ClusterState,
    key: str,
    kind: SuggestionKind,
    goal: Goal,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Suggestion | Rejection:
    """Suggest for a subscription, Failover or Key_Shared. Takes seconds at most; ``progress`` as for
    ``fit_names``.

    Names are fitted to the partitions or the known keys, to the hash space where there are none.
    """
    if kind == "flag":
        return preview(state, flag_change(state), key)
    if kind != "names":
        return sizing_for(state, key, kind, goal)
    subscription, keyed = subscription_of(state, key), key_subscription_of(state, key)
    if keyed is not None:
        ring = key_shared_ring(settings_of(state, keyed), behaviour_in(state))
        if isinstance(ring, Rejection):
            return ring
        keys = known_keys(keyed)
        work = work_of_keys(keys, ring) if keys.rates.sum() > 0 else Work.of_space()
        names = [consumer.name for consumer in keyed.consumers]
        return fit_names(names, work, survive=goal.survive, goal=goal.max_over_mean, ring=ring, progress=progress)
    if subscription is None:
        return _nothing(kind)
    columns = columns_of(state, subscription)
    work = Work.of_space()
    if len(columns):
        flow = traffic(columns, state.loads, subscription.loads).msgs_per_sec
        work = Work.of_topics(columns.hash, flow if goal.by_messages and flow.sum() > 0 else np.ones(len(columns)))
    names = [consumer.name for consumer in subscription.consumers]
    return fit_names(names, work, survive=goal.survive, goal=goal.max_over_mean, ring=FAILOVER_RING, progress=progress)


def sizing_for(
    state: ClusterState, key: str, kind: SuggestionKind, goal: Goal, *, up_to: int | None = None, seed: int = 0
) -> Sizing | Rejection:
    """The curve of numbers: of consumers, of partitions of each topic (Failover) or of points (Key_Shared)."""
    subscription, keyed = subscription_of(state, key), key_subscription_of(state, key)
    if keyed is not None and kind in ("consumers", "points"):
        return _of_keys(state, keyed, kind, goal, up_to, seed)
    if keyed is not None and kind == "partitions":
        return _partitions_of_keys(keyed)
    if subscription is None or kind not in ("consumers", "partitions"):
        return _nothing(kind)
    if kind == "consumers":
        last = up_to if up_to is not None else min(len(subscription.consumers) + UP_TO, MOST_CONSUMERS)
        numbers = range(2, max(last, 2) + 1)
        sizing = consumers_needed(state, subscription, goal, numbers, seed=seed)
        if isinstance(sizing, Rejection) or sizing.smallest is not None:
            return sizing
        if state.settings.activeConsumerFailoverConsistentHashing:
            return sizing
        ringed = carried_out(state, flag_change(state))
        on = (
            ringed
            if isinstance(ringed, Rejection)
            else consumers_needed(ringed, subscription, goal, numbers, seed=seed)
        )
        return sizing if isinstance(on, Rejection) else copied(sizing, smallest_on_ring=on.smallest)
    now = max((state.topics[name].partitions for name in subscription.topics), default=0)
    last = up_to if up_to is not None else max(now, 1) + UP_TO
    return partitions_needed(state, subscription, goal, range(max(now, 1), last + 1), seed=seed)


def key_subscription_of(state: ClusterState, key: str) -> KeySubscription | None:
    """The Key_Shared subscription of that key."""
    return next((key_subscription for key_subscription in state.key_subscriptions if key_subscription.key == key), None)


def known_keys(keyed: KeySubscription) -> KnownKeys:
    """Known keys with the messages that they had."""
    return KnownKeys.of({key: float(count) for key, count in keyed.keys.items()})


def settings_of(state: ClusterState, keyed: KeySubscription) -> BrokerSettings:
    """The settings that give the selector of the subscription."""
    selector = keyed.delivery.selector
    if not isinstance(selector, RingSelector):
        return replace(state.settings, subscriptionKeySharedUseConsistentHashing=False)
    return replace(
        state.settings,
        subscriptionKeySharedUseConsistentHashing=True,
        subscriptionKeySharedConsistentHashingReplicaPoints=selector.points,
    )


def _of_keys(  # noqa: PLR0917 - private
    state: ClusterState, keyed: KeySubscription, kind: str, goal: Goal, up_to: int | None, seed: int
) -> Sizing | Rejection:
    if keyed.mode.declares:
        return Rejection(
            "Declared", f"consumers of {keyed.key} declare their ranges; ringside plan changes them", "mode"
        )
    names = [consumer.name for consumer in keyed.consumers]
    settings, behaviour, keys = settings_of(state, keyed), behaviour_in(state), known_keys(keyed)
    if kind == "points":
        return points_needed(names, keys, goal, settings=settings, behaviour=behaviour, seed=seed)
    last = up_to if up_to is not None else min(len(names) + UP_TO, MOST_CONSUMERS)
    numbers = range(2, max(last, 2) + 1)
    return key_consumers_needed(names, keys, goal, numbers, settings=settings, behaviour=behaviour, seed=seed)


def _partitions_of_keys(keyed: KeySubscription) -> Rejection:
    """Why no number of partitions is suggested: each has all consumers, so the number decides nothing but resonance."""
    text = f"every partition of {keyed.key} has all consumers, so more partitions make nothing more even"
    slots = keyed.delivery.selector.slots.size
    if keyed.routing is not None and keyed.routing.key_hash.murmur_bits and keyed.consumers:
        text += (
            f"; with {keyed.routing.hashing} one of P partitions sees {slots:,} / gcd(P, {slots:,}) slots, so the fewer"
            " consumers can work on it"
        )
    return Rejection("NoSubscription", text, "subscription")


def _nothing(kind: str) -> Rejection:
    wanted = {"points": "Key_Shared", "partitions": "Failover"}.get(kind, "Failover and Key_Shared")
    return Rejection("NoSubscription", f"{kind} are suggested for {wanted} subscriptions; this is none", "subscription")


MOST_BUNDLES: Final = 4_096
MOST_WORK: Final = 200_000_000
"""Topics times numbers of bundles."""


def bundles_for(
    topics: Sequence[str],
    rates: NDArray[np.float64],
    brokers: int,
    goal: Goal,
    numbers: Sequence[int],
    *,
    now: int,
    seed: int = 0,
) -> Sizing | Rejection:
    """The evenness for several numbers of equal bundles, dealt out to brokers in turn, also with any one broker less.

    ``topics`` are full names of partitions, ``rates`` their messages/s: (n,). What chance gives is estimated with as
    many random topics. Refused: no topics, no brokers, numbers out of range, more than ``MOST_WORK``.
    """
    if not len(topics):
        return Rejection("NoTopics", "the namespace has no topic to share out", "namespace")
    if not 1 <= brokers <= MAX_BROKERS:
        return Rejection("IllegalArgumentException", f"{brokers} brokers: give 1 to {MAX_BROKERS:,}", "brokers")
    if not numbers or min(numbers) < 1 or max(numbers) > MOST_BUNDLES or len(numbers) * len(topics) > MOST_WORK:
        return Rejection("TooManyBundles", f"1 to {MOST_BUNDLES:,} bundles can be compared", "up_to")
    hashes = crc32_bulk(list(topics)).astype(np.int64)
    flows = float(rates.sum()) > 0
    weights = rates if goal.by_messages and flows else np.ones(len(topics))
    random = np.random.default_rng(seed)
    rows = []
    for number in numbers:
        boundaries = default_boundaries(number)
        assert not isinstance(boundaries, Rejection), "the number is in range"
        place = np.minimum(np.searchsorted(np.array(boundaries), hashes, side="right") - 1, number - 1)
        per_bundle = np.bincount(place, weights=weights, minlength=number)
        now_ratio = ratio_of(_dealt(per_bundle, brokers))
        loss = ratio_of(_dealt(per_bundle, brokers - 1)) if brokers > 1 else 0.0
        msgs = _dealt(np.bincount(place, weights=rates, minlength=number), brokers)
        idle = int(np.count_nonzero(_dealt(np.bincount(place, minlength=number), brokers) == 0))
        chance = _chance(weights, number, brokers, random)
        rows.append(meets(Size(number, now_ratio, loss, float(msgs.max()), idle, *chance, good=False), goal))
    hottest = int(rates.argmax())
    name, share = (topics[hottest], float(rates[hottest] / rates.sum())) if flows else ("", 0.0)
    return sizing_of(now, rows, name, share)


def _dealt(per_bundle: NDArray[np.floating] | NDArray[np.integer], brokers: int) -> NDArray[np.float64]:
    """(brokers,) the sums of brokers to which bundles are dealt in turn."""
    return np.bincount(np.arange(len(per_bundle)) % brokers, weights=per_bundle, minlength=brokers).astype(np.float64)


_DRAWN: Final = 20_000
"""With more topics the draws would dominate the cost, so fewer are drawn, which gives a wider interval."""


def _chance(
    weights: NDArray[np.float64], bundles: int, brokers: int, random: np.random.Generator
) -> tuple[float, float]:
    """The 5 % and 95 % quantiles of max/mean over random names."""
    some = weights[:_DRAWN]
    drawn = []
    for _ in range(CHANCES):
        per_bundle = np.bincount(random.integers(bundles, size=len(some)), weights=some, minlength=bundles)
        drawn.append(ratio_of(_dealt(per_bundle, brokers)))
    low, high = np.quantile(drawn, [0.05, 0.95])
    return float(low), float(high)


SuggestedKind = Literal["names", "consumers", "partitions", "bundles", "points", "flag"]


@dataclass(frozen=True, slots=True)
class SuggestedSizing(Sizing):
    goal: Annotated[Goal, about("What was asked for.")] = field(default_factory=Goal)


@dataclass(frozen=True, slots=True)
class SuggestedNames:
    """Consumer names."""

    given: Annotated[Sequence[str], about("The names that were given.")]
    names: Annotated[Sequence[str], about("The suggested ones, parallel.")]
    before: Annotated[Score, about("How even a ring is.")]
    after: Annotated[Score, about("How even a ring is.")]
    held_out_before: Annotated[
        Score | None, about("The given names on topics that were not fitted to; null where too few.")
    ]
    held_out_after: Annotated[Score | None, about("Names fitted to one half, on the other half.")]
    fitted_to: Annotated[str, about("What the names were fitted to.")]
    seed: Annotated[int, about("Seed of the search.")]
    tried: Annotated[int, about("Names that were tried.", 0)]


@dataclass(frozen=True, slots=True)
class SuggestedFlag:
    """activeConsumerFailoverConsistentHashing."""

    on: Annotated[bool, about("What it is.")]
    verdict: Annotated[Verdict, about("The verdict on the other setting.")]
    change: Annotated[bool, about("Whether to change it.")]


@dataclass(frozen=True, slots=True)
class SuggestDocument:
    """What `ringside suggest --json` prints."""

    FORMAT: ClassVar = "ringside.suggest/1"

    kind: Annotated[SuggestedKind, about("What is suggested.")]
    names: Annotated[SuggestedNames | None, about("Of kind names.")] = None
    sizing: Annotated[SuggestedSizing | None, about("Of kinds consumers, partitions, bundles and points.")] = None
    rows: Annotated[Sequence[Size], about("The curve of the same kinds.")] = ()
    flag: Annotated[SuggestedFlag | None, about("Of kind flag.")] = None


def names_document(fit: Fit, *, fitted_to: str, seed: int) -> SuggestDocument:
    """Suggested names: what they were fitted to, and their scores there and on other topics."""
    return SuggestDocument("names", names=extended(SuggestedNames, fit, fitted_to=fitted_to, seed=seed))


def sizing_document(kind: SuggestedKind, sizing: Sizing, goal: Goal) -> SuggestDocument:
    """A suggested number, with the curve around it."""
    return SuggestDocument(kind, sizing=extended(SuggestedSizing, sizing, goal=goal), rows=sizing.rows)


def flag_document(verdict: Verdict, *, on: bool) -> SuggestDocument:
    """The verdict on the other setting of the flag; ``on`` is the present one."""
    return SuggestDocument("flag", flag=SuggestedFlag(on, verdict, change=verdict.judgement == "better"))
