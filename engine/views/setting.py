"""What is known of one broker setting: what it does, its default by release, and how brokers take it."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, ClassVar

from engine.answer import about
from engine.balance.settings import default_load_settings
from engine.config import DEFAULTS, ReleaseBehaviour, default_settings, is_dynamic
from engine.errors import Rejection
from engine.releases import history_of
from engine.setting_notes import SETTING_NOTES, UNMODELLED


@dataclass(frozen=True, slots=True)
class PastDefault:
    """A default and the releases that brought it."""

    since: Annotated[tuple[str, ...], about("The first release of each line that has it.")]
    default: Annotated[str | None, about("As broker.conf writes it; null where there is no such setting.")]


@dataclass(frozen=True, slots=True)
class SettingView:
    """A broker setting in one release."""

    FORMAT: ClassVar[str] = "ringside.setting/1"
    name: Annotated[str, about("As broker.conf spells it.")]
    release: Annotated[str, about("The release that default and dynamic are of.")]
    category: Annotated[str, about("Pulsar's own category.")]
    default: Annotated[str | None, about("As broker.conf writes it; null where there is no such setting.")]
    dynamic: Annotated[bool, about("Brokers take another value while they run.")]
    text: Annotated[str, about("What it does.")]
    remark: Annotated[str, about('Where words elsewhere and the code differ; "" for nowhere.')]
    source: Annotated[str, about('The proposal or pull request; "" for none.')]
    history: Annotated[tuple[PastDefault, ...], about("Ascending; empty for one default since 2.10.")]


def setting_view(name: str, behaviour: ReleaseBehaviour) -> SettingView | Rejection:
    """What is known of a setting. Refused: a name that is not modelled here, with the nearest one."""
    notes = {**SETTING_NOTES, **UNMODELLED}
    note = notes.get(name)
    if note is None:
        lower = {known.lower(): known for known in notes}
        near = get_close_matches(name[:100].lower(), lower, n=1)
        hint = f"; did you mean {lower[near[0]]}?" if near else ""
        return Rejection("UnknownSetting", f"no broker setting {name!r} is known here{hint}", field=name)
    return SettingView(
        name=name,
        release=behaviour.label,
        category=note.category,
        default=None if behaviour.defaults.lacks(name) else _default_text(name, behaviour),
        dynamic=is_dynamic(name, behaviour),
        text=note.text,
        remark=note.remark,
        source=note.source,
        history=tuple(
            PastDefault(tuple(map(str, firsts)), None if default.value is None else default.text)
            for firsts, default in history_of(name)
        ),
    )


def _default_text(name: str, behaviour: ReleaseBehaviour) -> str:
    if name in UNMODELLED:
        return behaviour.defaults[name].text
    if name in DEFAULTS:
        return default_settings(behaviour).text_of(name)
    value = getattr(default_load_settings(behaviour), name)
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, tuple) else str(value)
