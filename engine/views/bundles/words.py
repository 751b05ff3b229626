"""The sentences about bundles over time: verdicts, attempts, loops, and what the curve of a bundle says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from engine.balance.limits import LimitMeasure, SplitReason
from engine.balance.splitting.extensible import CycleOutcome
from engine.balance.splitting.loops import Loop, LoopKind
from engine.balance.splitting.model import Attempt
from engine.balance.splitting.modular import ModularOutcome, NoRun
from engine.bundles.algorithms import BYTES_PER_MBYTE
from engine.bundles.curve import CutCause, FlowCurve, FlowOutcome
from engine.bundles.plan import LoadManager
from engine.views.bundles.model import BalanceView

LIMIT_SETTINGS: Final[Mapping[SplitReason, str]] = {
    "Topics": "loadBalancerNamespaceBundleMaxTopics",
    "Sessions": "loadBalancerNamespaceBundleMaxSessions",
    "MsgRate": "loadBalancerNamespaceBundleMaxMsgRate",
    "Bandwidth": "loadBalancerNamespaceBundleMaxBandwidthMbytes",
}
VERDICTS: Final[Mapping[ModularOutcome | CycleOutcome, str]] = {
    "chosen": "chosen",
    "too-few-topics": "fewer than two topics: passed over",
    "below-limits": "below all limits",
    "namespace-full": "above a limit, but the namespace has its maximum of bundles",
    "bundle-count-unreadable": "the number of bundles cannot be read",
    "not-owner": "not owned by this broker",
    "cannot-split": "too narrow to split",
    "counting": "above a limit: hits are counted",
    "neighbour-splitting": "waits for a split that shares its start or end",
    "algorithm-failed": "the algorithm fails",
    "no-boundary": "the algorithm finds no boundary: tried again in every cycle",
    "not-one-boundary": "the algorithm gives more than one boundary: refused in every cycle",
    "threw": "a boundary on its edge: the whole cycle throws",
    "not-looked-at": "not looked at: the cycle had its maximum of splits",
}
OUTCOMES: Final[Mapping[str, str]] = {
    "no-change": "answered 204 and nothing changes, since the algorithm finds no cut",
    "gone": "dropped: a report older than its split still named it",
    "too-narrow": "it is too narrow to split",
    "refused": "the split is refused",
    "never-answered": "the boundaries coincide, so the call is never answered",
}
NO_RUNS: Final[Mapping[NoRun, str]] = {
    "switched-off": "loadBalancerAutoBundleSplitEnabled is false: no bundle splits by itself",
    "not-leader": "this broker is not the leader: it decides nothing",
    "one-broker": "a cluster of one broker never splits by itself with the modular load manager",
}
_LOOPS: Final[Mapping[LoopKind, str]] = {
    "repeats-without-effect": "tried again and again without effect",
    "namespace-full": "above a limit, and refused because the namespace is full",
    "parts-nothing": "split after split leaves all topics on one side",
    "unloaded-for-nothing": "unloaded and back at the same broker: the topics are interrupted for nothing",
    "returns-to-former-owner": "back at a broker it had left",
}
_CURVES: Final[Mapping[FlowOutcome, str]] = {
    "cut": "",
    "fits": "no piece is above a limit, so nothing is cut",
    "below-gate": "below the gate, so nothing is cut",
    "too-few-topics": "one topic alone: nothing is cut",
    "too-few-hashes": "fewer than two hashes with traffic: nothing is cut",
}
_CAUSES: Final[Mapping[CutCause, str]] = {"MsgRate": "messages", "Bandwidth": "bandwidth", "both": "both limits"}


def number_text(value: float) -> str:
    """A number for a sentence: whole ones without a decimal, others with one, thousands separated.

    >>> number_text(30000.0), number_text(63.12), number_text(0.04)
    ('30,000', '63.1', '0.04')
    """
    if abs(value - round(value)) < 1e-9 * max(1.0, abs(value)):
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 0.1 else f"{value:.2g}"


def topics_text(view: BalanceView) -> str:
    """The number of listed topics, and the names of unlisted ones, which bundles count as well.

    "100 topics and __change_events" where ``view.topics`` is 101.
    """
    listed = view.topics - len(view.assumed_topics)
    names = "".join(f" and {name.rpartition('/')[2]}" for name in view.assumed_topics)
    return f"{listed:,} topic{'' if listed == 1 else 's'}{names}"


def assumed_text(view: BalanceView) -> str:
    """Why a bundle has a topic that no list has; "" where all topics are listed.

    Source: ``SystemTopicNames.NAMESPACE_EVENTS_LOCAL_NAME``, made where ``topicLevelPoliciesEnabled`` (the default).
    """
    if not view.assumed_topics:
        return ""
    names = " and ".join(name.rpartition("/")[2] for name in view.assumed_topics)
    return f"counted with {names}, which brokers add to a namespace for its topic policies"


def amount_text(reason: SplitReason, value: float) -> str:
    """A measured number with its unit; those of bytes are SI (kB, MB and GB are powers of 1000).

    >>> amount_text("Topics", 1.0), amount_text("MsgRate", 63.12), amount_text("Bandwidth", 104857600.0)
    ('1 topic', '63.1 msg/s', '104.9 MB/s')
    """
    match reason:
        case "Topics" | "Sessions":
            noun = reason.lower()
            return f"{number_text(value)} {noun[:-1] if value == 1 else noun}"
        case "Bandwidth":
            return _byte_rate_text(value)
        case _:
            return f"{number_text(value)} msg/s"


def _byte_rate_text(value: float) -> str:
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if abs(value) >= unit:
            return f"{number_text(value / unit)} {name}/s"
    return f"{number_text(value)} B/s"


def limit_text(reason: SplitReason, limit: float) -> str:
    """A limit with its unit, a bandwidth also as its setting counts it: in megabytes of 1048576 bytes.

    >>> limit_text("MsgRate", 30000), limit_text("Bandwidth", 104857600), limit_text("Bandwidth", 1048576)
    ('30,000 msg/s', '104.9 MB/s (100 binary megabytes)', '1.0 MB/s (1 binary megabyte)')
    """
    text = amount_text(reason, limit)
    mbytes, rest = divmod(limit, BYTES_PER_MBYTE)
    if reason != "Bandwidth" or rest or not mbytes:
        return text
    return f"{text} ({mbytes:,.0f} binary megabyte{'' if mbytes == 1 else 's'})"


def span_text(seconds: float) -> str:
    """A time from now: hours, minutes and seconds, without zeros.

    >>> span_text(905), span_text(3600), span_text(0), span_text(5)
    ('15 min 5 s', '1 h', 'now', '5 s')
    """
    whole = round(seconds)
    parts = ((whole // 3600, "h"), (whole // 60 % 60, "min"), (whole % 60, "s"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count) or "now"


def why_text(reason: SplitReason, measure: LimitMeasure | None, load_manager: LoadManager) -> str:
    """Why a bundle is to be split: the number, the limit, the setting."""
    if measure is None or reason == "Unknown":
        return "above no limit: the hit threshold is below 0"
    average = " on long-term average" if load_manager == "modular" and reason in ("MsgRate", "Bandwidth") else ""
    measured, limit = amount_text(reason, measure.measured), limit_text(reason, measure.limit)
    return f"{measured}{average}, limit {limit} ({LIMIT_SETTINGS[reason]})"


def attempt_text(attempt: Attempt, algorithm: str) -> str:
    """What came of an attempt."""
    echo = "; an echo: the first rates after its unload are all that is known of it" if attempt.echo else ""
    if attempt.outcome == "split":
        cuts = ", ".join(f"0x{cut:08x}" for cut in attempt.cuts)
        return f"split into {len(attempt.children)} at {cuts} by {algorithm}{echo}"
    detail = f": {attempt.detail.message}" if attempt.detail is not None else ""
    return f"{OUTCOMES[attempt.outcome]}{detail}{echo}"


def verdict_text(outcome: ModularOutcome | CycleOutcome, reason: SplitReason, hits: int, needed: int) -> str:
    """What a decider made of a bundle, in few words; ``needed`` hits in a row make a choice."""
    if outcome == "counting":
        return f"{reason}: hit {hits} of {needed} in a row"
    return f"{VERDICTS[outcome]} ({reason})" if outcome == "chosen" else VERDICTS[outcome]


def loop_text(loops: Sequence[Loop], ranges: Sequence[str]) -> str:
    """What several loops of one kind and detail have in common."""
    first = min(loop.cycles[0] for loop in loops)
    last = max(loop.cycles[-1] for loop in loops)
    times = sum(loop.times for loop in loops)
    named = ranges[0] if len(ranges) == 1 else f"{len(ranges)} bundles ({ranges[0]}, …)"
    when = f"in cycle {first}" if first == last else f"in cycles {first} to {last}"
    ends = ", and it goes on" if any(loop.lasts for loop in loops) else ""
    known = {**OUTCOMES, **{str(outcome): words for outcome, words in VERDICTS.items()}}
    detail = loops[0].detail
    if loops[0].kind == "unloaded-for-nothing":
        detail = ""
    why = f" ({known.get(detail, detail)})" if detail else ""
    counted = f", {times} times" if times > 1 else ""
    return f"{named}: {_LOOPS[loops[0].kind]}{why}, {when}{counted}{ends}"


def curve_texts(curve: FlowCurve) -> tuple[str, ...]:
    """What the curve of a bundle says, sentence by sentence; the first one is the outcome."""
    total = (
        f"{amount_text('MsgRate', curve.total_msgs_per_sec)} and {amount_text('Bandwidth', curve.total_bytes_per_sec)}"
    )
    msgs, octets = amount_text("MsgRate", curve.msg_limit), limit_text("Bandwidth", curve.byte_limit)
    if curve.rule == "proposed":
        octets = amount_text("Bandwidth", curve.byte_limit)
        limits = f"half of the total is {msgs} and {octets}: one cut where the running sum passes it"
    else:
        gate = (
            f"{amount_text('MsgRate', curve.gate_msgs_per_sec)} or {amount_text('Bandwidth', curve.gate_bytes_per_sec)}"
        )
        limits = f"a piece may have {msgs} and {octets}; the total has to reach {gate} first"
    if curve.cuts:
        pieces = len(curve.cuts) + 1
        outcome = f"{len(curve.cuts)} cut{'s make' if pieces > 2 else ' makes'} {pieces} pieces out of {total}"
    elif curve.rule == "proposed":
        outcome = f"{total}: no point passes half of it, so nothing is cut"
    else:
        outcome = f"{total}: {_CURVES[curve.outcome]}"
    cuts = tuple(
        f"cut at {cut.position} (0x{cut.position:08x}), between hashes {cut.before} and {cut.after}, for"
        f" {_CAUSES[cut.cause]}: with the next topic the sum is {amount_text('MsgRate', cut.msgs_per_sec)} and"
        f" {amount_text('Bandwidth', cut.bytes_per_sec)}"
        + ("" if cut.inside else "; it is not inside the bundle, so a split refuses it")
        + ("" if cut.parts else "; it parts no traffic")
        for cut in curve.cuts
    )
    count = len(curve.idle)
    idle = (f"{count} idle topic{'s count' if count > 1 else ' counts'} for nothing",) if count else ()
    return (outcome, limits, *cuts, *idle)
