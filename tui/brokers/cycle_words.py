"""English for one cycle of shedding: who sheds what to whom and why, and what is left alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from engine.admin.interruptions import Interruption
from engine.balance.leadership.shedding import UnloadOutcome
from engine.balance.settings import LoadSettings
from engine.balance.shedding.model import BrokerOutcome, BundleOutcome
from engine.balance.shedding.strategies import THRESHOLD, UNIFORM
from engine.balance.shedding.transfer import PairOutcome, SkipReason, TopBundleOutcome
from engine.balance.thresholds import least_setting, limit_setting
from engine.text import counted, listed
from engine.views.brokers.model import LeftAlone, NextCycle, NextMove, Numbers
from tui.kit.compared import compared_text
from tui.kit.interruptions import anew_parts
from tui.kit.wording import Line, bytes_per_sec, in_out_rate, percent, safe_name

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
_SKIPPED_TEXTS: Final[dict[SkipReason | str, str]] = {
    "switched-off": "shedding is switched off",
    "one-broker": "only one broker is there",
    "CoolDown": "{broker} took part in an unload too recently for its load data (CoolDown)",
    "HitCount": "the brokers are even, or were uneven in too few cycles in a row (HitCount)",
    "NoBrokers": "no broker has load data (NoBrokers)",
    "NoBundles": "the fuller brokers have no bundle to move (NoBundles)",
    "NoLoadData": "{broker} has no load data at the moment (NoLoadData)",
    "OutDatedData": "all load data is too old (OutDatedData)",
}
PAIR_TEXTS: Final[dict[PairOutcome, str]] = {
    "moves": "exchange bundles",
    "no-load-data": "have no load data",
    "no-bundles-reported": "the fuller one reports no bundle that may move",
    "one-bundle": "the fuller one reports one bundle that may move (none of pulsar/system), and the last one stays",
    "nothing-to-move": "have no bundle that may move or fits",
    "only-idle-bundles": "move bundles without traffic only",
}
BUNDLE_TEXTS: Final[dict[BundleOutcome | TopBundleOutcome, str]] = {
    "unloaded": "unloaded",
    "moved": "moved",
    "swapped": "moved back to make room",
    "recently-unloaded": "unloaded within the grace period",
    "no-averages": "the leader has no averages of it, or it is a broker's own, for heartbeats",
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
LEFT_TEXTS: Final[dict[str, str]] = {
    str(why): text for texts in (STAYS_TEXTS, BUNDLE_TEXTS, BROKER_TEXTS, PAIR_TEXTS) for why, text in texts.items()
}
CANDIDATES_SHOWN: Final = 4
MOVES_SHOWN: Final = 30
LEFT_SHOWN: Final = 30


def cycle_lines(coming: NextCycle, shedder: str, settings: LoadSettings) -> list[Line]:
    """A cycle: the brokers that shed with their bundles, then what stays, then the settings the limits come from."""
    lines: list[Line] = [(f"cycle {coming.number}, after {coming.at_ms / 60_000:g} min", "head")]
    if coming.skipped is not None:
        lines.append((f"nothing: {skipped_text(coming, settings)}", "dim"))
    sheds = ""
    for move in coming.moves[:MOVES_SHOWN]:
        if move.move.source != sheds:
            sheds = move.move.source
            lines.append((f"{safe_name(sheds)} sheds{_why(move.numbers)}", "text"))
        lines.append((move_text(move), "warn" if move.move.returns else "text"))
    if len(coming.moves) > MOVES_SHOWN:
        lines.append((f"and {len(coming.moves) - MOVES_SHOWN} more (--json has them all)", "dim"))
    if not coming.moves and coming.skipped is None:
        lines.append(("nothing is unloaded", "good"))
    if coming.doubtful:
        lines.append(
            ("brokers may pick others of equal weight: no report has the order of their hash map (see below)", "dim")
        )
    if coming.left_alone:
        texts = left_texts(coming.left_alone, shedder)
        lines.append(("left alone", "head"))
        lines += [(text, "dim") for text in texts[:LEFT_SHOWN]]
        if len(texts) > LEFT_SHOWN:
            lines.append((f"and {len(texts) - LEFT_SHOWN} more (--json has them all)", "dim"))
    return [*lines, *_limit_lines(coming, shedder, settings)]


def _why(numbers: Numbers | None) -> str:
    if numbers is None:
        return ""
    need = _traffic(numbers.need, numbers.need_measure)
    goes = f"; {need} should go" if numbers.need > 0 else ""
    return f": {compared_text(numbers.measure, numbers.figure, numbers.limit)}{goes}"


def _traffic(value: float, measure: str) -> str:
    return in_out_rate(value) if measure == "messages" else bytes_per_sec(value)


def move_text(coming: NextMove) -> str:
    """A bundle, where it goes, and what that interrupts."""
    move = coming.move
    target = "nobody" if move.destination is None else safe_name(move.destination)
    back = ", where it was before" if move.returns else ""
    if move.destination == move.source:
        target, back = "the same broker again", ", for nothing"
    drawn = f" (drawn: {chances_text(move.chances)})" if len(move.chances) > 1 else ""
    if coming.planned and coming.planned != move.destination:
        drawn += f"; the shedder planned {safe_name(coming.planned)}"
    known = {} if coming.interruption is None else {move.bundle: coming.interruption}
    carries = f"{counted(move.topics, 'topic')}{clients_text([move], known)}, {in_out_rate(move.msgs_per_sec)}"
    return f"{safe_name(move.bundle)} to {target}{drawn}{back}: {carries}"


def chances_text(chances: Mapping[str, float]) -> str:
    """The first few brokers that may be drawn, with their chances."""
    return listed([f"{safe_name(broker)} {percent(chance)}" for broker, chance in chances.items()], CANDIDATES_SHOWN)


class HasClients(Protocol):
    """A bundle, or its unload."""

    @property
    def bundle(self) -> str: ...
    @property
    def producers(self) -> int: ...
    @property
    def consumers(self) -> int: ...


def clients_text(interrupted: Iterable[HasClients], interruptions: Mapping[str, Interruption] | None = None) -> str:
    """Who connects again after unloads, to be put after the topics; "" where the reports name nobody.

    ``interruptions``: by bundle, what else an unload interrupts; once for each time that a bundle is unloaded.
    """
    bundles = tuple(interrupted)
    producers, consumers = sum(bundle.producers for bundle in bundles), sum(bundle.consumers for bundle in bundles)
    clients = [counted(producers, "producer"), counted(consumers, "consumer")] if producers or consumers else []
    known = interruptions or {}
    parts = anew_parts(known[bundle.bundle] for bundle in bundles if bundle.bundle in known)
    return "".join(f", {part}" for part in (*clients, *parts))


def left_texts(left_alone: Iterable[LeftAlone], shedder: str) -> list[str]:
    """Who or what stays, and why; brokers of which the same is said are in one line."""
    brokers: dict[str, list[str]] = {}
    for left in left_alone:
        subject, why = _left(left, shedder)
        brokers.setdefault(why, []).append(subject)
    return [f"{listed(subjects)}: {why}" for why, subjects in brokers.items()]


def _left(left: LeftAlone, shedder: str) -> tuple[str, str]:
    broker, numbers = safe_name(left.broker), left.numbers
    compared = "" if numbers is None else compared_text(numbers.measure, numbers.figure, numbers.limit)
    if left.other:
        return f"{broker} and {safe_name(left.other)}", f"{LEFT_TEXTS[left.why]}{f' ({compared})' if compared else ''}"
    if left.bundle:
        which = safe_name(left.bundle) if left.count == 1 else counted(left.count, "bundle")
        return f"{which} of {broker}", LEFT_TEXTS[left.why]
    if left.why == "not-the-busiest":
        return broker, "not the busiest broker" if shedder == UNIFORM else "the emptier one of its pair, which takes"
    if not compared or numbers is None:
        return broker, LEFT_TEXTS[left.why]
    if left.why in ("below-threshold", "hits-too-few"):
        return broker, compared
    if left.why == "below-minimum-traffic":
        moves = compared_text(numbers.need_measure, numbers.need, numbers.least)
        return broker, f"{compared}, but {moves} ({least_setting(shedder, numbers.need_measure)})"
    return broker, f"{compared}, but it {LEFT_TEXTS[left.why]}"


def skipped_text(coming: NextCycle, settings: LoadSettings) -> str:
    """Why a cycle looked at nothing, and the numbers of it where the extensible leader counts."""
    why, broker = coming.skipped, safe_name(coming.blamed) if coming.blamed else "a broker"
    if why == "HitCount" and coming.hits is not None:
        target = settings.loadBalancerBrokerLoadTargetStd
        compared = f"standard deviation of loads {coming.deviation:.3g}, loadBalancerBrokerLoadTargetStd {target:g}"
        if not coming.hits:
            return f"the brokers are even ({compared})"
        signs = {"underloaded": f"{broker} is far emptier than the others", "overloaded": f"{broker} is overloaded"}
        needed = settings.loadBalancerSheddingConditionHitCountThreshold
        if coming.hits > needed:
            return "no pair of brokers is looked at (loadBalancerMaxNumberOfBrokerSheddingPerCycle)"
        return (
            f"uneven for {counted(coming.hits, 'cycle')} in a row ({signs.get(coming.sign or '', compared)}),"
            f" more than {needed} are needed (loadBalancerSheddingConditionHitCountThreshold)"
        )
    if why == "CoolDown":
        delay = settings.loadBalanceSheddingDelayInSeconds
        return (
            f"{broker} took part in an unload less than {delay:,} s before its load data"
            " (CoolDown, loadBalanceSheddingDelayInSeconds)"
        )
    if why == "switched-off":
        name = "loadBalancerSheddingEnabled" if settings.loadBalancerEnabled else "loadBalancerEnabled"
        return f"shedding is switched off ({name}=false)"
    return skip_reason(why, broker) if why is not None else ""


def skip_reason(why: SkipReason | str, broker: str = "a broker") -> str:
    """Why a cycle looked at nothing, without its numbers; ``broker``: the one that is the reason."""
    return _SKIPPED_TEXTS[why].format(broker=broker)


def _limit_lines(coming: NextCycle, shedder: str, settings: LoadSettings) -> list[Line]:
    """The settings that the limits in a cycle come from, each once."""
    numbers = [move.numbers for move in coming.moves] + [left.numbers for left in coming.left_alone]
    names = dict.fromkeys(filter(None, (limit_setting(one.measure) for one in numbers if one is not None)))
    below = any(one is not None and one.measure == "lower-boundary" for one in numbers)
    mean = ("the mean plus or minus " if below else "the mean plus ") if shedder == THRESHOLD else ""
    return [(f"limit: {mean}{name}={getattr(settings, name):g}", "dim") for name in names]
