"""``suggest``: consumer names that make a ring even, how many consumers or partitions are enough, and the flag."""

from __future__ import annotations

import json
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import click

from engine.config import FLAG
from engine.errors import InputError, accepted
from engine.text import counted
from tui.cli.exits import FAILED, FINE
from tui.cli.options import WhatIf, form_options, what_if_options
from tui.cli.output import Form, accepted_option, say_problems
from tui.cli.plain import PageColumn, listing, nearest, wrapped
from tui.kit.wording import BUSIEST_SHORT, percent, quantity, safe_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from engine.bundles.occupancy import ExpectedOccupancy
    from engine.bundles.sizing import BundlesNeeded
    from engine.cluster.keys.state import KeySubscription
    from engine.cluster.state import ClusterState, Subscription
    from engine.compare.names import Fit, RingKind, Work
    from engine.compare.sizes import Size, Sizing
    from engine.compare.suggestion import SuggestedKind
    from engine.compare.verdict import Goal, SuggestionKind, Verdict
    from engine.config import BrokerSettings

TOPICS: Final = "topics"
ANY: Final = "any"


@click.group("suggest")
def suggest_command() -> None:
    """Suggest names, numbers or settings for a subscription or a namespace, with what each is worth.

    Exit code 1: nothing that was tried meets the goal.

    Example: ringside suggest names answers/ --survive 1
    """


def _goal_options(command: Callable[..., int]) -> Callable[..., int]:
    for decorate in (
        click.option("--survive", type=click.IntRange(0, 1), default=0, help="1: also after the loss of any one."),
        click.option("--by", type=click.Choice(["partitions", "messages"]), default="partitions", help="What is even."),
        click.option(
            "--max-over-mean",
            "ratio",
            metavar="X",
            type=click.FloatRange(min=1.0),
            default=1.3,
            show_default=True,
            help="The goal: the busiest consumer has at most so many times the mean.",
        ),
    ):
        command = decorate(command)
    return command


_seed = click.option("--seed", metavar="N", type=int, default=0, show_default=True, help="For what is drawn.")

_path = click.argument("path", metavar="[FILE | FOLDER]", required=False)


@suggest_command.command("names", short_help="Consumer names that make the ring more even.")
@_path
@click.option("--prefix", metavar="TEXT", help="Names TEXT-0, TEXT-1 … instead of the present consumers; with --count.")
@click.option("--count", metavar="N", type=click.IntRange(min=1), help="How many; with --prefix.")
@click.option("--consumers", metavar="A,B,C", help="These names instead of the present consumers.")
@click.option(
    "--for",
    "target",
    type=click.Choice([TOPICS, ANY]),
    help="The topics at hand, or any that may come (the hash space): the default for names without a file.",
)
@click.option(
    "--mode",
    type=click.Choice(["failover", "key-shared"]),
    help="The ring of names that are given here; else that of the subscription.",
)
@click.option("--helm", is_flag=True, help="Print Helm values.")
@_seed
@_goal_options
@what_if_options
@form_options
def suggest_names(
    *,
    path: str | None,
    target: str | None,
    helm: bool,
    seed: int,
    what_if: WhatIf,
    form: Form,
    **how: Any,
) -> int:
    """Suggest consumer names: the given ones with suffixes, so that the ring is as even as --max-over-mean asks.

    For a Key_Shared subscription the ring of its slots is taken, and its known keys with their messages; --mode
    key-shared says so for names that are given here. With --survive 1 also after the loss of any one consumer. The same
    --seed gives the same names. What is fitted to the topics or keys at hand is worth less on others: one half of them
    is fitted and the other one judged, and both results are printed.

    Example: ringside suggest names answers/ --survive 1
    """
    from engine.compare.names import FAILOVER_RING, Work, fit_names
    from engine.compare.suggestion import key_subscription_of, names_document, settings_of
    from engine.compare.verdict import subscription_of

    named = _given(how["prefix"], how["count"], how["consumers"])
    target = target or (ANY if named and path is None else TOPICS)
    state, key = _state_and_key(path, what_if)
    subscription, keyed = subscription_of(state, key), key_subscription_of(state, key)
    by_keys = how["mode"] == "key-shared" if how["mode"] is not None else subscription is None
    settings = state.settings if keyed is None else settings_of(state, keyed)
    ring = _key_ring(state, settings) if by_keys else FAILOVER_RING
    shared_out = subscription if not by_keys else keyed
    if shared_out is None and (not named or target != ANY):
        raise InputError("no subscription of this mode is here; --prefix with --count, and --for any, need none")
    given = named or ([] if shared_out is None else [consumer.name for consumer in shared_out.consumers])
    fitted_to = "the hash space"
    if target == ANY:
        work = Work.of_space()
    elif by_keys:
        assert keyed is not None
        work, fitted_to = _key_work(keyed, ring), f"{len(keyed.keys):,} known keys of {keyed.key}"
    else:
        assert subscription is not None
        work = _work(state, subscription, by=how["by"])
        fitted_to = f"{len(work.hash):,} partitions of {subscription.key}"
    survive = how["survive"] == 1
    fit = accepted(
        fit_names(given, work, seed=seed, goal=how["ratio"] if _is_given("ratio") else 1.0, survive=survive, ring=ring)
    )
    met = fit.after.now <= how["ratio"] and (not survive or fit.after.after_loss <= how["ratio"])
    page = names_lines(fit, fitted_to, survive=survive), _without_ring(state, by_keys=by_keys)
    return form.show(
        names_document(fit, fitted_to=fitted_to, seed=seed),
        helm_lines(fit) if helm else chain.from_iterable(page),
        FINE if met else FAILED,
    )


