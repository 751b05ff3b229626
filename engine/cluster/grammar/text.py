"""A command as a line of the grammar; ``engine.cluster.grammar.reading`` reads it back."""

from __future__ import annotations

from engine.cluster.commands import Command, TimelineCommand
from engine.cluster.grammar.declared import FORMS
from engine.cluster.state import ClusterState


def command_text(command: Command | TimelineCommand, state: ClusterState | None = None) -> str:
    """One line that reads back as the same command.

    Without a state a consumer is written ``#ID`` and its subscription always named, so the line reads back anywhere.
    With the state it is about to act on, names are used where they are unique and a sole subscription is left out.

    >>> from engine.cluster.commands import AddConsumer, AddProducers, JoinSegments, SplitBundle
    >>> from engine.cluster.producers.state import ProducerPlan
    >>> command_text(AddConsumer("billing", "worker 1", 2))
    'add "worker 1" priority 2 to billing'
    >>> command_text(SplitBundle("t/n", "0x00000000_0x80000000", "specified_positions_divide", (7, 9)))
    'split t/n/0x00000000_0x80000000 specified_positions_divide at 7,9'
    >>> command_text(AddProducers("orders", ProducerPlan(count=100, lazy=True, router="partial", limit=3)))
    'producer add count 100 lazy partial 3 on orders'
    >>> command_text(JoinSegments("topic://t/n/x", "orders", "worker 1", "QUEUE"))
    'consumer join "worker 1" queue to orders on topic://t/n/x'
    """
    return next(form for form in FORMS if form.writes(command)).text(command, state)
