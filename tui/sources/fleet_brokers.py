"""The brokers of one cluster of a fleet: the loads of its forecast, and the options of the forecast."""

from __future__ import annotations

import msgspec

from engine.admin.files import AnswerFile
from engine.admin.shed_inputs import shed_inputs_of_answers
from engine.errors import InputError
from engine.text import natural_key
from engine.views.brokers.model import CYCLES, BrokersInput, BrokersQuestion
from engine.views.brokers.view import brokers_input
from engine.views.fleet.runs import ResultFolder
from tui.sources.fleet_tables import read_table

_SUMMARY = "balance.json"


class _Options(msgspec.Struct):
    shedder: str | None = None
    placement: str | None = None
    settings: dict[str, str] = {}
    cycles: int = CYCLES
    seed: int = 0
    release: str | None = None


class _Summary(msgspec.Struct):
    question: _Options


def brokers_of(folder: ResultFolder, cluster: str) -> tuple[BrokersInput, BrokersQuestion]:
    """The brokers of a cluster as the job ``balance`` saw them. Raises ``InputError`` for what is missing."""
    columns = read_table(folder, "balance_answers", ("file", "body"), [("cluster", "=", cluster)]).to_pydict()
    answers = [AnswerFile(name, body) for name, body in zip(columns["file"], columns["body"], strict=True)]
    answers.sort(key=lambda answer: natural_key(answer.name))
    inputs = shed_inputs_of_answers(answers)
    if not inputs.written:
        raise InputError(f"{folder}: no load of a broker of {cluster or 'the top folder'} can be read")
    options = _options(folder)
    question = BrokersQuestion(
        shedder=options.shedder,
        placement=options.placement,
        settings=tuple(options.settings.items()),
        cycles=options.cycles,
        seed=options.seed,
    )
    return brokers_input(inputs, options.release, cluster), question


def _options(folder: ResultFolder) -> _Options:
    try:
        return msgspec.json.decode(folder.document(_SUMMARY), type=_Summary).question
    except FileNotFoundError:
        return _Options()
    except (OSError, msgspec.MsgspecError) as error:
        raise InputError(f"{folder}/{_SUMMARY} cannot be read: {error}; run ringside fleet balance again") from error
