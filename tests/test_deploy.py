"""What is in deploy/ fits the program: the compose file is whole, and every setting and command it names exists."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
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
