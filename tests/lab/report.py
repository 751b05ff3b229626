"""What a comparison of the model with recorded answers found, as data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from engine.errors import Problem


class FactKind(Enum):
    """The kinds of facts that are compared; each is counted by itself."""

    ACTIVE_PARTITION = "active consumer of a partition"
    ACTIVE_NONPARTITIONED = "active consumer of a topic without partitions"
    ACTIVE_INFERRED_LEVELS = "active consumer, explained by inferred priority levels"
    ACTIVE_EXCLUSIVE = "active consumer of an Exclusive subscription"
    ACTIVE_BY_DELIVERY = "active consumer, found by delivery"
    NO_ACTIVE_NAME = "no active consumer named by a non-persistent topic"
    CONNECTED = "connected consumers"
    ORDER = "dispatcher order"
    STANDBYS = "standby list"
    NOTICE = "notice"
    NO_NOTICE = "consumer left without notice"
    FLAG_KNOWN = "setting known to the release"
    SETTING_IN_FORCE = "setting in force"
    TOPIC_BUNDLE = "bundle of a topic"
    LISTED_IN_BUNDLE = "topic listed in a bundle"
    HASH_POSITION = "hash position"
    DEFAULT_BOUNDARIES = "default boundaries"
    VALID_LIST = "valid bundle list"
    BUNDLE_LIST = "bundle list between requests"
    BUNDLE_IN_LIST = "bundle with topics is in the bundle list"
    POLICIES = "bundles in the policies"
    SPLIT_RANGE = "bundle list after range_equally_divide"
    SPLIT_TOPIC_COUNT = "bundle list after topic_count_equally_divide"
    SPLIT_SPECIFIED = "bundle list after specified_positions_divide"
    SPLIT_FLOW = "bundle list after flow_or_qps_equally_divide"
    SPLIT_FLOW_WITHIN = "flow split within the rates recorded"
    SPLIT_NO_CHANGE = "split that changes nothing"
    SPLIT_STATUS = "status of a split request"
    REFUSAL_STATUS = "status of a refusal"
    NEVER_ANSWERED = "request that is never answered"
    KEY_RANGES = "hash ranges of a Key_Shared consumer"
    KEY_RANGES_FORM = "form in which hash ranges are reported"
    KEY_RANGES_APART = "hash ranges that do not overlap"
    KEY_SHARED_TERMS = "mode and ordering of a Key_Shared subscription"
    KEY_RECEIVER = "receiver of a key"
    KEY_WITHOUT_OWNER = "key that nobody gets"
    KEY_HELD_BACK = "key held back from its owner"
    KEY_BACKLOG = "messages that wait in a Key_Shared subscription"
    JOIN_ANSWER = "answer to a consumer that joins"
    CLIENT_CHECK = "ranges that a client checks itself"
    DRAINING_HASH = "draining hash"
    DRAINING_COUNT = "count of draining hashes"
    DRAINING_BLOCKED = "draining hashes that hold messages back"
    DRAINING_CLEARED = "draining hashes cleared so far"
    PARTITIONED_SUM = "sums of a partitioned topic"
    PARTITIONED_AVERAGE = "average message size of a partitioned topic"
    PUBLISHER_ENTRIES = "publisher list of a partitioned topic"
    PUBLISHER_SUM = "rates of a publisher entry"
    PUBLISHER_AVERAGE = "average message size of a publisher entry"
    SUBSCRIPTION_SUM = "sums of a subscription over partitions"
    CONSUMER_ENTRIES = "consumer list over partitions"
    PRODUCER_PARTITIONS = "producers at a partition"
    PRODUCER_ACCESS_MODE = "access mode of a producer"
    PRODUCER_FLAG = "flag of partial producers"
    PRODUCER_NAME = "name of a producer"
    PRODUCER_ANSWER = "answer to a producer that starts"
    KEY_PARTITION = "partition of a key"
    KEYLESS_PARTITION = "partition of a message without key"
    PARTITION_MESSAGES = "messages of a partition"
    SPLIT_CHOICE = "bundle the leader chose to split"
    SPLIT_CHOICE_NUMBERS = "numbers a bundle was chosen by"
    STORED_AVERAGE = "stored average of a bundle"
    STORED_AVERAGE_OTHER_ORDER = "stored average, with two reports of a second in another order"
    REPORT_TOTALS = "totals of a load report"
    REPORT_ORDER = "order of bundles in a load report"
    HIT_COUNT = "hits of a bundle in a cycle"
    CYCLE_DECISION = "decision about a bundle in a cycle"
    CYCLE_DECISION_WITHIN = "decision in a cycle within the rates recorded around it"
    CYCLE_SPLIT = "split of a cycle with its reason and children"
    AUTO_BOUNDARIES = "boundaries of an automatic split"
    AUTO_SPLIT_TOLD = "automatic split that the scenario lists"
    OWNED_ONCE = "bundle owned by one broker"
    LOADED_BY_OWNER = "bundle with topics is owned by their broker"
    LOOKUP_OWNER = "owner that a look-up names"


@dataclass(frozen=True, slots=True)
class Difference:
    """One fact on which recording and model differ. ``step`` and ``file`` say where it was recorded."""

    kind: FactKind
    step: str
    file: str
    subject: str
    recorded: str
    modelled: str
    rule: str


@dataclass(frozen=True, slots=True)
class Tally:
    """How many facts of one kind were compared, and how many of them agree."""

    kind: FactKind
    compared: int
    agree: int


@dataclass(frozen=True, slots=True)
class Fit:
    """How a release and a flag fit a recording that names neither: the fewer differences, the better."""

    nonpartitioned: Literal["ring", "first-connected"]
    consistent_hashing: bool
    differences: int


VersionSource = Literal["asked for", "scenario.json", "load report", "tried"]
FlagSource = Literal["scenario.json", "run-time configuration", "default", "tried"]


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The whole outcome.

    ``not_compared`` counts facts of kinds that are not modelled, or that cannot be decided from what was recorded.
    ``fits`` is filled when release or flag had to be tried; the first is the one the tallies are for, and
    ``undecided`` says that others fit as well. ``pulsar_version`` is the release whose rules were used.
    ``key_shared_settings`` are the broker settings, by name, that a Key_Shared recording was held against.
    """

    path: str
    pulsar_version: str
    version_source: VersionSource
    consistent_hashing: bool
    flag_source: FlagSource
    tallies: tuple[Tally, ...]
    differences: tuple[Difference, ...]
    not_compared: tuple[tuple[str, int], ...]
    problems: tuple[Problem, ...]
    fits: tuple[Fit, ...] = ()
    key_shared_settings: tuple[tuple[str, str], ...] = ()

    @property
    def compared(self) -> int:
        return sum(tally.compared for tally in self.tallies)

    @property
    def agree(self) -> int:
        return sum(tally.agree for tally in self.tallies)

    @property
    def undecided(self) -> bool:
        return len({fit.differences for fit in self.fits[:2]}) == 1 and len(self.fits) > 1

    @property
    def exit_code(self) -> int:
        """0 fine, 1 a difference, 2 nothing that could be compared."""
        return 2 if not self.compared else 1 if self.differences else 0


@dataclass(slots=True)
class Ledger:
    """Collects facts while a recording is gone through; ``step`` and ``file`` are where it is just now."""

    step: str = ""
    file: str = ""
    compared: Counter[FactKind] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)

    def compare(self, kind: FactKind, subject: str, recorded: object, modelled: object, rule: str) -> bool:
        """Count one fact; a difference is kept with both sides."""
        self.compared[kind] += 1
        if recorded == modelled:
            return True
        found = Difference(kind, self.step, self.file, subject, _text(recorded), _text(modelled), rule)
        self.differences.append(found)
        return False

    def skip(self, what: str, count: int = 1) -> None:
        """Count facts that are not compared."""
        if count:
            self.skipped[what] += count

    def tallies(self) -> tuple[Tally, ...]:
        missed = Counter(difference.kind for difference in self.differences)
        return tuple(
            Tally(kind, self.compared[kind], self.compared[kind] - missed[kind])
            for kind in FactKind
            if self.compared[kind]
        )


def _text(value: object) -> str:
    if value is None:
        return "nobody"
    if isinstance(value, tuple | list):
        return ", ".join(_text(item) for item in value) if value else "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
