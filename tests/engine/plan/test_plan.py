"""Plans: numbers that can be checked by hand, brute force over single consumers, and problems at their lines."""

from __future__ import annotations

from itertools import combinations

import pytest

from engine.errors import Problem
from engine.hashing import murmur3_32
from engine.plan.judging import judge_plan
from engine.plan.model import Outcome, Plan
from engine.plan.reading import LONGEST_TEXT, read_plan


def outcomes_of(text: str) -> dict[str, Outcome]:
    plan = read_plan(text.encode(), "p")
    assert isinstance(plan, Plan), plan
    return {outcome.goal.kind: outcome for outcome in judge_plan(plan).outcomes}


def problems(text: str | bytes) -> tuple[Problem, ...]:
    plan = read_plan(text if isinstance(text, bytes) else text.encode(), "p")
    assert not isinstance(plan, Plan)
    return plan


MODULO = """
[[topics]]
name = "persistent://t/n/x"
partitions = 6
msgs_per_sec = 60

[[subscriptions]]
name = "s"
consumers = ["a", "b", "c", "d"]
[subscriptions.before]
consumers = ["a", "b", "c"]
[subscriptions.goals]
max_over_mean = 1.4
max_over_mean_msgs = 1.5
survive = 1
idle = 0
busiest_msgs = 19.9
moved = 0.5
"""


def test_modulo_by_hand() -> None:
    # Six partitions on four: 2 2 1 1. One less: 2 2 2. From three to four 3, 4 and 5 move.
    judgement = outcomes_of(MODULO)
    assert judgement["max_over_mean"].actual == pytest.approx(8 / 6)
    assert judgement["max_over_mean"].met
    assert judgement["max_over_mean_msgs"].actual == pytest.approx(8 / 6)
    assert (judgement["survive"].actual, judgement["survive"].met) == (1.0, True)
    assert judgement["idle"].met
    assert (judgement["busiest_msgs"].actual, judgement["busiest_msgs"].met) == (20.0, False)
    assert (judgement["moved"].actual, judgement["moved"].met) == (0.5, True)
    assert {each.goal.line for each in judgement.values()} == set(range(13, 19))


@pytest.mark.parametrize("losses", [1, 2, 3])
def test_the_worst_losses_on_the_ring_are_those_of_every_combination(losses: int) -> None:
    names = [f"web-{at}" for at in range(5)]
    text = f"""
[settings]
activeConsumerFailoverConsistentHashing = true
[[topics]]
name = "persistent://t/n/x"
count = 30
partitions = 1
[[subscriptions]]
name = "s"
prefix = "web-"
count = 5
[subscriptions.goals]
max_over_mean = 9
survive = {losses}
"""
    topics = [f"persistent://t/n/x-{at}-partition-0" for at in range(30)]

    def ratio(left: list[str]) -> float:
        points = sorted((murmur3_32(f"{name}{at}"), name) for name in left for at in range(100))

        def owner(topic: str) -> str:
            value = murmur3_32(topic)
            return next((name for point, name in points if point >= value), points[0][1])

        owners = [owner(topic) for topic in topics]
        return max(map(owners.count, left)) * len(left) / len(topics)

    judgement = outcomes_of(text)
    assert judgement["max_over_mean"].actual == pytest.approx(ratio(names))
    every = {gone: ratio([name for name in names if name not in gone]) for gone in combinations(names, losses)}
    assert judgement["survive"].actual == pytest.approx(max(every.values()))
    assert every[judgement["survive"].who] == pytest.approx(max(every.values()))


def test_losing_everybody_is_never_met() -> None:
    judgement = outcomes_of(MODULO.replace('"a", "b", "c", "d"', '"a"'))
    assert (judgement["survive"].met, judgement["survive"].actual) == (False, None)


STICKY = """
[[subscriptions]]
name = "k"
type = "Key_Shared"
consumers = [{ name = "a", ranges = [[0, 9999]] }, { name = "b", ranges = [[20000, 65535]] }]
[subscriptions.goals]
gaps = 9999
overlap = 0
max_over_mean = 1.6
"""


