"""The service of the user: what its file says on each system, and that it comes and goes by one command."""

import os
import plistlib
import shutil
import stat
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from memory_butler.adapters.cli.app import app
from memory_butler.adapters.connect.user_service import user_service

COMMAND = ["/opt/my tools/memory-butler", "--home", '/data/50% "mine"', "serve", "--port", "9001"]


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder, and a systemctl that writes down what it is asked."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MEMORY_BUTLER_HOME", str(tmp_path / "a store"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    program = tmp_path / "bin" / "systemctl"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> "{tmp_path}/asked"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def test_a_systemd_unit_is_valid_and_keeps_every_word(account: Path) -> None:
    service = user_service(COMMAND, account, "linux")
    assert service.path == account / ".config" / "systemd" / "user" / "memory-butler.service"
    lines = service.text.splitlines()
    assert 'ExecStart="/opt/my tools/memory-butler" "--home" "/data/50%% \\"mine\\"" "serve" "--port" "9001"' in lines
    assert "Restart=on-failure" in lines and "WantedBy=default.target" in lines
    if verify := shutil.which("systemd-analyze"):
        unit = account / service.path.name
        unit.write_text(user_service(["/bin/true", "50% of $HOME"], account, "linux").text)
        done = subprocess.run([verify, "--user", "verify", str(unit)], capture_output=True, text=True, check=False)
        assert unit.name not in done.stderr, done.stderr


def test_a_launchd_agent_has_the_command_as_a_list(account: Path) -> None:
    service = user_service(COMMAND, account, "darwin")
    assert service.path.parent == account / "Library" / "LaunchAgents"
    value = plistlib.loads(service.text.encode())
    assert value["ProgramArguments"] == COMMAND
    assert value["RunAtLoad"] is True and value["KeepAlive"] == {"SuccessfulExit": False}
    assert f"{value['Label']}.plist" == service.path.name


def test_a_windows_task_starts_at_login_and_is_not_stopped(account: Path) -> None:
    service = user_service(COMMAND, account, "win32")
    space = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"
    task = ElementTree.fromstring(service.text)
    assert task.findtext(f".//{space}Command") == COMMAND[0]
    assert task.findtext(f".//{space}Arguments") == subprocess.list2cmdline(COMMAND[1:])
    assert task.find(f".//{space}LogonTrigger") is not None
    assert task.findtext(f".//{space}ExecutionTimeLimit") == "PT0S"


def test_a_service_comes_and_goes_by_one_command(account: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the home and the port that are in force; status names it."""
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("MEMORY_BUTLER_PORT", "9001")
    runner = CliRunner()
    seen = runner.invoke(app, ["connect", "service", "--dry-run"])
    assert "ExecStart=" in seen.output and not (account / "asked").exists()
    done = runner.invoke(app, ["connect", "service", "--yes"])
    assert done.exit_code == 0 and "runs now" in done.output
    unit = account / ".config" / "systemd" / "user" / "memory-butler.service"
    assert '"--home" "' in unit.read_text() and '"serve" "--port" "9001"' in unit.read_text()
    assert stat.S_IMODE(unit.stat().st_mode) == 0o600
    assert "--user enable --now memory-butler.service" in (account / "asked").read_text()
    assert "installed" in runner.invoke(app, ["connect", "status"]).output.splitlines()[-1]
    again = runner.invoke(app, ["connect", "service", "--yes"])
    assert "installed already" in again.output
    gone = runner.invoke(app, ["disconnect", "service", "--yes"])
    assert gone.exit_code == 0 and not unit.exists()
    assert "--user disable --now memory-butler.service" in (account / "asked").read_text()


def test_a_system_that_refuses_is_told_with_the_command_to_run(account: Path) -> None:
    (account / "bin" / "systemctl").write_text("#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n")
    done = CliRunner().invoke(app, ["connect", "service", "--yes"])
    assert done.exit_code == 0
    assert "Failed to connect to bus" in done.output and "systemctl --user enable --now" in done.output