def _sized(kind: SuggestionKind, path: str | None, up_to: int | None, what_if: WhatIf, how: dict[str, Any]) -> int:
    from engine.compare.suggestion import sizing_for
    from engine.compare.verdict import Goal

    state, key = _state_and_key(path, what_if)
    goal = Goal(how["ratio"], how["survive"] == 1, how["by"] == "messages", how.get("most") or 0.0)
    sizing = accepted(sizing_for(state, key, kind, goal, up_to=up_to, seed=how["seed"]))
    return _show_sizing(kind, sizing, goal, how["form"])


def _show_sizing(kind: SuggestedKind, sizing: Sizing, goal: Goal, form: Form) -> int:
    from engine.compare.suggestion import sizing_document

    code = FINE if sizing.smallest is not None else FAILED
    return form.show(sizing_document(kind, sizing, goal), sizing_lines(kind, sizing, goal), code)


@suggest_command.command("consumers", short_help="The smallest number of consumers for a goal.")
@_path
@click.option("--up-to", metavar="N", type=click.IntRange(min=2), help="Look at so many.")
@click.option("--most", metavar="RATE", type=click.FloatRange(min=0.0), help="Messages a second one consumer can do.")
@_seed
@_goal_options
@what_if_options
@form_options
def suggest_consumers(*, path: str | None, up_to: int | None, what_if: WhatIf, **how: Any) -> int:
    """Suggest numbers of consumers for a goal, with the curve around it and what chance gives on a ring.

    Example: ringside suggest consumers answers/ --max-over-mean 1.3 --survive 1
    """
    return _sized("consumers", path, up_to, what_if, how)


@suggest_command.command("partitions", short_help="The smallest number of partitions for a goal.")
@_path
@click.option("--up-to", metavar="N", type=click.IntRange(min=2), help="Look at so many.")
@_seed
@_goal_options
@what_if_options
@form_options
def suggest_partitions(*, path: str | None, up_to: int | None, what_if: WhatIf, **how: Any) -> int:
    """Suggest the smallest number of partitions of every topic for a goal.

    Its traffic is spread evenly over them; that of producers with rates as their routers send it.

    Example: ringside suggest partitions answers/ --max-over-mean 1.2
    """
    return _sized("partitions", path, up_to, what_if, how)


