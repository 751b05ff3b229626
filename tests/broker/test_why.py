"""Faults made on a real broker: ``why`` names each one and who is blocked by whom, and nothing once it is mended."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import pytest

from engine.diagnosis.model import Diagnosis
from engine.diagnosis.why import why
from tests.broker.conftest import Brokers
from tests.broker.standalone import Broker
from tests.broker.test_predictions import AT_ONCE, RING_AND_AUTO_SPLIT
from tests.broker.test_splits import BY_FLOW
from tests.broker.wire import Client
from tui.sources.cluster.access import Access
from tui.sources.cluster.reading import ClusterReading, moments_read
from tui.sources.cluster.scope import Scope
from tui.sources.cluster.source import Source

MANY = 1_000
KEYS = [f"k-{number}" for number in range(60)]
PAUSE_S = 0.1
SETTLE_S = 20.0


@dataclass
class Stage:
    """A topic with one subscription in a namespace of its own, and processes that consume it."""

    broker: Broker
    namespace: str
    kind: str
    clients: dict[str, Client] = field(default_factory=dict)
    acknowledging: set[str] = field(default_factory=set)
    slow: set[str] = field(default_factory=set)
    ending: ExitStack = field(default_factory=ExitStack)

    @property
    def topic(self) -> str:
        return f"persistent://{self.namespace}/placed"

    def open(self) -> None:
        self.broker.admin("PUT", f"/admin/v2/namespaces/{self.namespace}", {"bundles": {"numBundles": 1}})
        self.broker.admin("PUT", f"/admin/v2/persistent/{self.namespace}/placed")
        self.broker.admin("GET", f"/lookup/v2/topic/persistent/{self.namespace}/placed")

    def limit(self, policy: str, value: object) -> None:
        """Set a policy of the namespace."""
        self.broker.admin("POST", f"/admin/v2/namespaces/{self.namespace}/{policy}", value)

    def limit_broker(self, setting: str, value: int) -> None:
        """Change a dynamic setting of the broker until the stage is gone."""
        path = f"/admin/v2/brokers/configuration/{setting}"
        self.broker.admin("POST", f"{path}/{value}")
        self.ending.callback(self.broker.admin, "DELETE", path)

    def join(
        self,
        name: str,
        permits: int = MANY,
        *,
        works: bool = False,
        ranges: Sequence[tuple[int, int]] | None = None,
        priority: int = 0,
    ) -> None:
        """Let a process consume; one that ``works`` acknowledges what it gets."""
        client = self.clients[name] = Client(self.broker.port)
        client.subscribe(self.topic, "sub", self.kind, name, priority=priority, ranges=ranges)
        if permits:
            client.allow(1, permits)
        if works:
            self.acknowledging.add(name)

    def kill(self, name: str) -> None:
        self.acknowledging.discard(name)
        self.clients.pop(name).close()

    def send(self, keys: Sequence[str], deliver_at_ms: int | None = None) -> None:
        client = Client(self.broker.port)
        producer = client.produce(self.topic)
        for key in keys:
            client.publish(producer, key, deliver_at_ms=deliver_at_ms)
        client.close()

    def keep_sending(self, key: str) -> None:
        """Send messages of one key, one after another, until the stage is gone or somebody calls ``ending.close``."""
        client = Client(self.broker.port)
        producer = client.produce(self.topic)
        over = threading.Event()

        def send() -> None:
            while not over.wait(0.005):
                client.publish(producer, key)
            client.close()

        thread = threading.Thread(target=send, daemon=True)
        thread.start()
        self.ending.callback(thread.join)
        self.ending.callback(over.set)

    def acknowledge(self) -> None:
        """Let those that work do it; a slow one is done with one message and asks for another one."""
        for name in list(self.acknowledging):
            for received in self.clients[name].received():
                self.clients[name].acknowledge(received)
        for name in list(self.slow):
            for received in self.clients[name].received()[:1]:
                self.clients[name].acknowledge(received)
                self.clients[name].allow(1, 1)

    def held(self, name: str) -> int:
        return len(self.clients[name].received())

    def wait_for(self, true: Callable[[], bool]) -> None:
        until = time.monotonic() + SETTLE_S
        while not true():
            assert time.monotonic() < until, "the broker did not send what was expected"
            time.sleep(0.02)

    def read(self) -> ClusterReading:
        return Source(Access(self.broker.url), Scope((self.namespace,), loads_topics=True)).read()

    def diagnosis(self) -> Diagnosis:
        """What two readings in a row show."""
        readings = [self.read()]
        time.sleep(PAUSE_S)
        readings.append(self.read())
        result, *others = (
            each for each in why(moments_read(readings, limit_bytes=10**9)) if each.namespace == self.namespace
        )
        assert others == []
        return result

    def diagnosed(self, accepted: Callable[[Diagnosis], bool]) -> Diagnosis:
        """The diagnosis once it is accepted, else the last one: brokers count some things once a second."""
        until = time.monotonic() + SETTLE_S
        while not accepted(diagnosis := self.diagnosis()) and time.monotonic() < until:
            pass
        return diagnosis


@contextmanager
def stage(broker: Broker, name: str, kind: str) -> Iterator[Stage]:
    """A stage on which those that work do so in a thread of their own."""
    result = Stage(broker, f"public/why-{name}", kind)
    result.open()
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.02):
            result.acknowledge()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield result
    finally:
        result.ending.close()
        over.set()
        thread.join()
        for client in result.clients.values():
            client.close()


def everybody_works(on: Stage) -> None:
    on.ending.close()
    on.slow.clear()
    for name, client in on.clients.items():
        client.allow(1, MANY)
        on.acknowledging.add(name)


def nobody_is_there(on: Stage) -> None:
    on.join("anna", works=True)
    on.send(KEYS[:5])
    on.kill("anna")
    on.send(KEYS)


def somebody_comes(on: Stage) -> None:
    on.join("berta", works=True)


def the_active_one_asks_for_nothing(on: Stage) -> None:
    on.join("anna", permits=3)
    on.join("berta", priority=1)
    on.send(KEYS)
    on.wait_for(lambda: on.held("anna") == 3)


def a_key_owner_asks_for_nothing(on: Stage) -> None:
    on.join("anna", permits=3)
    on.join("berta", works=True)
    on.send(KEYS)
    on.wait_for(lambda: on.held("anna") == 3)


def keys_drain(on: Stage) -> None:
    on.join("anna")
    on.send(KEYS)
    on.wait_for(lambda: on.held("anna") == len(KEYS))
    on.join("berta", works=True)
    on.send(KEYS)


def a_range_is_nobodys(on: Stage) -> None:
    on.join("anna", works=True, ranges=[(0, 32_767)])
    on.send(KEYS)


def the_range_is_taken(on: Stage) -> None:
    on.join("berta", works=True, ranges=[(32_768, 65_535)])


def the_subscription_holds_too_much(on: Stage) -> None:
    on.limit("maxUnackedMessagesPerSubscription", 20)
    on.join("anna")
    on.join("berta")
    on.send(KEYS)


def a_consumer_holds_too_much(on: Stage) -> None:
    on.limit("maxUnackedMessagesPerConsumer", 10)
    on.join("anna")
    on.join("berta", works=True)
    on.send(KEYS * 2)


def messages_go_out_slowly(on: Stage) -> None:
    rate = {"dispatchThrottlingRateInMsg": 2, "dispatchThrottlingRateInByte": -1, "ratePeriodInSecond": 1}
    on.limit("subscriptionDispatchRate", rate)
    on.join("anna", works=True)
    on.send(KEYS * 5)


def the_rate_is_lifted(on: Stage) -> None:
    rate = {"dispatchThrottlingRateInMsg": -1, "dispatchThrottlingRateInByte": -1, "ratePeriodInSecond": 1}
    on.limit("subscriptionDispatchRate", rate)


def one_took_everything(on: Stage) -> None:
    on.join("anna")
    on.send(KEYS)
    on.wait_for(lambda: on.held("anna") == len(KEYS))
    on.join("berta")


def one_key_is_too_much(on: Stage) -> None:
    on.join("anna", permits=5)
    on.join("berta", works=True)
    on.send(KEYS)
    on.wait_for(lambda: on.held("anna") > 0)
    hot = on.clients["anna"].received()[0].key
    on.slow.add("anna")
    on.keep_sending(hot)


def nothing_more_is_read_ahead(on: Stage) -> None:
    on.limit_broker("keySharedLookAheadMsgInReplayThresholdPerConsumer", 10)
    on.join("anna", permits=3)
    on.join("berta", works=True)
    on.send(KEYS * 3)


def messages_are_for_later(on: Stage) -> None:
    on.join("anna", works=True)
    on.send(KEYS, deliver_at_ms=time.time_ns() // 10**6 + 600_000)


def the_backlog_is_too_large(on: Stage) -> None:
    on.join("anna", permits=3)
    on.send(KEYS)  # before there is a quota: it is checked now and then, and what is sent afterwards is held
    on.limit("backlogQuota?backlogQuotaType=destination_storage",
             {"limitSize": 1_000, "limitTime": -1, "policy": "producer_request_hold"})  # fmt: skip


def the_broker_sends_slowly(on: Stage) -> None:
    on.limit_broker("dispatchThrottlingRateInMsg", 2)
    on.join("anna", works=True)
    on.send(KEYS * 5)


def the_brokers_limit_is_lifted(on: Stage) -> None:
    on.ending.close()


def one_machine_loses_its_power(on: Stage) -> None:
    on.join("anna")
    on.send(KEYS)
    on.wait_for(lambda: on.held("anna") == len(KEYS))
    on.clients["anna"].fall_silent()
    on.join("berta", works=True)


def the_broker_notices(on: Stage) -> None:
    """It lets the connection go by itself, and what was sent there goes to the other one."""


def another_one_takes_over(on: Stage) -> None:
    on.join("anna", priority=1, works=True)
    on.send(KEYS[:3])
    on.join("berta", works=True)
    on.send(KEYS)


@dataclass(frozen=True)
class Fault:
    kind: str
    make: Callable[[Stage], None]
    mend: Callable[[Stage], None] | None
    cause: str
    blocked: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=lambda: {**RING_AND_AUTO_SPLIT, **AT_ONCE})
    limit: str = ""
    """The setting or policy that is named as the limit."""


BOTH = ("anna", "berta")
FAULTS = {
    "no-consumers": Fault("Failover", nobody_is_there, somebody_comes, "no_consumers"),
    "active-no-permits": Fault(
        "Failover", the_active_one_asks_for_nothing, everybody_works, "failover_active_no_permits", ("anna",), ("anna",)
    ),
    "owner-no-permits": Fault(
        "Key_Shared", a_key_owner_asks_for_nothing, everybody_works, "keyshared_no_permits", ("anna",), ("anna",)
    ),
    "draining": Fault("Key_Shared", keys_drain, everybody_works, "keyshared_draining", ("berta",), ("anna",)),
    "sticky-gap": Fault("Key_Shared", a_range_is_nobodys, the_range_is_taken, "keyshared_sticky_gap"),
    "subscription-limit": Fault(
        "Shared", the_subscription_holds_too_much, everybody_works, "subscription_unacked_limit", BOTH, BOTH
    ),
    "consumer-limit": Fault(
        "Key_Shared", a_consumer_holds_too_much, everybody_works, "keyshared_unacked_limit", ("anna",), ("anna",)
    ),
    "dispatch-rate": Fault("Shared", messages_go_out_slowly, the_rate_is_lifted, "dispatch_rate_limited", ("anna",),
                           limit="subscriptionDispatchRate"),
    "slow-consumer": Fault(
        "Shared", one_took_everything, everybody_works, "newcomer_gets_nothing", ("berta",), ("anna",)
    ),
    "hot-key": Fault("Key_Shared", one_key_is_too_much, everybody_works, "hot_key", ("anna",), ("anna",)),
    "look-ahead": Fault(
        "Key_Shared", nothing_more_is_read_ahead, everybody_works, "keyshared_lookahead", ("berta",), ("anna",)
    ),
    "delayed": Fault("Shared", messages_are_for_later, None, "delayed_messages"),
    "backlog-quota": Fault("Shared", the_backlog_is_too_large, everybody_works, "producer_side"),
    "broker-rate": Fault(
        "Shared", the_broker_sends_slowly, the_brokers_limit_is_lifted, "dispatch_rate_limited", ("anna",),
        limit="dispatchThrottlingRateInMsg",
    ),
    "half-open": Fault(
        "Shared", one_machine_loses_its_power, the_broker_notices, "newcomer_gets_nothing", ("berta",), ("anna",)
    ),
    "hand-over": Fault(
        "Failover", another_one_takes_over, None, "failover_handover", ("berta",), settings=BY_FLOW
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_and_gone_once_it_is_mended(
    brokers: Brokers, name: str, seed: int, predictions: list[int]
) -> None:
    fault = FAULTS[name]
    with stage(brokers(fault.settings), f"{name}-{seed}-{random.Random(seed).randrange(10**6)}", fault.kind) as on:
        fault.make(on)
        result = on.diagnosed(lambda each: each.first is not None and each.first.id == fault.cause)
        assert result.first is not None
        assert result.first.id == fault.cause, result.causes
        assert (sorted(result.first.blocked), sorted(result.first.by)) == (sorted(fault.blocked), sorted(fault.by))
        if fault.limit:
            assert result.first.setting is not None
            assert result.first.setting.name == fault.limit
        if fault.mend is not None:
            fault.mend(on)
            mended = on.diagnosed(lambda each: not any(cause.verdict.harms for cause in each.causes))
            assert [cause for cause in mended.causes if cause.verdict.harms] == []
    predictions.append(1 if fault.mend is None else 2)
