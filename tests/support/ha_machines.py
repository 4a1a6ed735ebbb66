"""The machines of `deploy/ha/` on one machine: each has a loopback address of its own, so its files need no change.

Three nodes with etcd, Patroni and PostgreSQL; two app machines with HAProxy, PgBouncer, `serve` and `work`. A machine
can be killed (as by a power cut), frozen (as by a partition) and started again. Only processes that were started here
are ended.
"""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

import psutil

from memory_butler.store.embedded.account import Programs, bundled_programs, usable_programs

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy" / "ha"
# The virtual environment of `make test-ha`, which holds Patroni.
PATRONI = ROOT / ".venv-ha"
NODES = {"node1": "127.0.0.11", "node2": "127.0.0.12", "node3": "127.0.0.13"}
APPS = {"app1": "127.0.0.21", "app2": "127.0.0.22"}
SECRETS = ("PG_SUPERUSER", "PG_REPLICATION", "PG_REWIND", "DB_OWNER", "DB")
POSTGRES_MAJOR = 18
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
END_SECONDS = 15.0


@dataclass
class Machine:
    """One machine: its folder, its filled-in files and the programs that run on it."""

    name: str
    address: str
    folder: Path
    variables: Mapping[str, str]
    programs: Programs
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def path(self, name: str) -> Path:
        return self.folder / name

    def install(self, *names: str) -> None:
        """Fill in files of `deploy/ha/`, as its README says."""
        for name in names:
            text = Template((DEPLOY / name).read_text(encoding="utf-8")).substitute(self.variables)
            self.path(name).write_text(text, encoding="utf-8")
            self.path(name).chmod(0o600)
        self._own()

    def _own(self) -> None:
        account = self.programs.account
        if account:
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, account.uid, account.gid, follow_symlinks=False)

    def start(self, name: str, command: Sequence[str], *, ours: bool = False, **env: str) -> None:
        """Start a program in a session of its own; `ours`: as this account, else as the account of PostgreSQL."""
        account = None if ours else self.programs.account
        with self.path(f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": SYSTEM_PATH, "LANG": "C.UTF-8", **self.variables, **env},
                cwd=self.folder,
                start_new_session=True,
                user=account.uid if account else None,
                group=account.gid if account else None,
                extra_groups=[] if account else None,
            )

    def processes(self, *names: str) -> list[psutil.Process]:
        """The live processes of some programs, or of all; those of PostgreSQL belong to Patroni."""
        found: list[psutil.Process] = []
        for name in names or (*self.running, "postgres"):
            with suppress(psutil.Error):
                roots = [psutil.Process(self.running[name].pid)] if name in self.running else self._postmaster(name)
                for root in roots:
                    found += [root, *root.children(recursive=True)]
        return list(dict.fromkeys(found))

    def _postmaster(self, name: str) -> list[psutil.Process]:
        if name != "postgres":
            return []
        try:
            pid = int((self.folder / "postgres" / "postmaster.pid").read_text().split()[0])
            process = psutil.Process(pid)
            return [process] if process.name() == "postgres" and process.cwd() == str(self.folder / "postgres") else []
        except (OSError, ValueError, IndexError, psutil.Error):
            return []

    def signal(self, number: signal.Signals, *names: str) -> None:
        for process in self.processes(*names):
            with suppress(psutil.Error):
                process.send_signal(number)

    def kill(self, *names: str) -> None:
        """As a power cut does: everything at once, nothing is written any more."""
        self.signal(signal.SIGKILL, *names)
        self._reap([name for name in names or self.running if name in self.running])

    def freeze(self) -> None:
        """As a partition or a machine that hangs: connections stay open, and nobody answers."""
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def _reap(self, names: Sequence[str]) -> None:
        for name in names:
            self.running.pop(name).wait()

    def log(self, name: str, lines: int = 15) -> str:
        path = self.path(f"{name}.log")
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else ""


class Node(Machine):
    """A machine with etcd, Patroni and PostgreSQL."""

    def begin(self) -> None:
        self.install("etcd.yml", "patroni.yml", "accounts.sql")
        self.start_all()

    def start_all(self) -> None:
        self.start("etcd", ["etcd", "--config-file", str(self.path("etcd.yml"))])
        self.start_patroni()

    def start_patroni(self) -> None:
        python = str((PATRONI / "bin" / "python").resolve())
        program = [python, "-m", "patroni", str(self.path("patroni.yml"))]
        self.start("patroni", program, PYTHONPATH=self.variables["PATRONI"], PYTHONDONTWRITEBYTECODE="1")


class App(Machine):
    """A machine with HAProxy, PgBouncer, `serve` and `work`."""

    def begin(self) -> None:
        self.install("haproxy.cfg", "pgbouncer.ini", "userlist.txt", "config.toml")
        self.start("haproxy", ["haproxy", "-db", "-f", str(self.path("haproxy.cfg"))])
        self.start("pgbouncer", ["pgbouncer", str(self.path("pgbouncer.ini"))])

    def start_butler(self, **settings: str) -> None:
        env = {f"MEMORY_BUTLER_{name}": value for name, value in {"HOME": str(self.folder), **settings}.items()}
        program = [sys.executable, "-m", "memory_butler.adapters.cli.app"]
        self.start("serve", [*program, "serve", "--no-worker"], ours=True, **env)
        self.start("work", [*program, "work"], ours=True, **env)

    @property
    def url(self) -> str:
        return f"http://{self.address}:8150"

    @property
    def balanced_url(self) -> str:
        return f"http://{self.address}:8100"


def end_all(machines: Sequence[Machine]) -> None:
    """End everything, kindly first."""
    for machine in machines:
        machine.thaw()
        for process in machine.running.values():
            with suppress(OSError):
                process.terminate()
    psutil.wait_procs([process for machine in machines for process in machine.processes()], timeout=END_SECONDS)
    for machine in machines:
        machine.kill()


def make_machines(scratch: Path) -> tuple[list[Node], list[App]]:
    """The five machines, not started yet."""
    bundled = bundled_programs(POSTGRES_MAJOR)
    assert bundled, "the wheel of the embedded PostgreSQL is not installed"
    programs = usable_programs(bundled, scratch, scratch / "nowhere")
    patroni = scratch / "patroni"
    source = PATRONI / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    # Its virtual environment may be where the account of PostgreSQL cannot read.
    shutil.copytree(source, patroni)
    for path in (patroni, *patroni.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    common = {
        **{name.upper(): address for name, address in {**NODES, **APPS}.items()},
        "NETWORK": "127.0.0.0/8",
        "PG_BIN": str(programs.folder / "bin"),
        "PATRONI": str(patroni),
        **{f"{name}_PASSWORD": os.urandom(12).hex() for name in SECRETS},
    }
    nodes, apps = [], []
    for name, address in {**NODES, **APPS}.items():
        folder = scratch / name
        folder.mkdir(mode=0o700)
        own = {**common, "THIS": address, "NAME": name, "DATA": str(folder), "CONFIG": str(folder)}
        if name in NODES:
            nodes.append(Node(name, address, folder, own, programs))
        else:
            apps.append(App(name, address, folder, own, programs))
    return nodes, apps
