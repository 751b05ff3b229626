"""Which namespace an answer is about: its file's name says it, whole names before their last part."""

from __future__ import annotations

import pytest

from engine.admin.requests import Naming

KNOWN = [f"persistent://{space}/x" for space in ("acme/billing", "zeta/billing", "acme/shop", "acme/a.b")]


@pytest.mark.parametrize(
    ("file_name", "namespace"),
    [
        ("01-shop-bundles.json.gz", "acme/shop"),
        ("acme-billing-bundles.json", "acme/billing"),
        ("zeta_billing.json", "zeta/billing"),
        ("bundles-acme.billing.json", "acme/billing"),
        ("answers/zeta%2Fbilling-bundles.json", "zeta/billing"),
        ("acme-a.b-bundles.json", "acme/a.b"),
        ("billing-bundles.json", None),
        ("teta-zeta-billings-bundles.json", None),
    ],
)
def test_a_namespace_is_found_by_its_last_part_and_by_its_whole_name_where_that_is_shared(
    file_name: str, namespace: str | None
) -> None:
    assert Naming({}, KNOWN).namespace(file_name) == namespace
