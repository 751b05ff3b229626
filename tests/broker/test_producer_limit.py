"""How many producers a partition takes: the engine on policies, names and clients, then what a broker does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from engine.admin.client_facts import ClientFacts
from engine.cluster.state import ClusterState, producer_limit
from engine.diagnosis.why import why
from engine.errors import Rejection
from engine.lint import Finding
from engine.lint.doctor import lint
from engine.producer_limit import ProducerLimit
from engine.routing.producers import steps
from engine.routing.producers.model import Created, ProducersState, Sent
from engine.routing.producers.settings import AccessMode, ProducerSettings, Routing
from engine.routing.producers.topic import PartitionedTopic, connect
from engine.scenarios.linting import reported_facts
from engine.scenarios.opening import open_moments
from tests.broker.conftest import Brokers
from tests.broker.driving import SETTLE_S
from tests.broker.java_client import Producing, java_client
from tests.broker.standalone import Broker, BrokerFailedError
from tests.broker.test_predictions import AT_ONCE, MODULO_AND_RING
from tests.broker.wire import Client, RefusedError
from tui.sources.cluster.access import Access
from tui.sources.cluster.reading import moments_read
from tui.sources.cluster.scope import Scope
from tui.sources.cluster.source import Source

OF_BROKER: Final = 3
PARTITIONS: Final = 4
ACCESS: Final[dict[AccessMode, int]] = {"Shared": 0, "Exclusive": 1, "WaitForExclusive": 2, "ExclusiveWithFencing": 3}
OPERATION_TIMEOUT_MS: Final = 30_000
"""Until then the Java client tries an opening again that may succeed later."""


class Stage:
    """A partitioned topic in a namespace of its own, on a broker that limits producers too."""

    def __init__(self, broker: Broker, seed: int, word: str) -> None:
        self.broker = broker
        self.namespace = f"public/limited-{word}-{seed}"
        self.topic = f"persistent://{self.namespace}/x"
        self.path = f"/admin/v2/persistent/{self.namespace}/x"
        broker.admin("PUT", f"/admin/v2/namespaces/{self.namespace}", {"bundles": {"numBundles": 1}})
        broker.admin("PUT", f"{self.path}/partitions", PARTITIONS)
        for at in range(PARTITIONS):
            broker.admin("GET", f"/lookup/v2/topic/{self.partition(at).replace('://', '/')}")

    def partition(self, at: int) -> str:
        return f"{self.topic}-partition-{at}"

    def publishers(self) -> list[int]:
        """How many producers each partition has."""
        paths = [f"{self.path}-partition-{at}/stats" for at in range(PARTITIONS)]
        return [len(self.broker.admin("GET", path)["publishers"]) for path in paths]

    def limit_namespace(self, most: int) -> None:
        self.broker.admin("POST", f"/admin/v2/namespaces/{self.namespace}/maxProducersPerTopic", most)

    def limit_topic(self, most: int) -> None:
        """The topics that policies are written to are loaded by the first one, and refuse until they are."""
        self.settle(lambda: self._posted(most))

    def _posted(self, most: int) -> bool:
        try:
            self.broker.admin("POST", f"{self.path}/maxProducers", most)
        except BrokerFailedError:
            return False
        return bool(self.broker.admin("GET", f"{self.path}/maxProducers") == most)

    def read(self) -> tuple[ClusterState, tuple[Finding, ...], dict[str, object]]:
        """What a dump says: the state, what lint finds, and who limits producers according to ``why``."""
        moments = moments_read(
            [Source(Access(self.broker.url), Scope((self.namespace,), loads_topics=True)).read()], limit_bytes=10**9
        )
        opened = open_moments(moments)
        found = lint(opened.state, reported_facts(moments[-1].snapshot, opened.state, ClientFacts()))
        causes = [cause for diagnosis in why(moments) for cause in diagnosis.causes if cause.id == "producers_full"]
        said = {} if not causes or causes[0].setting is None else dict(causes[0].numbers)
        if said and causes[0].setting is not None:
            said = {**said, "source": causes[0].setting.source}
        return opened.state, tuple(finding for finding in found if finding.rule == "producers-full"), dict(said)

    def settles(self, predicted: ProducerLimit, partition: int, there: int) -> None:
        """Policies reach a loaded topic a little later: as many get in as the limit leaves, then nobody."""
        clients: list[Client] = []
        try:
            for _ in range(predicted.most - there):
                self.settle(lambda: self.let_in(clients, partition))
            assert not self.let_in(clients, partition)
        finally:
            for client in clients:
                client.close()

    def let_in(self, clients: list[Client], partition: int) -> bool:
        client = Client(self.broker.port)
        try:
            client.produce(self.partition(partition))
        except RefusedError:
            client.close()
            return False
        clients.append(client)
        return True

    def read_full(self, partitions: int) -> tuple[ClusterState, Finding, dict[str, object]]:
        """The same once statistics show so many full partitions."""
        results: list[tuple[ClusterState, Finding, dict[str, object]]] = []

        def seen() -> bool:
            state, found, said = self.read()
            results[:] = [
                (state, finding, said) for finding in found if finding.number("full_partitions") == partitions
            ]
            return bool(results)

        self.settle(seen)
        return results[0]

    @staticmethod
    def settle(done: Callable[[], bool]) -> None:
        until = time.monotonic() + SETTLE_S
        while not done():
            assert time.monotonic() < until
            time.sleep(0.05)


@pytest.fixture(scope="module")
def broker(brokers: Brokers) -> Broker:
    return brokers({**MODULO_AND_RING, **AT_ONCE, "maxProducersPerTopic": str(OF_BROKER)})


@pytest.fixture(scope="module")
def java(broker: Broker, broker_jars: Path) -> Iterator[Producing]:
    with java_client(Producing, broker_jars, broker.port) as producing:
        yield producing


def refused_by(client: Client, topic: str, name: str | None, access: int) -> str:
    try:
        client.produce(topic, name, access=access)
    except RefusedError as error:
        return str(error)
    return ""


def test_which_limit_counts(broker: Broker, seed: int, predictions: list[int]) -> None:
    stage = Stage(broker, seed, "policies")
    reader = Client(broker.port)
    reader.subscribe(stage.partition(0), "read", "Shared", "reader")
    expected = [ProducerLimit(OF_BROKER, "broker")]
    stage.settles(expected[-1], 0, 0)
    stage.limit_namespace(2)
    expected.append(ProducerLimit(2, "namespace policy"))
    state, found, _ = stage.read()
    assert producer_limit(state, stage.topic) == expected[-1] and found == ()
    assert broker.admin("GET", f"{stage.path}/maxProducers?applied=true") == 2
    stage.settles(expected[-1], 1, 0)
    stage.limit_topic(1)
    expected.append(ProducerLimit(1, "topic policy"))
    stage.settles(expected[-1], 2, 0)
    stage.limit_topic(0)
    clients: list[Client] = []
    for _ in range(OF_BROKER + 2):
        stage.settle(lambda: stage.let_in(clients, 3))
    for client in (*clients, reader):
        client.close()
    predictions.append(len(expected) + 1)


def test_what_a_full_partition_refuses(broker: Broker, seed: int, predictions: list[int]) -> None:
    stage = Stage(broker, seed, "modes")
    stage.limit_namespace(2)
    there = Client(broker.port)
    there.subscribe(stage.partition(0), "read", "Shared", "reader")
    model = PartitionedTopic(((),) * PARTITIONS, limit=ProducerLimit(2, "namespace policy"))
    cases: list[tuple[str, AccessMode]] = [
        ("first", "Shared"), ("second", "Shared"), ("third", "Shared"), ("first", "Shared"), ("third", "Exclusive"),
        ("third", "WaitForExclusive"), ("third", "ExclusiveWithFencing"), ("pulsar.repl.east", "Shared"),
    ]  # fmt: skip
    clients = []
    for number, (name, mode) in enumerate(cases):
        model, predicted = connect(model, 0, number, name, mode)
        clients.append(Client(broker.port))
        answer = refused_by(clients[-1], stage.partition(0), name, ACCESS[mode])
        limited = isinstance(predicted, Rejection) and predicted.field == "maxProducersPerTopic"
        assert (answer == "", "reached max producers limit" in answer) == (not limited, limited), (name, mode, answer)
    state, finding, said = stage.read_full(1)
    assert producer_limit(state, stage.topic) == model.limit
    numbers = {"full_partitions": 1, "partitions": PARTITIONS, "producers": 2, "max_producers": 2}
    assert (finding.where.topic, dict(finding.numbers)) == (stage.topic, numbers)
    assert said == {"limit": 2, "publishers": 2, "source": "namespace policy"}
    for client in (*clients, there):
        client.close()
    predictions.append(len(cases) + 2)


def test_what_the_java_client_does(broker: Broker, java: Producing, seed: int, predictions: list[int]) -> None:
    stage = Stage(broker, seed, "java")
    stage.limit_namespace(2)
    state = steps.producers_state(PARTITIONS)
    assert isinstance(state, ProducersState)
    state = steps.limit_producers(state, ProducerLimit(2, "namespace policy")).state
    for name in ("a", "b", "c"):
        state = _opens_alike(state, java, stage.topic, name)
    state = _opens_alike(state, java, stage.topic, "lazy", lazy=True)
    closing = steps.close_producer(state, 1)
    assert not isinstance(closing, Rejection)
    state = closing.state
    java.close("b")
    # Each takes its place at one partition as long as there is one; where a router starts is drawn.
    for number in range(PARTITIONS):
        state = _opens_alike(state, java, stage.topic, f"one-{number}", lazy=True, limit=1, until_let_in=True)
    state = _opens_alike(state, java, stage.topic, "late", lazy=True, limit=1)
    objects = [
        broker.admin("GET", f"{stage.path.replace('/x', f'/x-partition-{at}')}/stats") for at in range(PARTITIONS)
    ]
    assert [len(stats["publishers"]) for stats in objects] == [2] * PARTITIONS
    assert [len(there) for there in state.topic.connected] == [2] * PARTITIONS
    predictions.append(PARTITIONS + 6)


def test_a_lazy_producer_meets_the_limit_message_by_message(
    broker: Broker, java: Producing, seed: int, predictions: list[int]
) -> None:
    stage = Stage(broker, seed, "messages")
    stage.limit_namespace(1)
    state = steps.producers_state(PARTITIONS)
    assert isinstance(state, ProducersState)
    state = _opens_alike(state, java, stage.topic, "lazy", lazy=True, limit=PARTITIONS)
    (mine,) = state.producers[0].started
    (there,) = (at for at, publishers in enumerate(stage.publishers()) if publishers)
    # One other partition is taken by somebody else: of four messages one fails, and the next round one again.
    taken = (there + 1) % PARTITIONS
    other = Client(broker.port)
    other.produce(stage.partition(taken), "other")
    state = steps.limit_producers(state, ProducerLimit(1, "namespace policy")).state
    topic, _ = connect(state.topic, (mine + 1) % PARTITIONS, 99, "other", "Shared")
    state = ProducersState(topic, state.producers, state.now_ms, state.seed, state.brokers, state.refused)
    step = steps.send_by_one(state, 0, messages=2 * PARTITIONS)
    assert not isinstance(step, Rejection)
    sent = [event.result for event in step.events if isinstance(event, Sent)]
    answers = java.send("lazy", 2 * PARTITIONS)
    assert sorted(answers) == sorted("ok" if result.error is None else result.error.error for result in sent)
    assert {result.cause.error for result in sent if result.cause is not None} == {"ProducerBusy"}
    other.close()
    predictions.append(len(answers))


def _opens_alike(
    state: ProducersState,
    java: Producing,
    topic: str,
    name: str,
    *,
    lazy: bool = False,
    limit: int = 0,
    until_let_in: bool = False,
) -> ProducersState:
    """Open a producer in the model and by the Java client; the answers must be the same.

    ``until_let_in``: where each begins is drawn, so that both try until one finds room.
    """
    settings = ProducerSettings(producer_name=name, lazy_start_partitioned_producers=lazy)
    routing = Routing("PartialRoundRobin", limit) if limit else Routing(batching=False)
    while True:
        step = steps.add_producers(state, 1, settings, routing)
        assert not isinstance(step, Rejection)
        state = step.state
        (created,) = step.events
        assert isinstance(created, Created)
        if created.error is None or not until_let_in:
            break
    while True:
        answer, ms = java.open(name, topic, lazy=lazy, limit=limit)
        if answer == "ok" or not until_let_in:
            break
        assert answer == "ProducerBusyException"
    assert answer == ("ok" if created.error is None else f"{created.error.error}Exception"), name
    if answer != "ok":
        assert ms < OPERATION_TIMEOUT_MS / 2, "it does not try again"
    return state