def test_gaps_by_hand() -> None:
    judgement = outcomes_of(STICKY)
    assert (judgement["gaps"].actual, judgement["gaps"].met) == (10_000, False)
    assert (judgement["overlap"].actual, judgement["joins"].met) == (0, True)
    # Slot 0 never occurs: 9,999 and 45,536 of 55,535.
    assert judgement["max_over_mean"].actual == pytest.approx(45_536 * 2 / 55_535)


def test_an_overlap_keeps_a_consumer_out() -> None:
    judgement = outcomes_of(STICKY.replace("[20000,", "[9000,"))
    assert (judgement["overlap"].actual, judgement["overlap"].who) == (1_000, ("a", "b"))
    assert (judgement["joins"].met, judgement["joins"].who) == (False, ("b",))
    assert (judgement["max_over_mean"].met, judgement["max_over_mean"].actual) == (False, None)


def test_overlaps_are_slots_by_brute_force() -> None:
    pieces = {"a": [(0, 50), (100, 200)], "b": [(40, 120)], "c": [(110, 115), (300, 400)], "d": [(201, 299)]}
    rows = ", ".join(f"{{ name = '{name}', ranges = {[list(each) for each in own]} }}" for name, own in pieces.items())
    text = f"[[subscriptions]]\nname='k'\ntype='Key_Shared'\nconsumers=[{rows}]\n[subscriptions.goals]\noverlap=0"
    claims = [sum(low <= slot <= high for own in pieces.values() for low, high in own) for slot in range(500)]
    assert outcomes_of(text)["overlap"].actual == sum(count > 1 for count in claims)


HALVES = """
[[subscriptions]]
name = "k"
type = "Key_Shared"
mode = "auto-split"
count = 4
keys = { hot = 60.0, cold = 20.0, mild = 20.0 }
[subscriptions.before]
mode = "auto-split"
count = 2
[subscriptions.goals]
max_over_mean = 1.1
survive = 1
moved = 0.51
max_over_mean_msgs = 2.0
"""


def test_halves_by_hand_and_the_key_that_rules() -> None:
    judgement = outcomes_of(HALVES)
    assert judgement["max_over_mean"].actual == pytest.approx(1, abs=1e-4)
    # Two have half; the third and the fourth take half of one each.
    assert judgement["moved"].actual == pytest.approx(0.5, abs=1e-4)
    assert judgement["survive"].goal.losses == 1
    messages = judgement["max_over_mean_msgs"]
    assert messages.actual is not None and messages.actual >= 60 * 4 / 100
    assert (messages.met, messages.key) == (False, "hot")


def test_a_switch_from_halves_to_a_ring_moves_nearly_what_chance_says() -> None:
    text = HALVES.replace('mode = "auto-split"\ncount = 4', 'mode = "consistent-auto-split"\ncount = 4')
    actual = outcomes_of(text)["moved"].actual
    assert actual is not None
    # Two of four keep a quarter each of the half they had.
    assert actual == pytest.approx(1 - 2 * 0.5 * 0.25, abs=0.1)


def test_bundles_by_hand() -> None:
    text = """
[[topics]]
name = "t/n/x"
[[topics]]
name = "t/n/y"
[[namespaces]]
name = "t/n"
bundles = 1
brokers = 2
[namespaces.goals]
max_over_mean = 1.9
idle = 0
survive = 1
fullest_bundle = 1
"""
    judgement = outcomes_of(text)
    assert {kind: (each.met, each.actual) for kind, each in judgement.items()} == {
        "max_over_mean": (False, 2.0),
        "idle": (False, 1.0),
        "survive": (True, 1.0),
        "fullest_bundle": (False, 2.0),
    }


def test_bundles_by_chance() -> None:
    text = """
[[namespaces]]
name = "t/n"
topics = 4
bundles = 4
brokers = 2
[namespaces.goals]
idle = 0.02
fullest_bundle = 2.2
"""
    judgement = outcomes_of(text)
    # The numbers of ``expected_occupancy``, which are counted by hand there.
    assert judgement["fullest_bundle"].actual == pytest.approx(2.125)
    assert judgement["idle"].actual == pytest.approx(0.015625)


