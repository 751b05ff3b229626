"""The examples of ``docs/deploy``, as far as they can be checked without a cluster."""

from __future__ import annotations

import json
import runpy
import shlex
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest

from engine.errors import InputError, RingsideError
from engine.views.fleet.conditions import conditions_of
from pipeline.jobs.options import check_options
from tui.cli.fleet.command import fleet_command

DEPLOY = Path(__file__).parents[2] / "docs" / "deploy"


def _read(name: str) -> Any:
    return import_module("yaml").safe_load((DEPLOY / name).read_text(encoding="utf-8"))


def _check_fleet_command(arguments: list[str]) -> dict[str, Any]:
    """What the real parser makes of the words after ``ringside``; raises where it would refuse them."""
    assert arguments[0] == "fleet"
    command = fleet_command.commands[arguments[1]]
    parsed = command.make_context(arguments[1], arguments[2:]).params
    conditions_of(arguments[1], parsed["fail_on"])
    check_options(arguments[1], dict(text.split("=", 1) for text in parsed["settings"]))
    return parsed


def _check_confined(security: dict[str, Any]) -> None:
    assert security["readOnlyRootFilesystem"] is True
    assert security["allowPrivilegeEscalation"] is False
    assert security["capabilities"] == {"drop": ["ALL"]}


def _check_mounts(container: dict[str, Any], volumes: list[dict[str, Any]]) -> None:
    mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
    assert mounts.keys() == {volume["name"] for volume in volumes}
    assert mounts["dumps"]["readOnly"] is True
    assert mounts["tmp"]["mountPath"] == "/tmp"


def test_cron_job() -> None:
    document = _read("cronjob.yaml")
    assert (document["apiVersion"], document["kind"]) == ("batch/v1", "CronJob")
    assert len(document["spec"]["schedule"].split()) == 5
    assert document["spec"]["concurrencyPolicy"] == "Forbid"
    pod = document["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert pod["restartPolicy"] == "Never"
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    (container,) = pod["containers"]
    _check_confined(container["securityContext"])
    _check_mounts(container, pod["volumes"])
    parsed = _check_fleet_command(container["args"])
    paths = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert parsed["source"] in paths
    assert str(Path(parsed["target"]).parent) in paths


def test_a_wrong_command_line_would_be_noticed() -> None:
    with pytest.raises(click.UsageError):
        _check_fleet_command(["fleet", "run", "/dumps", "/results", "--no-such-option"])
    with pytest.raises(InputError):
        _check_fleet_command(["fleet", "run", "/dumps", "/results", "--fail-on=idel>0"])


def test_spark_application() -> None:
    document = _read("sparkapplication.yaml")
    assert (document["apiVersion"], document["kind"]) == ("sparkoperator.k8s.io/v1beta2", "SparkApplication")
    spec = document["spec"]
    assert (spec["type"], spec["mode"]) == ("Python", "cluster")
    for role in ("driver", "executor"):
        assert spec[role]["securityContext"]["runAsNonRoot"] is True
        assert spec[role]["securityContext"]["runAsUser"] > 0
        _check_confined(spec[role]["securityContext"])
        _check_mounts(spec[role], spec["volumes"])
    _check_fleet_command(spec["arguments"])


def test_the_script_for_spark_submit_begins_the_job_of_the_spark_application(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[tuple[object, ...]] = []

    def begin(*job: object) -> None:
        begun.append(job)
        raise RingsideError("without Spark")

    monkeypatch.setattr("tui.cli.fleet.command._done", begin)
    spec = _read("sparkapplication.yaml")["spec"]
    script = DEPLOY / Path(spec["mainApplicationFile"]).name
    monkeypatch.setattr(sys, "argv", [script.name, *spec["arguments"]])
    with pytest.raises(SystemExit) as left:
        runpy.run_path(str(script), run_name="__main__")
    assert left.value.code == 1
    assert begun == [("run", "/dumps", "/results/fleet", None, {"keep": "30"})]


def test_container_file() -> None:
    lines = (DEPLOY / "Containerfile").read_text(encoding="utf-8").splitlines()
    words = {line.partition(" ")[0]: line.partition(" ")[2] for line in lines if line and line[0].isupper()}
    user, _, group = words["USER"].partition(":")
    assert int(user) > 0
    assert int(group) > 0
    assert json.loads(words["ENTRYPOINT"]) == ["ringside"]
    assert "/opt/ringside/fleet_job.py" in shlex.split(words["COPY"])
