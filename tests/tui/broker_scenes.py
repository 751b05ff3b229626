"""Still apps on the shipped clusters of brokers."""

from __future__ import annotations

from typing import Any

from engine.scenarios.broker_scenes import broker_scene
from tui.brokers.app import BrokersApp


def brokers_app(scene: str = "uneven", **how: Any) -> BrokersApp:
    return BrokersApp(broker_scene(scene).question(), f"scene {scene}", **({"depth": "truecolor"} | how))
