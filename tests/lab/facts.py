"""Kinds of facts that only a recording with steps holds; those of plain answers are ``FactKind`` of the product."""

from __future__ import annotations

from enum import Enum
from typing import Final

from engine.verify.report import FactKind


class StepFact(Enum):
    """What follows from the steps, the settings, the series and the logs of a recording."""

    ACTIVE_BY_DELIVERY = "active consumer, known by delivery"
    CONNECTED = "connected consumers"
    NOTICE = "notice"
    NO_NOTICE = "consumer left without notice"
    FLAG_KNOWN = "setting known to the release"
    SETTING_IN_FORCE = "setting in force"
    DEFAULT_BOUNDARIES = "default boundaries"
    BUNDLE_LIST = "bundle list between requests"
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
    KEY_SHARED_TERMS = "mode and ordering of a Key_Shared subscription"
    KEY_RECEIVER = "receiver of a key"
    KEY_WITHOUT_OWNER = "key that nobody gets"
    KEY_HELD_BACK = "key held back from its owner"
    KEY_BACKLOG = "messages that wait in a Key_Shared subscription"
    JOIN_ANSWER = "answer to a consumer that joins"
    CLIENT_CHECK = "ranges that a client checks itself"
    DRAINING_HASH = "draining hash"
    DRAINING_BLOCKED = "draining hashes that hold messages back"
    DRAINING_CLEARED = "draining hashes cleared so far"
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
    HIT_COUNT = "hits of a bundle in a cycle"
    CYCLE_DECISION = "decision about a bundle in a cycle"
    CYCLE_DECISION_WITHIN = "decision in a cycle within the rates recorded around it"
    CYCLE_SPLIT = "split of a cycle with its reason and children"
    AUTO_BOUNDARIES = "boundaries of an automatic split"
    AUTO_BOUNDARIES_WITHIN = "boundaries of an automatic split within the rates recorded around it"
    AUTO_SPLIT_LISTED = "automatic split that the scenario lists"
    OWNED_ONCE = "bundle owned by one broker"
    LOADED_BY_OWNER = "bundle with topics is owned by their broker"
    LOOKUP_OWNER = "owner that a look-up names"


KINDS: Final = (*FactKind, *StepFact)
"""All kinds, those of plain answers first."""
