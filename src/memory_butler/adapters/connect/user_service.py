"""A service of the user that keeps a server running: a systemd unit, a launchd agent or a Windows task.

It starts when the user logs in, and again if it fails. Everything is in the user's own folders; no administrator is
needed.
"""

import os
import plistlib
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from memory_butler.adapters.connect.files import Change, text_of

NAME = "memory-butler"
LABEL = "io.github.memory-butler"
TASK = "Memory Butler"
TITLE = "Memory Butler: long-term memory for AI agents"
COMMAND_SECONDS = 60


@dataclass(frozen=True, slots=True)
class UserService:
    """The file that describes the service, and the commands that switch it on and off."""

    path: Path
    text: str
    on: tuple[tuple[str, ...], ...]
    off: tuple[tuple[str, ...], ...]

    @property
    def is_installed(self) -> bool:
        return self.path.exists()

    def installing(self) -> Change:
        return Change(self.path, text_of(self.path), self.text, 0o600, is_removal=False, had_us=True)

    def removing(self) -> Change:
        return Change(self.path, text_of(self.path), None, 0o600, is_removal=True, had_us=True)


def user_service(command: Sequence[str], home: Path, platform: str = sys.platform) -> UserService:
    """The service of this platform. `command` is the absolute command line of the server."""
    if platform == "darwin":
        return _launchd(command, home)
    if platform == "win32":
        return _windows(command, home)
    return _systemd(command)


def switch(commands: Sequence[Sequence[str]]) -> str | None:
    """Run the commands. The reason if one fails, else None."""
    for command in commands:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as problem:
            return f"{command[0]}: {problem}"
        if done.returncode:
            return f"{' '.join(command)}: {(done.stderr or done.stdout).strip() or done.returncode}"
    return None


def _systemd(command: Sequence[str]) -> UserService:
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd" / "user"
    unit = f"{NAME}.service"
    text = f"""\
[Unit]
Description={TITLE}

[Service]
ExecStart={" ".join(map(_quoted, command))}
Restart=on-failure
RestartSec=5
TimeoutStopSec=60

[Install]
WantedBy=default.target
"""
    systemctl = ("systemctl", "--user")
    return UserService(
        folder / unit,
        text,
        on=((*systemctl, "daemon-reload"), (*systemctl, "enable", "--now", unit), (*systemctl, "restart", unit)),
        off=((*systemctl, "disable", "--now", unit),),
    )


def _quoted(word: str) -> str:
    """A word of a command line in a unit, where % and $ have a meaning."""
    for mark, written in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", "$$")):
        word = word.replace(mark, written)
    return f'"{word}"'


def _launchd(command: Sequence[str], home: Path) -> UserService:
    path = Path.home() / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    log = str(home / "logs" / "service.log")
    value = {
        "Label": LABEL,
        "ProgramArguments": list(command),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ProcessType": "Background",
        "StandardOutPath": log,
        "StandardErrorPath": log,
    }
    return UserService(
        path,
        plistlib.dumps(value).decode(),
        on=(("launchctl", "unload", str(path)), ("launchctl", "load", "-w", str(path))),
        off=(("launchctl", "unload", "-w", str(path)),),
    )


def _windows(command: Sequence[str], home: Path) -> UserService:
    path = home / "memory-butler-task.xml"
    arguments = escape(subprocess.list2cmdline(command[1:]))
    text = f"""\
<?xml version="1.0"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo><Description>{TITLE}</Description></RegistrationInfo>
  <Triggers><LogonTrigger><Enabled>true</Enabled></LogonTrigger></Triggers>
  <Settings>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure><Interval>PT1M</Interval><Count>10</Count></RestartOnFailure>
  </Settings>
  <Actions>
    <Exec><Command>{escape(command[0])}</Command><Arguments>{arguments}</Arguments></Exec>
  </Actions>
</Task>
"""
    schtasks = ("schtasks",)
    return UserService(
        path,
        text,
        on=((*schtasks, "/Create", "/F", "/TN", TASK, "/XML", str(path)), (*schtasks, "/Run", "/TN", TASK)),
        off=((*schtasks, "/End", "/TN", TASK), (*schtasks, "/Delete", "/F", "/TN", TASK)),
    )
