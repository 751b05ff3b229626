"""The commands, one file for each family; every file imports the rooms it needs when it is run, not before."""

from __future__ import annotations

import click

import engine
from tui.cli.commands.ask import split
from tui.cli.commands.demo import demo
from tui.cli.commands.explain import explain
from tui.cli.commands.show import new, open_command, replay
from tui.cli.group import DeferredCommand, RingsideGroup

_EPILOG = """\b
With nothing, an embedded cluster is opened. A FILE or FOLDER holds answers of a broker (pulsar-admin topics
partitioned-stats, stats, namespaces bundles, broker-stats topics, ...). A path that is named like a command is
written ./explain. For completion in bash: eval "$(_RINGSIDE_COMPLETE=bash_source ringside)"; zsh and fish alike.
Exit codes: 0 fine, 1 a failed expectation or a failure while running, 2 usage, input or no terminal, 3 a cluster
out of reach, 130 and 143 when stopped from outside.
"""


@click.group(
    name="ringside",
    cls=RingsideGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=_EPILOG,
)
@click.version_option(engine.__version__, prog_name="ringside", message="%(prog)s %(version)s")
def ringside() -> None:
    """See, predict and explain who consumes what in Apache Pulsar."""


_VERIFY = DeferredCommand(
    "verify", "tui.cli.verify", "verify_command", short_help="Compare the model with answers of real brokers."
)
_RANGES = DeferredCommand(
    "ranges",
    "tui.cli.commands.ranges",
    "ranges_command",
    short_help="Print consistent sticky ranges: what each node declares.",
)
_PLAN = DeferredCommand(
    "plan",
    "tui.cli.commands.plan",
    "plan_command",
    short_help="Say how to change the number of nodes with consistent sticky ranges.",
)
_LINT = DeferredCommand(
    "lint",
    "tui.cli.commands.lint",
    "lint_command",
    short_help="Look for defects in recorded answers or in a list of consumer names.",
)
_WHY = DeferredCommand(
    "why",
    "tui.cli.commands.why",
    "why_command",
    short_help="Say why messages do not arrive: one named cause, in numbers, and its mend.",
)
_HEIRS = DeferredCommand(
    "heirs",
    "tui.cli.commands.heirs",
    "heirs_command",
    short_help="Say who inherits what when a consumer goes.",
)
_KEYS = DeferredCommand(
    "keys",
    "tui.cli.commands.keys",
    "keys_command",
    short_help="Say which slots and which keys a consumer has, and whether an uneven share is luck.",
)
_PARTITIONS = DeferredCommand(
    "partitions",
    "tui.cli.commands.routes",
    "partitions_command",
    short_help="Say which keys more partitions move, and where clients disagree about keys.",
)
_FORECAST = DeferredCommand(
    "forecast",
    "tui.cli.commands.forecast",
    "forecast_command",
    short_help="Say which bundle splits next, why, when, and what goes round in circles.",
)
_CURVE = DeferredCommand(
    "curve",
    "tui.cli.commands.forecast",
    "curve_command",
    short_help="Draw a bundle's traffic along the hash axis, with the limits and the cuts.",
)
_OCCUPANCY = DeferredCommand(
    "occupancy",
    "tui.cli.commands.occupancy",
    "occupancy_command",
    short_help="Count topics in bundles and on brokers, beside what chance gives.",
)
_NEEDED = DeferredCommand(
    "bundles-needed",
    "tui.cli.commands.occupancy",
    "bundles_needed_command",
    short_help="Say how many bundles keep brokers even, for so many topics.",
)
_SHED = DeferredCommand(
    "shed",
    "tui.cli.commands.shed",
    "shed_command",
    short_help="Say which bundle is unloaded next, from which broker, to which, and why.",
)
_BROKERS = DeferredCommand(
    "brokers",
    "tui.cli.commands.brokers",
    "brokers_command",
    short_help="Open the brokers: what each uses, which bundle moves next, and why.",
)
_BUNDLES = (_FORECAST, _BROKERS, _SHED, _CURVE, _OCCUPANCY, _NEEDED)
_KEY_SHARED = (_KEYS, _PARTITIONS, _RANGES, _PLAN)
_FLEET = DeferredCommand(
    "fleet",
    "tui.cli.fleet.command",
    "fleet_command",
    short_help="Do it for a whole installation: import, assign, keys, bundles, lint, report, watch.",
)
_RECORD = DeferredCommand(
    "record",
    "tui.cli.commands.record",
    "record_command",
    short_help="Save what a running cluster answers, for every other command to read.",
)
_DIFF = DeferredCommand(
    "diff", "tui.cli.commands.diff", "diff_command", short_help="Put two dumps, steps, rules or releases side by side."
)
_UPGRADE = DeferredCommand(
    "upgrade",
    "tui.cli.commands.upgrade",
    "upgrade_command",
    short_help="Say what another Pulsar release does with the same state.",
)
_SUGGEST = DeferredCommand(
    "suggest",
    "tui.cli.commands.suggest",
    "suggest_command",
    short_help="Suggest consumer names, numbers or the flag, with what each is worth.",
)
_CHECK = DeferredCommand(
    "check", "tui.cli.commands.check", "check_command", short_help="Judge a planned state by its goals, for CI."
)
_COMPARE = (_HEIRS, _DIFF, _UPGRADE, _SUGGEST, _CHECK)
_LIVE = DeferredCommand(
    "live",
    "tui.cli.commands.live",
    "live_command",
    short_help="Open the dashboard on a running cluster, which is only read.",
)
_EXPORTER = DeferredCommand(
    "exporter",
    "tui.cli.commands.exporter",
    "exporter_command",
    short_help="Serve a running cluster's figures to a scraper of OpenMetrics.",
)
_CONFIG = DeferredCommand(
    "config", "tui.cli.commands.config", "config_command", short_help="Look at your own settings, and what is wrong."
)
_MANUAL = DeferredCommand(
    "manual",
    "tui.cli.commands.manual",
    "manual_command",
    short_help="Print the manual of all commands, as Markdown or for man.",
)
_SEEN = (_VERIFY, _LIVE, _RECORD, _EXPORTER)
for command in (
    *(open_command, new, demo, replay, explain, _WHY, *_COMPARE, split),
    *(*_BUNDLES, *_KEY_SHARED, _LINT, _FLEET, *_SEEN, _CONFIG, _MANUAL),
):
    ringside.add_command(command)
