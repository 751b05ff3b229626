"""Settings: which of them a release knows, which can be changed while it runs, and which are in force."""

from __future__ import annotations

from engine.admin.facts import RuntimeConfiguration
from engine.config import CURRENT, BrokerSettings, behaviour_of, default_settings
from engine.errors import Rejection
from tests.lab.judge import Judge
from tests.lab.recording import Answer, Recording
from tests.lab.report import FactKind, Ledger

FLAG = "activeConsumerFailoverConsistentHashing"
KEY_SHARED_SETTINGS = (
    "subscriptionKeySharedUseConsistentHashing",
    "subscriptionKeySharedConsistentHashingReplicaPoints",
    "subscriptionKeySharedUseClassicPersistentImplementation",
)
# ``ServiceConfiguration`` marks them as not dynamic, and so does a release that does not know them at all.
_NOT_DYNAMIC = (FLAG, "activeConsumerFailoverDelayTimeMillis")


def defaults_of(version: str | None) -> BrokerSettings:
    """The settings of a broker of that version that sets none; those of the current one where none is told."""
    behaviour = behaviour_of(version) if version is not None else CURRENT
    return default_settings(CURRENT if isinstance(behaviour, Rejection) else behaviour)


def compare_told_settings(recording: Recording, judge: Judge, ledger: Ledger) -> None:
    """What a scenario tells of the flag: whether its release knows it, and the value in force."""
    behaviour = judge.behaviour
    ledger.step = "settings"
    if recording.flag_known is not None:
        known = behaviour.knows_failover_consistent_hashing
        rule = f"PIP-392 and Pulsar {behaviour.label}"
        ledger.compare(FactKind.FLAG_KNOWN, FLAG, recording.flag_known, known, rule)
    if recording.flag_in_configuration is not None:
        wanted = judge.settings.text_of(FLAG) if behaviour.knows_failover_consistent_hashing else "no such"
        recorded = recording.flag_in_configuration[0] or "no such"
        ledger.compare(FactKind.SETTING_IN_FORCE, FLAG, recorded, wanted, f"Pulsar {behaviour.label}")


def compare_configuration(recording: Recording, ledger: Ledger, found: RuntimeConfiguration) -> None:
    """A run-time configuration has the settings that the scenario says it set."""
    for setting in found.named:
        if setting in recording.named_settings:
            recorded, wanted = found.settings.text_of(setting), recording.settings.text_of(setting)
            ledger.compare(FactKind.SETTING_IN_FORCE, setting, recorded, wanted, "broker_settings")


def compare_change(answer: Answer, ledger: Ledger) -> bool:
    """A request to change a setting that is not dynamic is refused; False: it was another one, or has no status."""
    setting = answer.request.setting
    if setting not in _NOT_DYNAMIC or answer.status is None:
        return False
    rule = "the setting is not dynamic"
    ledger.compare(FactKind.REFUSAL_STATUS, setting, str(answer.status), "412", rule)
    return True
