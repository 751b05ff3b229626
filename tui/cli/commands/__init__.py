"""The commands, one file for each family; every file imports the rooms it needs when it is run, not before."""

from __future__ import annotations

from typing import Final

import click

import engine
from tui.cli.commands.show import open_command
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


_COMMANDS: Final = (
    ("new", "commands.show:new_command", "Open an invented cluster."),
    ("demo", "commands.demo:demo_command", "Play a demo script, or list those that are shipped."),
    ("replay", "commands.show:replay_command", "Open a journal where it left off."),
    (
        "explain",
        "commands.explain:explain_command",
        "Say why a topic goes to its active consumer, or with the word key, route or bundle why those go where.",
    ),
    ("list", "commands.list:list_command", "List every subscription, the worst first."),
    ("why", "commands.why:why_command", "Say why messages do not arrive: one named cause, in numbers, and its fix."),
    ("heirs", "commands.heirs:heirs_command", "Say who inherits what when a consumer goes."),
    ("diff", "commands.diff:diff_command", "Put two dumps, steps, rules or releases side by side."),
    ("upgrade", "commands.upgrade:upgrade_command", "Say what another Pulsar release does with the same state."),
    (
        "suggest",
        "commands.suggest:suggest_command",
        "Suggest consumer names, numbers or the flag, with what each is worth.",
    ),
    ("check", "commands.check:check_command", "Judge a planned state by its goals, for CI."),
    ("split", "commands.split:split_command", "Show where each algorithm would cut a bundle."),
    (
        "forecast",
        "commands.forecast:forecast_command",
        "Say which bundle splits next, why, when, and which splits repeat in vain.",
    ),
    (
        "brokers",
        "commands.brokers:brokers_command",
        "Open the brokers: what each uses, which bundle moves next, and why.",
    ),
    (
        "keys",
        "commands.keys:keys_command",
        "Say which slots and which keys a consumer has, and whether an uneven share is luck.",
    ),
    (
        "partitions",
        "commands.routes:partitions_command",
        "Say which keys more partitions move, and where clients disagree about keys.",
    ),
    (
        "scalable",
        "commands.scalable:scalable_command",
        "Say who has which segment of a scalable topic, what waits, and what splits next.",
    ),
    ("ranges", "commands.ranges:ranges_command", "Print consistent sticky ranges: what each node declares."),
    ("plan", "commands.plan:plan_command", "Say how to change the number of nodes with consistent sticky ranges."),
    ("lint", "commands.lint:lint_command", "Look for defects in recorded answers or in a list of consumer names."),
    (
        "fleet",
        "fleet.command:fleet_command",
        "Do it for a whole installation: import, assign, keys, bundles, lint, report, watch.",
    ),
    ("verify", "commands.verify:verify_command", "Compare the model with answers of real brokers."),
    ("live", "commands.live:live_command", "Open the dashboard on a running cluster, which is only read."),
    ("serve", "commands.serve:serve_command", "Show a dashboard in browsers."),
    (
        "record",
        "commands.record:record_command",
        "Save what a running cluster answers, for every other command to read.",
    ),
    (
        "exporter",
        "commands.exporter:exporter_command",
        "Serve a running cluster's figures to a scraper of OpenMetrics.",
    ),
    ("config", "commands.config:config_command", "Look at your own settings, and what is wrong."),
    ("schema", "commands.schema:schema_command", "Print the JSON Schema of what a command prints with --json."),
)
"""The name, the place below ``tui.cli``, and the line in the help."""

ringside.add_command(open_command)
for _name, _place, _help in _COMMANDS:
    ringside.add_command(DeferredCommand(_name, f"tui.cli.{_place}", _help))
