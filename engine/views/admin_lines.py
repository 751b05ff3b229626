"""The ``pulsar-admin`` lines that carry out the steps of a simulation on a real cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from engine.bundles.boundaries import BundleRange, parse_range
from engine.bundles.plan import split_command
from engine.cluster import commands
from engine.cluster.keys.state import SharingMode
from engine.cluster.state import ClusterState, behaviour_in
from engine.cluster.timeline import Timeline
from engine.cluster.topics import find_topic
from engine.config import DEFAULTS, ReleaseBehaviour, ignored_setting, is_dynamic
from engine.errors import Rejection
from engine.names import parse_topic_name
from engine.scalable.model import TOPIC_SCHEME
from engine.text import shell_line, visible

NOTHING: Final = "# no step was taken, so there is nothing to do"


@dataclass(frozen=True, slots=True)
class AdminLine:
    """A step on a cluster; ``line`` is "" where ``pulsar-admin`` cannot do it, and ``remark`` says who can."""

    step: int
    text: str
    line: str
    remark: str = ""

    @property
    def pasted(self) -> str:
        """The step as lines for a shell: what cannot be done is a comment."""
        about = f"# step {self.step}: {visible(self.text)}"
        remark = f"; {visible(self.remark)}" if self.remark else ""
        return f"{about}{remark}" + (f"\n{self.line}" if self.line else "")


def admin_lines(timeline: Timeline) -> tuple[AdminLine, ...]:
    """A line for each step up to the cursor. O(steps)."""
    return tuple(_lines(timeline))


def pasted(lines: Sequence[AdminLine]) -> str:
    """All lines for a shell."""
    return "\n".join(line.pasted for line in lines) or NOTHING


def _lines(timeline: Timeline) -> Iterator[AdminLine]:
    for number, step in enumerate(timeline.steps[: timeline.cursor], 1):
        line, remark = line_of(step.command, timeline.state_at(number - 1))
        yield AdminLine(number, step.text, line, remark)


def line_of(command: commands.Command, state: ClusterState) -> tuple[str, str]:
    """The line for a command in the state before it, and a remark; either may be "".

    >>> line_of(commands.SetSetting("defaultNamespaceBundleSplitAlgorithm", "range equally"), ClusterState())[0]
    "pulsar-admin brokers update-dynamic-config --config defaultNamespaceBundleSplitAlgorithm --value 'range equally'"
    """
    match command:
        case commands.SetSetting(name, text):
            return _setting(name, text, behaviour_in(state))
        case commands.AddTopic(topic, segments) if topic.startswith(TOPIC_SCHEME):
            count = f"?numInitialSegments={segments}" if segments else ""
            return "", f"PUT /admin/v2/scalable/{topic.removeprefix(TOPIC_SCHEME)}{count}"
        case commands.RemoveTopic(topic) if topic.startswith(TOPIC_SCHEME):
            return "", f"DELETE /admin/v2/scalable/{topic.removeprefix(TOPIC_SCHEME)}"
        case commands.AddTopic(topic, partitions):
            return _add_topic(topic, partitions)
        case commands.RemoveTopic(topic):
            return _of_topic(state, topic, ("delete-partitioned-topic", "delete"), "--force")
        case commands.RepartitionTopic(topic, partitions):
            words = ("update-partitioned-topic",) * 2
            return _of_topic(state, topic, words, "--partitions", str(partitions))
        case commands.SplitBundle():
            return _split(command), ""
        case commands.SubscribeKeyShared(name, topic):
            line = shell_line("pulsar-admin", "topics", "create-subscription", "--subscription", name, topic)
            return line, "its type is that of the first consumer: start one with Key_Shared"
        case commands.ShareKeys(_, mode):
            return "", _sharing(mode)
    return "", _by_clients(command)


def dynamic_settings(behaviour: ReleaseBehaviour) -> frozenset[str]:
    """The settings of ``BrokerSettings`` that brokers of a release take while they run."""
    return frozenset(name for name in DEFAULTS if is_dynamic(name, behaviour))


def _setting(name: str, text: str, behaviour: ReleaseBehaviour) -> tuple[str, str]:
    ignored = ignored_setting(name, behaviour)
    if ignored:
        return "", ignored
    if name in dynamic_settings(behaviour):
        return shell_line("pulsar-admin", "brokers", "update-dynamic-config", "--config", name, "--value", text), ""
    return "", f"not a dynamic setting: write {name}={text} into broker.conf of every broker and restart them"


def _add_topic(topic: str, partitions: int) -> tuple[str, str]:
    name = parse_topic_name(topic)
    full = topic if isinstance(name, Rejection) else name.complete
    if partitions:
        return shell_line(
            "pulsar-admin", "topics", "create-partitioned-topic", "--partitions", str(partitions), full
        ), ""
    return shell_line("pulsar-admin", "topics", "create", full), ""


def _of_topic(state: ClusterState, topic: str, words: tuple[str, str], *options: str) -> tuple[str, str]:
    """A line about a topic that exists; ``words`` are those for one with partitions and for one without."""
    known = find_topic(state, topic)
    full, has_partitions = (topic, True) if isinstance(known, Rejection) else (known.name, known.partitions > 0)
    return shell_line("pulsar-admin", "topics", words[0] if has_partitions else words[1], *options, full), ""


def _split(command: commands.SplitBundle) -> str:
    parent = parse_range(command.bundle)
    if isinstance(parent, BundleRange) and command.algorithm is not None:
        return split_command(command.namespace, parent, command.algorithm, command.positions)
    which = ("--bundle-type", command.bundle) if isinstance(parent, Rejection) else ("--bundle", str(parent))
    algorithm = ("--split-algorithm-name", command.algorithm) if command.algorithm else ()
    return shell_line("pulsar-admin", "namespaces", "split-bundle", *which, *algorithm, command.namespace)


def _sharing(mode: str) -> str:
    if mode in (SharingMode.STICKY.value, SharingMode.CONSISTENT_STICKY.value):
        return "clients choose it: start all consumers again with KeySharedPolicy.stickyHashRange()"
    ring = "true" if mode == SharingMode.CONSISTENT_AUTO_SPLIT.value else "false"
    return (
        f"not a dynamic setting: write subscriptionKeySharedUseConsistentHashing={ring} into broker.conf of every"
        " broker and restart them; clients take KeySharedPolicy.autoSplitHashRange()"
    )


def _by_clients(command: commands.Command) -> str:
    """A remark about a step that only clients can carry out."""
    match command:
        case commands.AddConsumer(_, name, level, _):
            with_level = f" with priority level {level}" if level else ""
            return f"an application does it: start a consumer named {name!r}{with_level}"
        case commands.KillConsumer():
            return "an application does it: stop the consumer's process"
        case commands.RenameConsumer(_, _, name):
            return f"an application does it: start the consumer again with the name {name!r}"
        case commands.SetPriorityLevel(_, _, level):
            return f"an application does it: start the consumer again with priority level {level}"
        case commands.SetRelease(version):
            return f"install Pulsar {version} on every broker, one after the other"
        case commands.RouteKeys(_, client, hashing):
            with_hash = f" and {hashing}" if hashing else ""
            return f"applications choose it: their producers use the client {client}{with_hash}"
        case commands.SendKeys() | commands.Acknowledge():
            return "applications send and acknowledge messages"
        case commands.PassTime():
            return "time passes by itself"
    return "producers belong to applications, and partitions fail with their brokers"
