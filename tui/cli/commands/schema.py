"""``schema``: the JSON Schema of what a command prints with ``--json``, derived from the declared answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import click

from tui.cli.exits import FINE
from tui.cli.output import json_text, write_out, write_page

ANSWERS: Final[Mapping[str, tuple[str, ...]]] = {
    "dashboard": ("engine.views.failover.document:DashboardDocument",),
    "keys": ("engine.views.keys.document:KeysDocument",),
    "producers": ("engine.views.producers.document:ProducersDocument",),
    "subscription": ("engine.views.reported.subscription:SubscriptionView",),
    "list": ("engine.views.listing:Listing",),
    "why": ("engine.diagnosis.findings:Why", "engine.diagnosis.findings:WhyAll"),
    "scalable": ("engine.views.scalable.model:ScalableView", "engine.views.scalable.figures:FiguresDocument"),
    "migration": ("engine.views.scalable.migration:MigrationView",),
    "heirs": ("engine.views.comparing.heirs:HeirsDocument",),
    "broker-heirs": ("engine.views.brokers.heirs:BrokerHeirsDocument",),
    "diff": ("engine.views.comparing.difference:DifferenceView",),
    "upgrade": ("engine.views.comparing.upgrade:UpgradeView",),
    "suggest": ("engine.compare.suggestion:SuggestDocument",),
    "bundles": ("engine.views.bundles.document:BundlesDocument",),
    "bundles-needed": ("engine.bundles.sizing:BundlesNeeded",),
    "split": ("engine.views.failover.splits:SplitPreviewView",),
    "curve": ("engine.views.bundles.document:CurveDocument",),
    "brokers": ("engine.views.brokers.document:BrokersDocument",),
    "fleet-diff": ("engine.views.fleet.difference:FleetDifference",),
    "check": ("engine.plan.model:Judged",),
    "ranges": ("tui.cli.commands.ranges:RangesDocument",),
    "plan": ("engine.keyshared.scaling:ScalingPlan",),
    "lint": ("tui.cli.printers.lint:LintDocument",),
    "explain": (
        "tui.cli.printers.explanation:TopicExplained",
        "tui.cli.printers.explanation:TurnExplained",
        "tui.cli.printers.explanation:Unsubscribed",
        "tui.cli.printers.key_answers:KeyExplained",
        "engine.views.brokers.document:BundleDocument",
    ),
    "setting": ("engine.views.setting:SettingView",),
    "route": ("engine.views.producers.answers:RouteAnswer",),
    "partitions": ("engine.views.producers.answers:GrowthView",),
    "key-spread": ("tui.cli.printers.key_answers:KeySpreadDocument",),
    "key-consumer": ("tui.cli.printers.key_answers:KeyConsumerDocument",),
    "rules": ("tui.cli.printers.lint:RulesDocument",),
    "scripts": ("tui.cli.commands.demo:ScriptsDocument",),
    "verify": ("engine.verify.report:VerifyReport",),
    "script": ("engine.scenarios.script.run:ScriptDocument",),
}
"""The classes of each document by its name, that in ``format``; several where it is one of them."""


@click.command("schema")
@click.argument("name", required=False, type=click.Choice([*ANSWERS]), metavar="[NAME]")
def schema_command(*, name: str | None) -> int:
    """Print the JSON Schema (2020-12) of the document NAME; without a NAME, list those there are.

    The name is that in the document's format: "ringside.why/1" is why. Most are named like their command; script is
    what demo --headless prints, migration is explain migration, broker-heirs is heirs --broker, and a screen is
    dashboard, keys, producers or subscription.

    Example: ringside schema why
    """
    if name is None:
        write_page(ANSWERS, ascii_only=False)
    else:
        write_out(json_text(schema_named(name)))
    return FINE


def schema_named(name: str) -> dict[str, Any]:
    """The schema of a document by its name, one of ``ANSWERS``.

    >>> schema_named("plan")["title"]
    'Ringside plan'
    """
    from importlib import import_module

    from engine.documents import schema

    places = [place.partition(":") for place in ANSWERS[name]]
    kinds: list[type] = [getattr(import_module(module), kind) for module, _, kind in places]
    return schema(f"Ringside {name.replace('-', ' ')}", *kinds)
