"""Which brokers a bundle may go to at all, before a placement strategy chooses one of them.

After ``LoadManagerShared``, ``BrokerVersionFilter``, ``BrokerLoadManagerClassFilter`` and the filters of the extensible
manager. A filter keeps the order of the candidates.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from engine.balance.brokers import BrokerLoad
from engine.errors import Rejection
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules, VersionLibrary

if TYPE_CHECKING:
    from engine.balance.placement.model import KnownBroker

NO_DOMAIN = "default"
"""The failure domain of brokers that are in none."""
MAX_PATTERN_LENGTH = 1000
_PORT: Final = re.compile(r"0*[0-9]{1,5}", re.ASCII)
_HIGHEST_PORT: Final = 65_535
MAX_REPETITIONS = 6
_REFERENCE: Final = re.compile(r"(?<!\\)(?:\\\\)*\\[1-9]|\(\?P=")
_ESCAPED: Final = re.compile(r"\\.", re.DOTALL)
_CLASS: Final = re.compile(r"(?<!\\)(?:\\\\)*\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)


@dataclass(slots=True)
class Sieve:
    """The candidates that are left after one filter after another, and what each filter that removed some left."""

    kept: tuple[str, ...]
    filtered: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def keep(self, name: str, left: tuple[str, ...]) -> None:
        """Take over what the filter ``name`` left of ``kept``."""
        if len(left) < len(self.kept):
            self.filtered[name] = left
        self.kept = left


@dataclass(frozen=True, slots=True)
class IsolationPolicy:
    """One isolation policy of a cluster; its members are regular expressions that match a whole name or host.

    ``min_limit``: with fewer primary brokers alive than this, the secondary ones may own bundles too.
    """

    namespaces: tuple[str, ...]
    primary: tuple[str, ...]
    secondary: tuple[str, ...] = ()
    min_limit: int = 0


def pattern_problem(pattern: str) -> str | None:
    """Why a pattern is not tried; None for one that is.

    Besides what is no regular expression: what can take longer than anybody waits, which is a repetition of something
    that repeats or has alternatives, a reference to a group, and many repetitions one after the other. O(length).

    >>> pattern_problem("broker-[0-9]+\\\\.example\\\\.org"), pattern_problem("(a+)+")
    (None, 'it repeats something that repeats')
    """
    if len(pattern) > MAX_PATTERN_LENGTH:
        return f"it has more than {MAX_PATTERN_LENGTH} characters"
    try:
        with warnings.catch_warnings():  # what a later Python may read otherwise is nobody's concern here
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return f"it is no regular expression ({error})"
    return _slow(pattern)


def _slow(pattern: str) -> str | None:
    """What makes a regular expression slow, told by its text alone."""
    text = _CLASS.sub("x", pattern)
    if _REFERENCE.search(pattern):
        return "it refers to a group"
    groups: list[bool] = []
    repeats = 0
    closed, before = False, ""
    for char in _ESCAPED.sub("x", text):
        repeated = char in "*+{"
        optional = char == "?" and before not in "(*+}"  # else it opens a group, or makes a repetition lazy
        before = char
        if repeated:
            repeats += 1
            if closed:
                return "it repeats something that repeats"
        closed = False
        if char == "(":
            groups.append(False)
        elif char == ")" and groups:
            closed = groups.pop()
            if groups:
                groups[-1] |= closed
        elif (repeated or optional or char == "|") and groups:
            groups[-1] = True
    return f"it has more than {MAX_REPETITIONS} repetitions" if repeats > MAX_REPETITIONS else None


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    return None if pattern_problem(pattern) is not None else re.compile(pattern)


def _matches(patterns: Sequence[str], text: str) -> bool:
    compiled = (_compiled(pattern) for pattern in patterns)
    return any(pattern is not None and pattern.fullmatch(text) is not None for pattern in compiled)


def _matches_broker(patterns: Sequence[str], broker: str, rules: LoadRules) -> bool:
    """Whether a pattern names a broker, ``host:port`` with an IPv6 host in brackets."""
    if _matches(patterns, broker.rpartition(":")[0]):
        return True
    whole = _host_and_port(broker) if rules.isolation_by_port else None
    return whole is not None and _matches([pattern for pattern in patterns if ":" in pattern], whole)


def _host_and_port(broker: str) -> str | None:
    """A broker as ``HostAndPort`` writes it; None where it has no host, or a port that is none.

    >>> [_host_and_port(broker) for broker in ("b-1:8080", "[::1]:08080", ":8080", "b-1:", "b-1:65536")]
    ['b-1:8080', '[::1]:8080', None, None, None]
    """
    host, _, port = broker.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not host or host.count(":") == 1 or _PORT.fullmatch(port) is None or int(port) > _HIGHEST_PORT:
        return None
    return f"[{host}]:{int(port)}" if ":" in host else f"{host}:{int(port)}"


def is_isolated(namespace: str, policies: Sequence[IsolationPolicy]) -> bool:
    """Whether an isolation policy is about a namespace."""
    return any(_matches(policy.namespaces, namespace) for policy in policies)


def permitted(
    namespace: str,
    brokers: Mapping[str, BrokerLoad | None],
    policies: Sequence[IsolationPolicy],
    rules: LoadRules = CURRENT_LOAD_RULES,
    *,
    persistent: bool = True,
) -> tuple[str, ...]:
    """The brokers that isolation lets own bundles of a namespace, in the order given, secondary ones last.

    Without a policy of its own a namespace goes to brokers that are primary for nobody and whose report says that they
    take such topics. ``brokers``: those alive with their reports, None for one that has not reported yet. A pattern
    that Python cannot read matches nothing.
    """
    if not policies:
        return tuple(broker for broker, load in brokers.items() if ":" in broker and _takes_topics(load, persistent))
    valid = [broker for broker in brokers if ":" in broker]
    policy = next((policy for policy in policies if _matches(policy.namespaces, namespace)), None)
    if policy is not None:
        primaries = [broker for broker in valid if _matches_broker(policy.primary, broker, rules)]
        if len(primaries) >= policy.min_limit:
            return tuple(primaries)
        secondary = [broker for broker in valid if _matches_broker(policy.secondary, broker, rules)]
        return (*primaries, *(broker for broker in secondary if broker not in primaries))
    shared = (broker for broker in valid if not any(_matches_broker(each.primary, broker, rules) for each in policies))
    return tuple(broker for broker in shared if _takes_topics(brokers[broker], persistent))


def _takes_topics(load: BrokerLoad | None, persistent: bool) -> bool:
    if load is None:
        return False
    return load.persistent_topics if persistent else load.non_persistent_topics


def below_max_topics(candidates: Sequence[str], brokers: Mapping[str, KnownBroker], max_topics: int) -> tuple[str, ...]:
    """Modular: candidates whose topics, those of bundles placed since their report included, are not above the maximum.

    All of them, if all have more.
    """

    def topics(name: str) -> int:
        broker = brokers.get(name)
        if broker is None:
            return 0
        placed = sum(data.topics for data in broker.preallocated.values()) if broker.preallocated else 0
        return broker.load.topics + placed

    kept = tuple(name for name in candidates if topics(name) <= max_topics)
    return kept or tuple(candidates)


def below_max_topics_extensible(
    candidates: Sequence[str], topics: Mapping[str, int], max_topics: int
) -> tuple[str, ...]:
    """Extensible: candidates with fewer topics than the maximum, even if none is left. Without load data: 0 topics."""
    return tuple(name for name in candidates if topics.get(name, 0) < max_topics)


def least_servicing(candidates: Sequence[str], ranges: Mapping[str, int]) -> tuple[str, ...]:
    """The candidates with fewest bundles of a namespace, whatever their load; ``ranges``: how many each has.

    >>> least_servicing(("b:1", "b:2", "b:3"), {"b:1": 1})
    ('b:2', 'b:3')
    """
    return _fewest(candidates, lambda name: ranges.get(name, 0))


def _fewest(candidates: Sequence[str], count: Callable[[str], int]) -> tuple[str, ...]:
    least = min((count(name) for name in candidates), default=0)
    return tuple(name for name in candidates if count(name) == least)


def anti_affinity(
    candidates: Sequence[str], counts: Mapping[str, int] | None, domains: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """The candidates with fewest namespaces of the group; before that, those in the domains with fewest.

    ``counts``: by broker, None for a namespace without a group. ``domains``: broker to failure domain, None while these
    are switched off.
    """
    if counts is None or not candidates:
        return tuple(candidates)
    kept = tuple(candidates)
    if domains:
        sums: dict[str, int] = {}
        for name in candidates:
            domain = domains.get(name, NO_DOMAIN)
            sums[domain] = sums.get(domain, 0) + counts.get(name, 0)
        least = min(sums.values())
        kept = tuple(name for name in candidates if sums[domains.get(name, NO_DOMAIN)] == least)
    return _fewest(kept, lambda name: counts.get(name, 0))


def unload_is_useful(candidates: Sequence[str], counts: Mapping[str, int] | None) -> bool:
    """Whether taking a bundle off its broker can bring the namespaces of its anti-affinity group further apart.

    ``candidates``: all that may own it. Pulsar also asks whether the present broker has more than the least, but then
    the candidates differ anyway.
    """
    if not counts:
        return True
    numbers = {counts.get(name, 0) for name in candidates}
    return len(numbers) > 1 or numbers == {0}


def same_load_manager(
    candidates: Sequence[str], load_managers: Mapping[str, str | None], wanted: str
) -> tuple[str, ...]:
    """The candidates that run one load manager class; those without a report stay too."""
    return tuple(name for name in candidates if load_managers.get(name, wanted) == wanted)


_NUMBER = r"(?:0|[1-9][0-9]{0,18})"
_IDENTIFIERS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_SEMANTIC_VERSION = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_IDENTIFIERS}))?(?:\+({_IDENTIFIERS}))?", re.ASCII
)
_LEADING_ZERO: Final = re.compile(r"0[0-9]+", re.ASCII)
_SIGNED: Final = re.compile(r"-?[0-9]+", re.ASCII)
_UNSIGNED: Final = re.compile(r"[1-9][0-9]*", re.ASCII)
_HIGHEST: Final[Mapping[VersionLibrary, int]] = {"0.9": 2**31 - 1, "0.10": 2**63 - 1}


@dataclass(frozen=True, slots=True)
class SemanticVersion:
    """A version with three numbers, compared as the library does that brokers use (``com.github.zafarkhaja.semver``).

    Identifiers of a pre-release that are Java integers are compared as such, any others as text, so that the order can
    run in a circle: 2 before 10, 10 before 1a, 1a before 2. ``library``: that which read it, and compares it.
    """

    numbers: tuple[int, int, int]
    pre_release: tuple[str, ...] | None
    build: tuple[str, ...] | None
    library: VersionLibrary

    def compare(self, other: SemanticVersion) -> int:
        """Less than 0, 0 or more, as this one is older, equal or newer; build metadata plays no part.

        >>> one, *others = (semantic_version(text, "0.10") for text in ("4.2.4", "4.2.4-rc.1", "4.2.4+7", "4.10.0"))
        >>> [other.compare(one) for other in others]
        [-1, 0, 1]
        """
        if self.numbers != other.numbers:
            return 1 if self.numbers > other.numbers else -1
        return _compared(self.pre_release, other.pre_release, self.library, without=1)

    def compare_with_build(self, other: SemanticVersion) -> int:
        """The same, and of equal versions the one with the higher build metadata is newer.

        Raises ``OverflowError`` where Java does, for two numbers in builds of which one is too large for 0.10.
        """
        return self.compare(other) or _compared(self.build, other.build, self.library, without=-1)


def _compared(
    mine: tuple[str, ...] | None, others: tuple[str, ...] | None, library: VersionLibrary, *, without: int
) -> int:
    """Compare dotted identifiers; ``without``: what a version that has none is to one that has some."""
    if mine is None or others is None:
        return 0 if mine is others else without if mine is None else -without
    of_two = _COMPARED[library]
    compared = (of_two(a, b) for a, b in zip(mine, others, strict=False))
    return next((result for result in compared if result), len(mine) - len(others))


def _signed_compared(mine: str, other: str) -> int:
    """Compare two identifiers as 0.9 does: what ``Integer.parseInt`` does not throw at is a number."""
    one, two = _number(mine, "0.9"), _number(other, "0.9")
    if one is not None and two is not None:
        return (one - two + 2**31) % 2**32 - 2**31
    return (mine > other) - (mine < other)


def _unsigned_compared(mine: str, other: str) -> int:
    """Compare two identifiers as 0.10 does: a number is what has only digits and no zero in front, 0 included."""
    if _UNSIGNED.fullmatch(mine) is None or _UNSIGNED.fullmatch(other) is None:
        return (mine > other) - (mine < other)
    one, two = _number(mine, "0.10"), _number(other, "0.10")
    if one is None or two is None:
        raise OverflowError(mine if one is None else other)
    return (one > two) - (one < two)


_COMPARED: Final[Mapping[VersionLibrary, Callable[[str, str], int]]] = {
    "0.9": _signed_compared,
    "0.10": _unsigned_compared,
}


def _number(text: str, library: VersionLibrary) -> int | None:
    """What Java's parser of integers makes of an identifier, None if it throws."""
    highest = _HIGHEST[library]
    if _SIGNED.fullmatch(text) is None or len(text.lstrip("-0")) > len(str(highest)):
        return None
    value = int(text)
    return value if -highest - 1 <= value <= highest else None


