"""Compare the model with what brokers answered."""

from engine.verify.answers import answers_of
from engine.verify.compare import verify_answers
from engine.verify.report import Difference, FactKind, Fit, Ledger, Tally, VerifyReport

__all__ = [
    "Difference",
    "FactKind",
    "Fit",
    "Ledger",
    "Tally",
    "VerifyReport",
    "answers_of",
    "verify_answers",
]
