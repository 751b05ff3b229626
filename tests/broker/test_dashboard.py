"""The dashboard on a real broker: a consumer that dies is gone at the next reading."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec.structs import fields, replace
from textual.pilot import Pilot

from engine.config import BrokerSettings
from engine.views.admin_lines import dynamic_settings
from tests.broker.conftest import Brokers
from tests.broker.driving import NAMESPACE, driven
from tests.broker.releases import release
from tests.patience import HANG_S
from tests.releases import known
from tests.tui.screens_under_test import text_of
from tui.app import RingsideApp
from tui.cli.pictures import Pictures
from tui.kit.screen import DashboardScreen
from tui.sources.cluster.access import Access
from tui.sources.cluster.scope import Scope
from tui.sources.cluster.source import Feed, Source

SETTINGS = {
    "activeConsumerFailoverConsistentHashing": "true",
    "subscriptionKeySharedUseConsistentHashing": "false",
    "activeConsumerFailoverDelayTimeMillis": "0",
}


async def until(pilot: Pilot[int], true: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANG_S):
        while not true():
            await pilot.pause()


def test_a_consumer_that_dies_leaves_the_screen(brokers: Brokers, seed: int) -> None:
    broker = brokers(SETTINGS)
    topic = f"watched-{seed}"
    with driven(broker, topic, "Failover", {topic: 6}, seed) as driving:
        for name in ("anna", "berta", "clara"):
            driving.join(name)
        driving.seen()
        source = Source(Access(broker.url), Scope((NAMESPACE,), f"{topic}*", loads_topics=True))
        pictures = Pictures()
        first = source.read()
        session = pictures.session(first, topic)
        feed = Feed(source.follower(), 0.2, pictures.newer, first.cluster)
        app = RingsideApp(replace(session, feed=feed), animate=False)

        def shown() -> list[str]:
            listed = (
                subscription for subscription in app.store.timeline.state.subscriptions if subscription.name == topic
            )
            return [consumer.name for each in listed for consumer in each.consumers]

        async def story() -> None:
            async with app.run_test(size=(120, 40)) as pilot:
                await until(pilot, lambda: isinstance(app.screen, DashboardScreen) and "berta" in text_of(app))
                assert shown() == ["anna", "berta", "clara"]
                driving.kill("berta")
                await until(pilot, lambda: "berta" not in text_of(app))
                assert shown() == ["anna", "clara"]
                await until(pilot, lambda: "live, read" in text_of(app))
                driving.join("dora")
                await until(pilot, lambda: "dora" in text_of(app))
                await pilot.press("w")
                await until(pilot, lambda: app.screen.has_class("-why"))
                await until(pilot, lambda: "facts agree" in text_of(app))
                await pilot.press("escape", "left_square_bracket")
                await until(pilot, lambda: app.store.moment[0] < app.store.moment[1])
                await pilot.press("f5")
                await until(pilot, lambda: app.store.moment[0] == app.store.moment[1])
                await pilot.press("q")

        asyncio.run(story())
        assert app.return_code == 0


def test_a_broker_takes_the_settings_that_count_as_dynamic_while_it_runs(brokers: Brokers) -> None:
    dynamic = set(brokers(SETTINGS).admin("GET", "/admin/v2/brokers/configuration"))
    assert dynamic & {field.name for field in fields(BrokerSettings)} == dynamic_settings(known(release().version))
