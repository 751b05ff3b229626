"""A word that a job does not know is refused before Spark starts, with what it may be meant to be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.errors import InputError
from engine.views.fleet.options import IN_RUN, OPTIONS, job_of, options_of
from pipeline.jobs import MODULES
from pipeline.jobs.everything import settings_by_job
from pipeline.jobs.options import check_names, check_options, known_to
from pipeline.storage import check_place, is_small, place_of


@pytest.mark.parametrize(
    ("job", "name", "hint"),
    [
        ("import", "colour", "it knows clusters, max-input, allow-empty, and spark.*"),
        ("import", "sprak.driver.memory", "did you mean spark.driver.memory?"),
        ("assign", "polices", "did you mean policies?"),
        ("assign", "subscriptionKeySharedUseConsistentHashing", "it knows policies, add, kill"),
        ("lint", "loadBalancerNamespaceBundleMaxTopic", "did you mean loadBalancerNamespaceBundleMaxTopics"),
        ("run", "policies", "did you mean assign.policies?"),
        ("run", "asign.add", "did you mean assign.add"),
        ("run", "kill", "or assign.kill?"),
        ("watch", "evry", "did you mean every?"),
        ("report", "x", "it knows top, and spark.*"),
    ],
)
def test_a_misspelt_option_is_refused_with_a_near_one(job: str, name: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        check_names(job, [name])
    assert f"{job} knows no option {name!r}" in str(caught.value)
    assert hint in str(caught.value)


@pytest.mark.parametrize("job", MODULES)
def test_everything_a_job_says_it_knows_is_let_through(job: str) -> None:
    check_names(job, [*known_to(job), "spark.driver.memory"])


def test_jobs_read_the_options_that_are_declared() -> None:
    assert {job for option in OPTIONS for job in option.jobs.split()} | {"scalable"} == MODULES.keys()
    for option in options_of("run"):
        assert option.name in (known_to(job_of(option)) if job_of(option) else known_to("run"))
    for job in IN_RUN:
        for name in known_to(job):
            assert settings_by_job({f"{job}.{name}": "x"})[job] == {name: "x"}


@pytest.mark.parametrize(
    ("job", "name", "value"),
    [("assign", "flag", "maybe"), ("run", "assign.flag", "maybe"), ("run", "pulsar", "1.0"), ("lint", "pulsar", "x"),
     ("keys", "modes", "best"), ("assign", "policies", "best"), ("report", "top", "-1"), ("watch", "every", "0"),
     ("lint", "load-manager", "mine"), ("bundles", "loadBalancerNamespaceBundleMaxTopics", "many"),
     ("run", "loadBalancerNamespaceBundleMaxTopics", "many"), ("import", "max-input", "much")],
)  # fmt: skip
def test_a_value_that_means_nothing_is_refused_before_anything_starts(job: str, name: str, value: str) -> None:
    with pytest.raises(InputError):
        check_options(job, {name: value})


@pytest.mark.parametrize("text", ["https://x/y", "ftp://x/y", "s3://", "s3a:///out", "hdfs://"])
def test_another_store_is_refused_and_not_taken_for_a_folder(text: str) -> None:
    with pytest.raises(InputError):
        check_place(text)
    with pytest.raises(InputError):
        place_of(text)


@pytest.mark.parametrize("text", ["s3a://bucket/out", "S3://bucket", "hdfs://name:8020/x", "gs://b/c", "abfss://c@a/x"])
def test_a_store_is_known_by_its_scheme(text: str) -> None:
    check_place(text)


def test_a_file_uri_is_a_path() -> None:
    assert place_of("file:///a%20b/c") == Path("/a b/c")
    assert place_of("a:b/c") == Path("a:b/c")


def test_small_is_what_few_bytes_in_few_files_say(tmp_path: Path) -> None:
    """Also through links, since they lead to what is read."""
    (tmp_path / "in" / "below").mkdir(parents=True)
    answer = tmp_path / "in" / "below" / "topics.json"
    answer.write_text("{}")
    assert is_small(str(tmp_path / "in")) and is_small(f"file://{answer}")
    os.truncate(answer, 17 * 1024**2)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "there").symlink_to(tmp_path / "in")
    (tmp_path / "links" / "back").symlink_to(tmp_path / "links")
    assert not any(is_small(str(place)) for place in (tmp_path / "in", answer, tmp_path / "links"))
    assert not is_small("s3a://bucket/in")
