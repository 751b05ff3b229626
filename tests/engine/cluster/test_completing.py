"""Every line that is offered can be read so far, and every word that a command takes is offered."""

from __future__ import annotations

import pytest

from engine.cluster.grammar.completing import MOST, completions
from engine.cluster.grammar.reading import COMMAND_FORMS, parse_command
from engine.cluster.state import ClusterState
from engine.errors import Rejection
from engine.scenarios.embedded import embedded_default
from tests.engine.cluster.key_states import key_cluster

PLAIN = embedded_default().state
KEYS = key_cluster("two words", "node-1")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("k", ("kill ",)),
        ("kill billing-1", ()),
        ("KILL x", ()),
        ("kill BILLING-3", ("billing-3",)),
        ("kill billing-0 ", ("of",)),
        ("kill billing-0 of ", ("billing",)),
        ("add x priority 2 ", ("ranges", "to")),
        ("topic ", ("add", "remove", "partitions")),
        ("set failoverSubscriptionX", ()),
        ("set activeConsumerFailoverC", ("activeConsumerFailoverConsistentHashing",)),
        ("set activeConsumerFailoverConsistentHashing ", ("true", "false")),
        ("set maxConsumersPerTopic ", ()),
        ("split public/default ", ("bundle", "LARGEST", "HOT")),
        ("split public/default/0x0", ("public/default/0x00000000_0x40000000",)),
        ("producer add batching ", ("on", "off")),
        ("producer add batching on o", ("on",)),
        ("producer add client ", ("java", "python", "cpp")),
        ("share ", ("auto-split", "consistent-auto-split", "sticky", "consistent-sticky")),
        ("priority billing-1 ", ()),
        ("kill 'bil", ()),
        ("nonsense ", ()),
        ("home ", ()),
    ],
)
def test_what_can_follow(text: str, words: tuple[str, ...]) -> None:
    begun = text[: text.rfind(" ") + 1]
    assert completions(text, PLAIN, "billing") == tuple(begun + word for word in words)


@pytest.mark.parametrize("state", [PLAIN, KEYS], ids=["failover", "key_shared"])
def test_words_that_are_offered_are_read(state: ClusterState) -> None:
    """Three words deep: what is offered behind a command is never refused as a word that it does not know."""
    lines = list(completions("", state))
    assert {line.strip() for line in lines} == set(COMMAND_FORMS)
    seen = 0
    for _ in range(3):
        lines = [more for line in lines for more in completions(line.rstrip() + " ", state)][:400]
        for line in lines:
            answer = parse_command(line, state)
            refused = answer.message if isinstance(answer, Rejection) else ""
            assert "is too much" not in refused and "unknown command" not in refused, line
            seen += 1
    assert seen > 250


@pytest.mark.parametrize("text", ["kill ", "kill tw", "kill TWO"])
def test_names_with_blanks_are_offered_in_quotes(text: str) -> None:
    assert completions(text, KEYS, "orders")[0] == 'kill "two words"'


def test_many_topics_are_cut_off() -> None:
    assert len(completions("topic remove ", PLAIN)) == MOST