@suggest_command.command("points", short_help="Points of a Key_Shared ring for a goal.")
@_path
@_seed
@_goal_options
@what_if_options
@form_options
def suggest_points(*, path: str | None, what_if: WhatIf, **how: Any) -> int:
    """Suggest subscriptionKeySharedConsistentHashingReplicaPoints for a goal, for the present consumers.

    More points make shares more alike, as far as chance goes; a hot key stays on one consumer whatever they are.

    Example: ringside suggest points answers/ --max-over-mean 1.2
    """
    return _sized("points", path, None, what_if, how)


@suggest_command.command("bundles", short_help="The smallest number of bundles for a goal.")
@_path
@click.option("--brokers", metavar="N", type=click.IntRange(min=1), required=True, help="How many brokers there are.")
@click.option("--namespace", metavar="TENANT/NAME", help="Needed where there are several.")
@click.option("--topics", metavar="N", type=int, help="Instead of answers: so many topics, by chance.")
@click.option(
    "--idle-share", metavar="X", type=float, default=0.01, show_default=True,
    help="With --topics: the share of brokers that may be without a topic.",
)  # fmt: skip
@click.option(
    "--up-to", metavar="N", type=click.IntRange(min=1), default=128, show_default=True,
    help="Look at so many. With --topics: loadBalancerNamespaceMaximumBundles.",
)  # fmt: skip
@_seed
@_goal_options
@what_if_options
@form_options
def suggest_bundles(
    *, path: str | None, brokers: int, namespace: str | None, topics: int | None, idle_share: float, up_to: int,
    what_if: WhatIf, **how: Any,
) -> int:  # fmt: skip
    """Suggest a number of equal bundles for the topics of a namespace, dealt out to the brokers in turn.

    With --survive 1 also with one broker less. With --topics it is about topics that do not exist yet: the smallest
    number with which chance keeps the brokers even, and what others give.

    Examples: ringside suggest bundles answers/ --brokers 3 --max-over-mean 1.2; ringside suggest bundles --topics 1000
    --brokers 3
    """
    if topics is not None:
        if path is not None or namespace is not None:
            raise click.UsageError("--topics is instead of answers; give one or the other")
        return _by_chance(topics, brokers, idle_share, up_to, how)
    import numpy as np

    from engine.cluster.bundles import topic_loads
    from engine.compare.suggestion import bundles_for
    from engine.compare.verdict import Goal
    from tui.cli.session import namespace_of, session_of

    session = session_of(path, what_if)
    say_problems(session.problems)
    state = session.timeline.state
    owner = namespace_of(namespace, session.timeline)
    if owner not in state.namespaces:
        raise InputError(
            f"--namespace: no namespace {owner!r} here; there is {nearest(owner, sorted(state.namespaces))}"
        )
    loads = topic_loads(state, owner)
    names = [topic.name for topic in loads]
    rates = np.array([topic.msg_rate_in + topic.msg_rate_out for topic in loads], dtype=np.float64)
    goal = Goal(how["ratio"], how["survive"] == 1, how["by"] == "messages")
    now = len(state.namespaces[owner].boundaries) - 1
    numbers = sorted({*range(1, up_to + 1), now})
    sizing = accepted(bundles_for(names, rates, brokers, goal, numbers, now=now, seed=how["seed"]))
    return _show_sizing("bundles", sizing, goal, how["form"])


def _by_chance(topics: int, brokers: int, idle_share: float, maximum: int, how: dict[str, Any]) -> int:
    from engine.bundles.sizing import bundles_needed

    needed = accepted_option(
        bundles_needed(topics, brokers, max_over_mean=how["ratio"], idle_share=idle_share, maximum_bundles=maximum)
    )
    form: Form = how["form"]
    return form.show(needed, _needed_lines(needed))


