"""Settings: which of them a release knows, which can be changed while it runs, and which are in force."""

from __future__ import annotations

from typing import Final

from engine.admin.facts import RuntimeConfiguration
from engine.config import FLAG
from engine.verify.report import Ledger, Rules
from tests.lab.facts import StepFact
from tests.lab.scenario import Answer, Recording

# ``ServiceConfiguration`` marks them as not dynamic; a release that does not know one refuses it in the same way.
_NOT_DYNAMIC: Final = (FLAG, "activeConsumerFailoverDelayTimeMillis")


def compare_named_settings(recording: Recording, rules: Rules, ledger: Ledger) -> None:
    """Compare what a scenario says of the flag: whether its release knows it, and the value in force."""
    behaviour = rules.behaviour
    ledger.moment = "settings"
    if recording.flag_known is not None:
        known = behaviour.knows_failover_consistent_hashing
        rule = f"PIP-392 and Pulsar {behaviour.label}"
        ledger.compare(StepFact.FLAG_KNOWN, FLAG, recording.flag_known, known, rule)
    if recording.flag_in_configuration is not None:
        modelled = rules.settings.text_of(FLAG) if behaviour.knows_failover_consistent_hashing else "no such"
        recorded = recording.flag_in_configuration[0] or "no such"
        ledger.compare(StepFact.SETTING_IN_FORCE, FLAG, recorded, modelled, f"Pulsar {behaviour.label}")


def compare_configuration(recording: Recording, ledger: Ledger, configuration: RuntimeConfiguration) -> None:
    """Compare that a run-time configuration has the values that the scenario says it set."""
    for setting in configuration.named:
        if setting in recording.named_settings:
            sides = configuration.settings.text_of(setting), recording.settings.text_of(setting)
            ledger.compare(StepFact.SETTING_IN_FORCE, setting, *sides, "broker_settings")


def compare_change(answer: Answer, ledger: Ledger) -> bool:
    """Compare that a request to change a setting that is not dynamic was refused; False for any other request."""
    setting = answer.request.setting
    if setting not in _NOT_DYNAMIC or answer.status is None:
        return False
    ledger.compare(StepFact.REFUSAL_STATUS, setting, str(answer.status), "412", "the setting is not dynamic")
    return True