def semantic_version(text: str, library: VersionLibrary) -> SemanticVersion | None:
    """A version as its text says; None for a text that brokers cannot read.

    >>> semantic_version("4.2", "0.10") is None
    True
    """
    match = _SEMANTIC_VERSION.fullmatch(text)
    if match is None:
        return None
    major, minor, patch = (int(part) for part in match.groups()[:3])
    if max(major, minor, patch) > _HIGHEST[library]:
        return None
    pre_release, build = (None if part is None else tuple(part.split(".")) for part in match.groups()[3:])
    for part in pre_release or ():
        too_large = library != "0.9" and _UNSIGNED.fullmatch(part) and _number(part, library) is None
        if too_large or _LEADING_ZERO.fullmatch(part):
            return None
    return SemanticVersion((major, minor, patch), pre_release, build, library)


def newest_version(
    candidates: Sequence[str], versions: Mapping[str, str | None], rules: LoadRules = CURRENT_LOAD_RULES
) -> tuple[str, ...] | Rejection:
    """The candidates that run the newest version among them, which is found in their order.

    Build metadata decides which one is the newest; only by java-semver 0.10 must the others have the same.
    Refused: no candidate at all, one without a version that can be read, and builds that cannot be compared, where
    the look-up of a real broker fails instead of going on without the filter.
    """
    try:
        return _newest_version(candidates, versions, rules.version_library)
    except OverflowError as error:
        message = f"build metadata with the number {error} cannot be compared, it is too large"
        return Rejection("NumberFormatException", message, field="version")


def _newest_version(
    candidates: Sequence[str], versions: Mapping[str, str | None], library: VersionLibrary
) -> tuple[str, ...] | Rejection:
    known: dict[str, SemanticVersion] = {}
    newest: SemanticVersion | None = None
    for name in candidates:
        version = semantic_version(versions.get(name) or "", library)
        if version is None:
            message = f"{name} has not reported a version that can be compared: {versions.get(name)!r}"
            return Rejection("BrokerFilterBadVersionException", message, field="version")
        known[name] = version
        if newest is None or newest.compare_with_build(version) < 0:
            newest = version
    if newest is None:
        message = "no broker is left whose version could be compared"
        return Rejection("BrokerFilterBadVersionException", message, field="version")
    compare = newest.compare if library == "0.9" else newest.compare_with_build
    return tuple(name for name in candidates if compare(known[name]) == 0)
