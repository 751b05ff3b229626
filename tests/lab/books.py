"""The books of all namespaces of a recording: which one an answer belongs in, and who else may change the lists."""

from __future__ import annotations

from engine.admin.naming import Naming
from tests.lab.bundles.namespaces import NamespaceBook
from tests.lab.recording import Answer, Recording


class Books:
    """One book per namespace, made when the namespace is first met.

    ``automatic``: the brokers split on their own as well, by what the scenario tells or sets.
    """

    def __init__(self, recording: Recording, naming: Naming) -> None:
        self._recording = recording
        self._naming = naming
        self.by_namespace: dict[str, NamespaceBook] = {}
        self.automatic = bool(recording.automatic_splits) or (
            recording.named_settings.get("loadBalancerAutoBundleSplitEnabled", "").lower() == "true"
        )

    def of(self, namespace: str) -> NamespaceBook:
        """The book of a namespace."""
        made_with = self._recording.bundle_count if namespace == self._recording.namespace else None
        return self.by_namespace.setdefault(namespace, NamespaceBook(namespace, made_with=made_with))

    def of_list(self, answer: Answer) -> NamespaceBook:
        """The book that a recorded bundle list belongs in; one of its own where nothing tells what happened before."""
        namespace = answer.request.namespace
        if not namespace and not self._recording.has_scenario:
            # Without steps nothing is known about what happened between two files.
            return NamespaceBook(self._naming.namespace(answer.file) or "")
        return self.of(namespace)