def _needed_lines(needed: BundlesNeeded) -> list[str]:
    """The number, why it is that many, and other numbers of bundles beside it."""
    lines = [f"{counted(needed.bundles, 'bundle')}"]
    for sentence in needed.explanation:
        lines += wrapped(sentence, first="  ", rest="    ")
    columns: list[PageColumn[ExpectedOccupancy]] = [
        ("bundles", ">", lambda row: f"{'* ' if row.bundles == needed.bundles else ''}{row.bundles}"),
        ("topics each", ">", lambda row: f"{row.mean_per_bundle:.2f}"),
        ("fullest", ">", lambda row: f"{row.fullest_bundle:.2f}"),
        ("empty", ">", lambda row: percent(row.empty_bundle_share)),
        ("idle brokers", ">", lambda row: f"{row.idle_brokers:.3f}"),
        ("fullest broker", ">", lambda row: f"{row.packed_max_over_mean:.3f}"),
    ]
    return [*lines, "", *listing(needed.table, columns)]


@suggest_command.command("flag", short_help="Whether consistent hashing of Failover should be on here.")
@_path
@what_if_options
@form_options
def suggest_flag(*, path: str | None, what_if: WhatIf, form: Form) -> int:
    """Suggest whether activeConsumerFailoverConsistentHashing should be on, by the verdict on changing it.

    Example: ringside suggest flag answers/
    """
    from engine.compare.suggestion import flag_document
    from engine.compare.verdict import flag_change, preview

    state, subscription = _subscription(path, what_if)
    on = state.settings.activeConsumerFailoverConsistentHashing
    verdict = accepted(preview(state, flag_change(state), subscription.key))
    return form.show(lambda: flag_document(verdict, on=on), flag_lines(verdict, on=on))


def _is_given(name: str) -> bool:
    """Whether an option was given."""
    from click.core import ParameterSource

    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT


def _given(prefix: str | None, count: int | None, consumers: str | None) -> list[str]:
    """The names on the command line; empty where those of the subscription are meant. Raises ``UsageError``."""
    if (prefix is None) is not (count is None):
        raise click.UsageError("--prefix and --count belong together; give both or none")
    if prefix is not None and consumers is not None:
        raise click.UsageError("--prefix and --consumers are two ways to give names; choose one of them")
    if consumers is not None:
        return [name.strip() for name in consumers.split(",") if name.strip()]
    return [f"{prefix}-{at}" for at in range(count or 0)]


def _state_and_key(path: str | None, what_if: WhatIf) -> tuple[ClusterState, str]:
    """The state and the key of the subscription that is meant, "" where it has none."""
    from tui.cli.session import session_of, subscription_key

    session = session_of(path, what_if)
    say_problems(session.problems)
    return session.timeline.state, subscription_key(session)


def _subscription(path: str | None, what_if: WhatIf) -> tuple[ClusterState, Subscription]:
    """The Failover subscription that is meant. Raises ``InputError``."""
    from engine.compare.verdict import subscription_of

    state, key = _state_and_key(path, what_if)
    subscription = subscription_of(state, key)
    if subscription is None:
        raise InputError("the flag is for Failover subscriptions; --subscription NAME chooses one")
    return state, subscription


def _key_ring(state: ClusterState, settings: BrokerSettings) -> RingKind:
    from engine.cluster.state import behaviour_in
    from engine.compare.names import key_shared_ring

    return accepted(key_shared_ring(settings, behaviour_in(state)))


def _key_work(keyed: KeySubscription, ring: RingKind) -> Work:
    from engine.compare.key_shared import work_of_keys
    from engine.compare.suggestion import known_keys

    keys = known_keys(keyed)
    if not float(keys.rates.sum()):
        raise InputError(f"{keyed.key} has no known key with messages; --for any fits names to the hash space")
    return work_of_keys(keys, ring)


def _work(state: ClusterState, subscription: Subscription, *, by: str) -> Work:
    import numpy as np

    from engine.cluster.owners import columns_of
    from engine.cluster.partitions import traffic
    from engine.compare.names import Work

    columns = columns_of(state, subscription)
    if not len(columns):
        raise InputError(f"{subscription.key} has no partition; --for any fits names to the hash space")
    flow = traffic(columns, state.loads, subscription.loads).msgs_per_sec
    by_messages = by == "messages" and flow.sum() > 0
    return Work.of_topics(columns.hash, flow if by_messages else np.ones(len(columns)))


