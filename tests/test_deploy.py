"""What is in deploy/ fits the program: the compose file is whole, and every setting and command it names exists."""

import re
from configparser import ConfigParser
from pathlib import Path
from string import Template
from typing import Any

import pytest
import yaml
from psycopg.conninfo import conninfo_to_dict
from typer.main import get_command

from memory_butler.adapters.cli.app import app
from memory_butler.settings import ENV_PREFIX, load_settings

ROOT = Path(__file__).parents[1]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))
OURS = [name for name, service in COMPOSE["services"].items() if service["image"] == "memory-butler"]


@pytest.mark.parametrize("name", OURS)
def test_every_setting_it_names_exists_and_is_valid(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The environment of each service is read as the program reads it; callers must say who they are."""
    given = COMPOSE["services"][name]["environment"]
    assert all(key.startswith(ENV_PREFIX) for key in given)
    for key, value in given.items():
        monkeypatch.setenv(key, re.sub(r"\$\{[^}]*\}", "secret", str(value)))
    settings = load_settings(home=tmp_path)
    assert settings.service.auth == "required"
    assert settings.database_url and settings.owner_url
    # A variable that is no setting would be passed over in silence.
    known = settings.model_dump()
    for key in given:
        inside: Any = known
        for part in key.removeprefix(ENV_PREFIX).lower().split("__"):
            assert part in inside, key
            inside = inside[part]


def test_every_command_it_runs_exists() -> None:
    """With its options."""
    commands = get_command(app).commands  # type: ignore[attr-defined]
    ran = {name: COMPOSE["services"][name]["command"] for name in OURS}
    assert {line[0] for line in ran.values()} == {"serve", "work"}
    for command, *options in ran.values():
        known = {option for parameter in commands[command].params for option in parameter.opts}
        assert set(options) <= known


def test_everything_it_refers_to_is_there() -> None:
    """Volumes, configs, services that others wait for, and the files that go into the image."""
    for service in COMPOSE["services"].values():
        named = {volume.split(":")[0] for volume in service.get("volumes", [])}
        assert named <= set(COMPOSE["volumes"])
        assert {config["source"] for config in service.get("configs", [])} <= set(COMPOSE["configs"])
        assert set(service.get("depends_on", {})) <= set(COMPOSE["services"])
    for name in OURS:
        built = COMPOSE["services"][name]["build"]
        assert (ROOT / "deploy" / built["context"]).resolve() == ROOT


def test_the_image_holds_files_that_exist_and_are_not_ignored() -> None:
    """Each file the Dockerfile copies from the repository exists, and .dockerignore lets it through."""
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    copied = {file for line in re.findall(r"^COPY (?!--from)(.+) \S+$", image, re.MULTILINE) for file in line.split()}
    allowed = {
        line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] == "!"
    }
    assert copied and copied <= allowed
    assert all((ROOT / file).exists() for file in copied)
    assert re.search(r"^USER (?!root)\w+$", image, re.MULTILINE)


def test_only_this_machine_reaches_its_port() -> None:
    """What ends TLS goes in front of it; the database has no port outside at all."""
    assert "ports" not in COMPOSE["services"]["database"]
    assert all(port.startswith("127.0.0.1:") for name in OURS for port in COMPOSE["services"][name].get("ports", []))
    settings = load_settings(home=ROOT)
    assert COMPOSE["services"]["server"]["ports"] == [f"127.0.0.1:{settings.port}:{settings.port}"]


def test_every_account_of_the_database_has_its_own_password() -> None:
    """Superuser, owner of the schema and program differ, and the program does not get the superuser's."""
    text = (ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8")
    database = COMPOSE["services"]["database"]["environment"]["POSTGRES_PASSWORD"]
    variables = {
        "superuser": re.findall(r"\$\{(\w+)", database),
        "owner": re.findall(r"memory_owner:\$\{(\w+)", text),
        "program": re.findall(r"memory_butler:\$\{(\w+)", text),
    }
    names = [set(found) for found in variables.values()]
    assert all(len(one) == 1 for one in names)
    assert len(set.union(*names)) == 3
    for name in OURS:
        assert variables["superuser"][0] not in str(COMPOSE["services"][name])


HA = ROOT / "deploy" / "ha"
FILLED = ("etcd.yml", "patroni.yml", "haproxy.cfg", "pgbouncer.ini", "userlist.txt", "config.toml")


def _variables() -> dict[str, str]:
    lines = (HA / "cluster.env").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def _filled(name: str) -> str:
    return Template((HA / name).read_text(encoding="utf-8")).substitute(_variables())


@pytest.mark.parametrize("name", FILLED)
def test_every_variable_of_the_cluster_is_in_its_one_file_to_edit(name: str) -> None:
    """`make test-ha` fills in and runs the same files."""
    assert "$" not in _filled(name)
    assert name in (HA / "README.md").read_text(encoding="utf-8")


def test_patroni_and_etcd_files_hold_what_their_programs_demand() -> None:
    """A lock of Patroni must outlive its retries, and without the gateway it cannot talk to etcd."""
    chosen = yaml.safe_load(_filled("patroni.yml"))["bootstrap"]["dcs"]
    assert chosen["loop_wait"] + 2 * chosen["retry_timeout"] <= chosen["ttl"]
    assert chosen["synchronous_mode"] == "quorum" and chosen["synchronous_mode_strict"] is True
    assert yaml.safe_load(_filled("etcd.yml"))["enable-grpc-gateway"] is True


def test_the_settings_of_the_cluster_are_valid_and_name_every_node(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(_filled("config.toml"), encoding="utf-8")
    settings = load_settings(home=tmp_path)
    assert settings.service.auth == "required" and settings.owner_url and settings.direct_url
    pools = ConfigParser()
    pools.read_string(_filled("pgbouncer.ini"))
    named = {conninfo_to_dict(url.get_secret_value())["dbname"] for url in settings.database.replicas}
    assert named == set(pools["databases"]) - {"memory"}


@pytest.mark.parametrize("unit", sorted(HA.glob("*.service"), key=str), ids=lambda unit: unit.stem)
def test_every_command_of_a_unit_exists(unit: Path) -> None:
    parsed = ConfigParser(strict=False, interpolation=None)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read_string(unit.read_text(encoding="utf-8"))
    program, *arguments = parsed["Service"]["ExecStart"].split()
    if Path(program).name == "memory-butler":
        commands = get_command(app).commands  # type: ignore[attr-defined]
        known = {option for parameter in commands[arguments[0]].params for option in parameter.opts}
        assert set(arguments[1:]) <= known
    else:
        assert (Path(program).name, arguments) == ("patroni", ["/etc/memory-butler/patroni.yml"])