def test_a_release_without_the_flag_ignores_it() -> None:
    ring = MODULO.replace("\n[[topics]]", "[settings]\nactiveConsumerFailoverConsistentHashing = true\n[[topics]]", 1)
    assert outcomes_of(f"release = '4.0.7'\n{ring}")["moved"].actual != 0.5
    assert outcomes_of(f"release = '2.11.0'\n{ring}")["moved"].actual == 0.5


def test_settings_before_count_without_other_consumers() -> None:
    text = MODULO.replace('[subscriptions.before]\nconsumers = ["a", "b", "c"]\n', "")
    text += "[before.settings]\nactiveConsumerFailoverConsistentHashing = true\n"
    assert outcomes_of(text)["moved"].actual != 0


@pytest.mark.parametrize(
    ("change", "line", "path"),
    [
        (("max_over_mean = 1.4", "max_over_men = 1.4"), 13, "subscriptions[0].goals.max_over_men"),
        (("max_over_mean = 1.4", "max_over_mean = 0.9"), 13, "subscriptions[0].goals.max_over_mean"),
        (("max_over_mean = 1.4", "max_over_mean = nan"), 13, "subscriptions[0].goals.max_over_mean"),
        (("survive = 1", "survive = 4"), 15, "subscriptions[0].goals.survive"),
        (("survive = 1", "survive = true"), 15, "subscriptions[0].goals.survive"),
        (("partitions = 6", "partitions = 200001"), 4, "topics[0].partitions"),
        (('name = "s"', 'name = ""'), 8, "subscriptions[0].name"),
        (('name = "s"', "name = 3"), 8, "subscriptions[0].name"),
        (('"d"]', "7]"), 9, "subscriptions[0].consumers[3]"),
        (('consumers = ["a", "b", "c"]', "count = 2001"), 11, "subscriptions[0].before.count"),
        (('name = "s"', 'name = "s"\ntopics = ["t/n/y"]'), 9, "subscriptions[0].topics[0]"),
        (('name = "s"', 'name = "s"\ntype = "Shared"'), 9, "subscriptions[0].type"),
        (('name = "s"', 'name = "s"\nmode = "sticky"'), 9, "subscriptions[0].mode"),
        (("\n[[topics]]", "release = '1.0'\n[[topics]]"), 1, "release"),
        (("\n[[topics]]", "[settings]\nnoSuchSetting = 1\n[[topics]]"), 2, "settings.noSuchSetting"),
        (("persistent://t/n/x", "persistent://t"), 3, "topics[0].name"),
        (("moved = 0.5", "moved = 0.5\ngaps = 0"), 19, "subscriptions[0].goals.gaps"),
    ],
    ids=lambda each: each[1].replace("\n", " ") if isinstance(each, tuple) else None,
)
def test_problems_name_line_and_field(change: tuple[str, str], line: int, path: str) -> None:
    assert change[0] in MODULO
    result = [(problem.line, problem.path) for problem in problems(MODULO.replace(*change, 1))]
    assert (line, path) in result


def test_what_is_no_toml_is_reported_with_its_place() -> None:
    assert [(problem.line, problem.column) for problem in problems("a = 1\nb = \n")] == [(2, 5)]
    assert problems(b"a = 1\n\xff")[0].line == 2
    assert len(problems("[" * 100_000)) == 1
    assert len(problems("#" * (LONGEST_TEXT + 1))) == 1
    assert problems("a = " + "9" * 10_000)
    assert problems("")


def test_more_losses_than_can_be_judged_are_refused() -> None:
    text = MODULO.replace('consumers = ["a", "b", "c", "d"]', "count = 200").replace("survive = 1", "survive = 3")
    assert [problem.path for problem in problems(text)] == ["subscriptions[0].goals.survive"]


def test_all_problems_come_at_once() -> None:
    text = MODULO.replace("idle = 0", "idle = -1").replace("partitions = 6", "partitions = -6")
    assert [problem.line for problem in problems(text)] == [4, 16]