def names_lines(fit: Fit, fitted_to: str, *, survive: bool) -> Iterator[str]:
    """The names, and how even they are on the topics they were fitted to, and on others."""
    from tui.kit.verdict_words import worth

    columns: list[PageColumn[tuple[str, str]]] = [
        ("now", "<", lambda pair: safe_name(pair[0])),
        ("suggested", "<", lambda pair: safe_name(pair[1])),
    ]
    yield from listing(zip(fit.given, fit.names, strict=True), columns, indent="  ")
    yield ""
    yield from wrapped(
        f"fitted to {fitted_to}, {fit.tried:,} names tried: {worth(fit.before, fit.after, survive=survive)}"
    )
    if fit.held_out_before is not None and fit.held_out_after is not None:
        gain = worth(fit.held_out_before, fit.held_out_after, survive=survive)
        yield from wrapped(f"on topics it was not fitted to (one half fitted, the other one judged): {gain}")
        if fit.held_out_after.now >= fit.held_out_before.now:
            yield from wrapped(
                "so the names are worth nothing where topics change; --for any fits them to the hash space"
            )


def _without_ring(state: ClusterState, *, by_keys: bool) -> Iterator[str]:
    from tui.kit.verdict_words import WITHOUT_RING

    if not by_keys and not state.settings.activeConsumerFailoverConsistentHashing:
        yield from wrapped(WITHOUT_RING)


def helm_lines(fit: Fit) -> Iterator[str]:
    """The names as values of a chart."""
    yield "consumerNames:"
    yield from (f"  - {json.dumps(name)}" for name in fit.names)


def sizing_lines(kind: str, sizing: Sizing, goal: Goal) -> Iterator[str]:
    """The answer, and the curve around it."""
    from tui.kit.verdict_words import on_ring, sizing_answer, what_rules

    yield from wrapped(sizing_answer(kind, sizing, goal))
    if sizing.smallest_on_ring is not None:
        yield from wrapped(on_ring(sizing))
    surely = [row.number for row in sizing.rows if row.good and 0 < row.chance_high <= goal.max_over_mean]
    if surely and surely[0] != sizing.smallest:
        yield from wrapped(f"with {surely[0]:,} nine of ten draws of other names meet it too; fewer may be luck")
    reason = what_rules(kind, sizing)
    if reason:
        yield from wrapped(reason)
    columns: list[PageColumn[Size]] = [
        ("", "<", lambda row: "*" if row.good else ""),
        (kind, ">", lambda row: f"{row.number:,}"),
        (BUSIEST_SHORT, ">", lambda row: f"{row.max_over_mean:.2f}"),
        ("after a loss", ">", lambda row: f"{row.after_loss:.2f}" if row.after_loss else ""),
        ("most out/s", ">", lambda row: quantity(row.busiest_msgs)),
        ("idle", ">", lambda row: f"{row.idle:,}"),
        ("by chance", "<", lambda row: f"{row.chance_low:.2f} to {row.chance_high:.2f}" if row.chance_high else ""),
    ]
    yield from listing(_around(sizing), columns)


def _around(sizing: Sizing) -> tuple[Size, ...]:
    """The rows of the curve to show: around the answer, or the last ones."""
    from engine.compare.sizes import ROWS

    at = next((at for at, row in enumerate(sizing.rows) if row.number == (sizing.smallest or sizing.now)), 0)
    low = max(0, min(at - ROWS // 2, len(sizing.rows) - ROWS))
    return sizing.rows[low : low + ROWS]


def flag_lines(verdict: Verdict, *, on: bool) -> Iterator[str]:
    """Whether to change the flag, and why."""
    from tui.kit.verdict_words import verdict_text

    now, other = ("true", "false") if on else ("false", "true")
    if verdict.judgement == "better":
        yield f"set {FLAG}={other}"
    else:
        yield f"leave {FLAG}={now}"
    yield from wrapped(f"{other} would be {verdict_text(verdict)}", first="  ", rest="  ")
