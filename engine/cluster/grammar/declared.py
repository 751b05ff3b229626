"""All commands of the command line, of scripts and of journals: each is declared once, to be read and written.

Words are those of ``words``. A word in quotes is never an option and never an id. Where a namespace or a range is
written so oddly that the slash does not part them, ``split NAMESPACE bundle RANGE`` takes any two texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from engine.cluster import commands
from engine.cluster.grammar.forms import Form, Scope, Values, members_of
from engine.cluster.grammar.words import LineReader, quote
from engine.cluster.keys.state import SharingMode
from engine.cluster.producers.state import ProducerPlan
from engine.cluster.state import (
    ClusterState,
    find_scalable_topic,
    producer_topics_meant,
    scalable_topic_names,
    subscription_keys,
)
from engine.config import DEFAULTS
from engine.errors import Rejection
from engine.names import long_decode
from engine.scalable.model import TOPIC_SCHEME

DEFAULT_POINTS: Final = 100
"""Points of a node for consistent sticky ranges, where none are named."""
FIRST_SUBSCRIPTION: Final = "subscription"
"""The subscription that a consumer of a scalable topic joins where the topic has none and none is named."""
BUNDLE_WORDS: Final = ("LARGEST", "HOT")


def _subscription(line: LineReader, values: Values) -> None:
    values["subscription"] = line.subscription(values.get("subscription"))


def _producers(line: LineReader, values: Values) -> None:
    values["topic"] = line.producer_topic(values.get("topic"))


def _scalable(line: LineReader, values: Values) -> None:
    values["topic"] = line.scalable_topic(values.get("topic"))


def _scalable_subscription(line: LineReader, values: Values) -> Values:
    """The subscription that was named, else the sole one of the topic."""
    known = find_scalable_topic(line.state, values["topic"])
    names = list(known.running.groups) if known is not None else []
    if "subscription" in values or len(names) == 1:
        return {"subscription": names[0] if names else ""} | values
    listed = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
    what = f"name one of {listed}" if names else "there is none"
    return line.refuse("SubscriptionNotFound", f"which subscription? {what}", values["topic"])


def _joined(line: LineReader, values: Values) -> Values:
    known = find_scalable_topic(line.state, values["topic"])
    if known is None or not known.running.groups:
        values = {"subscription": FIRST_SUBSCRIPTION} | values
    values = _scalable_subscription(line, values)
    group = known.running.groups.get(values["subscription"]) if known is not None else None
    kind = values.get("kind", group.kind if group is not None and group.names else "stream")
    return values | {"kind": kind.upper()}


def _shared(_: LineReader, values: Values) -> Values:
    return ({"points": DEFAULT_POINTS} if values["mode"] == SharingMode.CONSISTENT_STICKY.value else {}) | values


def _planned(_: LineReader, values: Values) -> Values:
    topic, limit = values.pop("topic"), values.pop("partial", None)
    plan = ProducerPlan(**values | ({} if limit is None else {"router": "partial", "limit": limit}))
    return {"topic": topic, "plan": plan}


def _plan_of(command: commands.AddProducers) -> Values:
    plan = command.plan
    partial = {"partial": plan.limit, "router": None, "limit": None} if plan.router == "partial" else {"partial": None}
    return members_of(plan) | {"topic": command.topic} | partial


IN: Final = Scope("subscription", subscription_keys, _subscription)
BY: Final = Scope("topic", producer_topics_meant, _producers)
ON: Final = Scope("topic", scalable_topic_names, _scalable)


class _Special(Form):
    """A command whose words depend on one another."""

    def __init__(
        self, kind: type[Any], help_text: str, read: Callable[[LineReader], Any], text: Callable[[Any], str]
    ) -> None:
        super().__init__(kind, help_text)
        self._read, self._written = read, text

    @property
    def help(self) -> str:
        return self._text

    @property
    def lead(self) -> str:
        return self._text.partition(" ")[0]

    def read(self, line: LineReader) -> Any:
        return self._read(line)

    def text(self, command: Any, state: ClusterState | None) -> str:
        return self._written(command)


class _TopicForm(Form):
    """Of a scalable topic the segments are numbered."""

    def text(self, command: commands.AddTopic, state: ClusterState | None) -> str:
        text = super().text(command, state)
        if not command.partitions or not command.topic.startswith(TOPIC_SCHEME):
            return text
        return f"{text.rpartition(' partitions ')[0]} segments {command.partitions}"


def _set(line: LineReader) -> commands.SetSetting:
    word = line.word("SETTING")
    # A line of broker.conf can be pasted behind the word "set".
    if not word.quoted and "=" in word.text and line.at_end():
        name, _, text = word.text.partition("=")
        return commands.SetSetting(name, text)
    return commands.SetSetting(word.text, line.take("VALUE"))


def _toggle(line: LineReader) -> commands.SetSetting:
    word = line.word("SETTING")
    if not isinstance(DEFAULTS.get(word.text), bool):
        switches = [name for name, default in DEFAULTS.items() if isinstance(default, bool)]
        line.refuse("UnknownSetting", f"{word.text[:60]!r} is not a setting that is true or false", word.text, switches)
    return commands.SetSetting(word.text, "false" if getattr(line.state.settings, word.text) else "true")


def _set_text(command: commands.SetSetting) -> str:
    return f"set {quote(command.name)} {quote(command.text)}"


def _split(line: LineReader) -> commands.SplitBundle:
    namespace = line.take("NAMESPACE/RANGE")
    if line.option("bundle"):
        bundle = line.take("RANGE")
    elif namespace.count("/") >= 2:
        namespace, _, bundle = namespace.rpartition("/")
    else:
        bundle = line.take("RANGE, LARGEST or HOT")
    at = line.option("at")
    algorithm = None if at or line.at_end() else line.take("ALGORITHM")
    positions: list[int] = []
    if at or line.option("at"):
        for piece in "".join(line.rest("N,N")).split(","):
            position = long_decode(piece)
            if isinstance(position, Rejection):
                line.refuse("SyntaxError", f"position {position.message}", piece)
            positions.append(position)
    return commands.SplitBundle(namespace, bundle, algorithm, tuple(positions))


def _split_text(command: commands.SplitBundle) -> str:
    algorithm = f" {quote(command.algorithm, ('at', 'bundle'))}" if command.algorithm is not None else ""
    positions = f" at {','.join(map(str, command.positions))}" if command.positions else ""
    slashes = command.namespace.count("/")
    if command.bundle in BUNDLE_WORDS and slashes < 2:
        target = f"{quote(command.namespace)} {command.bundle}"
    elif command.bundle and "/" not in command.bundle and slashes == 1:
        target = quote(f"{command.namespace}/{command.bundle}")
    else:
        # Any two texts fit in here, also those that no broker has.
        target = f"{quote(command.namespace)} bundle {quote(command.bundle)}"
    return f"split {target}{algorithm}{positions}"


FORMS: Final[tuple[Form, ...]] = (
    Form(
        commands.Acknowledge,
        "ack {consumer_id:NAME|#ID|all} [key {key:KEY}] [count {count:N}] [of {subscription:SUBSCRIPTION}]",
        IN,
    ),
    Form(
        commands.AddConsumer,
        "add {name:NAME} [priority {priority_level:N}] [ranges {ranges:START-END,...}]"
        " [to {subscription:SUBSCRIPTION}]",
        IN,
    ),
    Form(commands.SwitchBranch, "branch {branch:N}"),
    Form(
        commands.JoinSegments,
        "consumer join {name:NAME} [checkpoint|queue {kind:}] [to {subscription:SUBSCRIPTION}] [on {topic:TOPIC}]",
        ON,
        made=_joined,
        usual={"kind": "STREAM"},
    ),
    *(
        Form(
            commands.LeaveSegments,
            f"consumer {word} {{name:NAME}} [of {{subscription:SUBSCRIPTION}}] [on {{topic:TOPIC}}]",
            ON,
            made=_scalable_subscription,
            closes=word == "close",
        )
        for word in ("close", "lose")
    ),
    Form(
        commands.AcknowledgeSegments,
        "consumer ack {name:NAME|all} [count {count:N}] [of {subscription:SUBSCRIPTION}] [on {topic:TOPIC}]",
        ON,
        made=_scalable_subscription,
    ),
    Form(commands.End, "end"),
    Form(commands.Home, "home"),
    Form(commands.KillConsumer, "kill {consumer_id:NAME|#ID} [of {subscription:SUBSCRIPTION}]", IN),
    Form(commands.FailPartition, "partition fail {partition:N} [on {topic:TOPIC}]", BY),
    Form(commands.RecoverPartition, "partition recover {partition:N} [on {topic:TOPIC}]", BY),
    Form(
        commands.AddProducers,
        "producer add [count {count:N}] [lazy {lazy:}] [partial {partial:N}] [router {router:round-robin|single}]"
        " [limit {limit:N}] [above {allow_limit_above:}] [client {client:java|python|cpp}] [named {name:NAME}]"
        " [access {access_mode:MODE}] [hashing {hashing:SCHEME}] [batching {batching:on|off}]"
        " [delay {publish_delay_ms:MS}] [switch {switch_frequency:N}] [queue {max_pending_messages:N}]"
        " [across {max_pending_messages_across_partitions:N}] [on {topic:TOPIC}]",
        BY,
        made=_planned,
        taken=_plan_of,
        usual=members_of(ProducerPlan()),
    ),
    Form(
        commands.SendByProducers,
        "producer send {producer:NAME|#N|all} [key {key:KEY}] [times {times:N}] [size {size_bytes:BYTES}]"
        " [on {topic:TOPIC}]",
        BY,
    ),
    Form(
        commands.SetProducerRate,
        "producer rate {producer:NAME|#N|all} {msgs_per_sec:MSGS} [size {size_bytes:BYTES}] [key {key:KEY}]"
        " [keys {keys:N}] [on {topic:TOPIC}]",
        BY,
    ),
    Form(commands.CloseProducer, "producer close {producer:NAME|#N} [on {topic:TOPIC}]", BY),
    Form(
        commands.SetPriorityLevel,
        "priority {consumer_id:NAME|#ID} {priority_level:N} [of {subscription:SUBSCRIPTION}]",
        IN,
    ),
    Form(commands.Redo, "redo"),
    Form(commands.SetRelease, "release {version:VERSION}"),
    Form(commands.RenameConsumer, "rename {consumer_id:NAME|#ID} to {name:NEW} [of {subscription:SUBSCRIPTION}]", IN),
    Form(commands.RouteKeys, "route {client:CLIENT} [{hashing:HASHING}] [of {subscription:SUBSCRIPTION}]", IN),
    Form(commands.SplitSegment, "segment split {segment:ID} [on {topic:TOPIC}]", ON),
    Form(commands.MergeSegments, "segment merge {first:ID} {second:ID} [on {topic:TOPIC}]", ON),
    Form(commands.RebucketSegment, "segment rebucket {segment:ID} {buckets:BUCKETS} [on {topic:TOPIC}]", ON),
    Form(
        commands.SetSegmentRate,
        "segment rate {segment:ID|all} {msgs_in_per_sec:MSGS} [out {msgs_out_per_sec:MSGS}] [size {msg_bytes:BYTES}]"
        " [on {topic:TOPIC}]",
        ON,
        made=lambda _, values: {"msgs_out_per_sec": values["msgs_in_per_sec"]} | values,
        taken=lambda command: (
            members_of(command)
            | ({"msgs_out_per_sec": None} if command.msgs_out_per_sec == command.msgs_in_per_sec else {})
        ),
    ),
    Form(commands.SendToSegments, "segment send {keys:KEY...|keyless} [times {times:N}] [on {topic:TOPIC}]", ON),
    Form(
        commands.SendKeys,
        "send {keys:KEY...} [batched {batched:}] [times {times:N}] [to {subscription:SUBSCRIPTION}]",
        IN,
    ),
    _Special(commands.SetSetting, "set SETTING VALUE", _set, _set_text),
    Form(
        commands.ShareKeys,
        "share {mode:MODE} [points {points:N}] [of {subscription:SUBSCRIPTION}]",
        IN,
        made=_shared,
        taken=lambda command: (
            members_of(command)
            | ({} if command.points or command.mode == SharingMode.CONSISTENT_STICKY.value else {"points": None})
        ),
        usual={"points": None},
    ),
    _Special(
        commands.SplitBundle,
        "split NAMESPACE/RANGE [ALGORITHM] [at N,N], or split NAMESPACE LARGEST|HOT [ALGORITHM] [at N,N]",
        _split,
        _split_text,
    ),
    Form(commands.GoTo, "step {step:N}"),
    Form(
        commands.SubscribeKeyShared, "subscribe {name:NAME} to {topic:TOPIC} [unordered {allow_out_of_order_delivery:}]"
    ),
    _Special(commands.SetSetting, "toggle SETTING", _toggle, _set_text),
    _TopicForm(commands.AddTopic, "topic add {topic:TOPIC} [partitions|segments {partitions:N}]"),
    Form(commands.RemoveTopic, "topic remove {topic:TOPIC}"),
    Form(commands.RepartitionTopic, "topic partitions {topic:TOPIC} {partitions:N}"),
    Form(commands.Undo, "undo"),
    Form(commands.PassTime, "wait {duration_ms:MILLISECONDS}"),
)


def _by_word() -> dict[str, dict[str, Form]]:
    """The forms by their first word, then by the second, "" without one."""
    forms: dict[str, dict[str, Form]] = {}
    for form in FORMS:
        first, _, second = form.lead.partition(" ")
        forms.setdefault(first, {})[second] = form
    return forms


BY_WORD: Final[Mapping[str, Mapping[str, Form]]] = _by_word()


def read_command(line: LineReader, first: str) -> Any:
    """The command behind its first word. Raises ``RefusedLine``."""
    forms = BY_WORD[first]
    if "" in forms:
        return forms[""].read(line)
    *others, last = forms
    actions = f"{', '.join(others)} or {last}"
    action = line.take(actions)
    if action not in forms:
        line.refuse("SyntaxError", f"write {first} {actions}, not {action[:40]!r}", action)
    return forms[action].read(line)
