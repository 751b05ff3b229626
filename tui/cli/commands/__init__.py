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
    ("new", "show:new_command", "Open an invented cluster."),
    ("demo", "demo:demo_command", "Play a demo script, or list those that are shipped."),
    ("replay", "show:replay_command", "Open a journal where it left off."),
    (
        "explain",
        "explain:explain_command",
        "Say why a topic goes to its active consumer, or with the word key, route or bundle why those go where.",
    ),
    ("why", "why:why_command", "Say why messages do not arrive: one named cause, in numbers, and its mend."),
    ("heirs", "heirs:heirs_command", "Say who inherits what when a consumer goes."),
    ("diff", "diff:diff_command", "Put two dumps, steps, rules or releases side by side."),
    ("upgrade", "upgrade:upgrade_command", "Say what another Pulsar release does with the same state."),
    ("suggest", "suggest:suggest_command", "Suggest consumer names, numbers or the flag, with what each is worth."),
    ("check", "check:check_command", "Judge a planned state by its goals, for CI."),
    ("split", "split:split_command", "Show where each algorithm would cut a bundle."),
    (
        "forecast",
        "forecast:forecast_command",
        "Say which bundle splits next, why, when, and what goes round in circles.",
    ),
    ("brokers", "brokers:brokers_command", "Open the brokers: what each uses, which bundle moves next, and why."),
    ("shed", "shed:shed_command", "Say which bundle is unloaded next, from which broker, to which, and why."),
    ("curve", "forecast:curve_command", "Draw a bundle's traffic along the hash axis, with the limits and the cuts."),
    ("occupancy", "occupancy:occupancy_command", "Count topics in bundles and on brokers, beside what chance gives."),
    (
        "bundles-needed",
        "occupancy:bundles_needed_command",
        "Say how many bundles keep brokers even, for so many topics.",
    ),
    (
        "keys",
        "keys:keys_command",
        "Say which slots and which keys a consumer has, and whether an uneven share is luck.",
    ),
    (
        "partitions",
        "routes:partitions_command",
        "Say which keys more partitions move, and where clients disagree about keys.",
    ),
    ("ranges", "ranges:ranges_command", "Print consistent sticky ranges: what each node declares."),
    ("plan", "plan:plan_command", "Say how to change the number of nodes with consistent sticky ranges."),
    ("lint", "lint:lint_command", "Look for defects in recorded answers or in a list of consumer names."),
    (
        "fleet",
        "fleet:fleet_command",
        "Do it for a whole installation: import, assign, keys, bundles, lint, report, watch.",
    ),
    ("verify", "verify:verify_command", "Compare the model with answers of real brokers."),
    ("live", "live:live_command", "Open the dashboard on a running cluster, which is only read."),
    ("record", "record:record_command", "Save what a running cluster answers, for every other command to read."),
    ("exporter", "exporter:exporter_command", "Serve a running cluster's figures to a scraper of OpenMetrics."),
    ("config", "config:config_command", "Look at your own settings, and what is wrong."),
    ("manual", "manual:manual_command", "Print the manual of all commands, as Markdown or for man."),
)
"""Name, where below this folder it is, and what help says of it."""

ringside.add_command(open_command)
for _name, _place, _help in _COMMANDS:
    ringside.add_command(DeferredCommand(_name, f"{__name__}.{_place}", _help))
