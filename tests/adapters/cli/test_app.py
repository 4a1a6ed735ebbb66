"""The command line: as a real program against a home of its own, and, where its answers are what matters, from its
first line to its exit code inside this process."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from tests.adapters.conftest import Run

from memory_butler.adapters.cli.app import ALIASES
from memory_butler.store.embedded.server import EmbeddedPostgres

SOURCE = Path(__file__).parents[3] / "src"


def environment(home: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_BUTLER_")}
    return {**kept, "PYTHONPATH": str(SOURCE), "MEMORY_BUTLER_HOME": str(home), "PYTHONUTF8": "1", **more}


@pytest.fixture(scope="module")
def cli_home(new_home: Callable[[], Path]) -> Iterator[Path]:
    folder = new_home()
    EmbeddedPostgres(folder, options={"fsync": "off"}).ensure_running()
    yield folder
    EmbeddedPostgres(folder).stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def process(cli_home: Path) -> Run:
    """Run `memory-butler` with these arguments; `code` is the exit code that is expected."""

    def run(
        *arguments: str, code: int = 0, given: str | bytes = b"", **more: str
    ) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [sys.executable, "-m", "memory_butler.adapters.cli.app", *arguments],
            input=given.encode() if isinstance(given, str) else given,
            capture_output=True,
            env=environment(cli_home, **more),
            timeout=120,
            check=False,
        )
        said = subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())
        assert said.returncode == code, said.stdout + said.stderr
        assert "Traceback" not in said.stdout + said.stderr
        return said

    return run


@pytest.fixture
def cli(inside: Run, home: Path, tenant: str) -> Run:
    """The same inside this process, on the test's tenant: much quicker."""
    return partial(inside, environment(home, MEMORY_BUTLER_TENANT=tenant))


@pytest.fixture
def own(inside: Run, cli_home: Path) -> Run:
    """Inside this process too, on the home of its own."""

    def run(
        *arguments: str, code: int = 0, given: str | bytes = b"", **more: str
    ) -> "subprocess.CompletedProcess[str]":
        return inside(environment(cli_home, **more), *arguments, code=code, given=given)

    return run


@pytest.fixture
def ask(cli: Run) -> Callable[..., Any]:
    """Run a command with --json and return what it printed."""

    def run(*arguments: str, code: int = 0, **more: str) -> Any:
        return json.loads(cli(*arguments, "--json", code=code, **more).stdout)

    return run


def readable(text: str) -> bool:
    return "\x1b" not in text and all(line == line.rstrip() for line in text.splitlines())


def test_heavy_libraries_are_not_loaded_to_say_the_version_or_help(cli_home: Path) -> None:
    """`--version` and `--help` answer without the model, the database driver or the MCP library."""
    for option in ("--version", "--help"):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "memory_butler.adapters.cli.app", option],
            capture_output=True,
            text=True,
            env=environment(cli_home),
            check=True,
        )
        assert "memory-butler" in done.stdout
        loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert "typer" in loaded
        assert not loaded & {"onnxruntime", "numpy", "psycopg", "fastmcp", "pydantic_settings", "uvicorn"}


def test_a_search_loads_neither_migrations_nor_the_servers(process: Run, cli_home: Path) -> None:
    """A command on a store that is up to date does not pay for migrations, for MCP, or for what it does not use."""
    process("stats")
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "memory_butler.adapters.cli.app", "search", "anything"],
        capture_output=True,
        text=True,
        env=environment(cli_home),
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "onnxruntime" in loaded
    assert not loaded & {"memory_butler.store.migrations.revisions", "fastmcp", "mcp", "fastapi", "uvicorn"}
    assert not loaded & {"memory_butler.english.extraction.episode", "memory_butler.ai.cross_encoder"}


def test_after_an_upgrade_the_first_search_updates_the_index(own: Run, cli_home: Path) -> None:
    """No worker runs for somebody who uses the commands alone: an index of an older version is updated at once."""
    own("remember", "fact", "user", "allergic_to", "penicillin")
    with psycopg.connect(EmbeddedPostgres(cli_home).dsn("postgres", "memory"), autocommit=True) as connection:
        for table in ("passages", "profiles"):
            connection.execute(sql.SQL("DELETE FROM memory.{}").format(sql.Identifier(table)))
    found = json.loads(own("search", "which medicine is dangerous for me?", "--mode", "semantic", "--json").stdout)
    assert [entry["content"] for entry in found["results"]] == ["penicillin"]


def test_a_fact_is_stored_found_superseded_and_shown(cli: Run, ask: Callable[..., Any]) -> None:
    """A person's whole round: store, store again, replace, find, look at the line of supersession."""
    first = ask("remember", "fact", "Ben", "Favorite Color", "blue", "--tag", "taste", "--importance", "7")
    assert first["outcome"] == "created"
    assert ask("remember", "fact", "ben", "favorite_color", "blue")["outcome"] == "confirmed"
    said = cli("remember", "fact", "ben", "favorite-color", "green").stdout
    second = re.search(r"fact:\w+", said)
    assert second and f"it supersedes {first['ref']}" in said
    found = ask("search", "which colour does Ben like?", "--type", "facts", "--limit", "1")
    assert [entry["content"] for entry in found["results"]] == ["green"]
    assert {"score", "parts", "ref", "tier", "validity", "scope", "created_at"} <= set(found["results"][0])
    shown = ask("get", second[0])
    assert [fact["content"] for fact in shown["chain"]] == ["blue", "green"]
    assert ask("get", "fact", second[0].removeprefix("fact:"))["memory"]["id"] == shown["memory"]["id"]
    table = cli("get", second[0]).stdout
    assert "Supersession" in table and "superseded" in table and readable(table)


def test_options_of_a_fact_reach_the_store(ask: Callable[..., Any]) -> None:
    """Importance, permanence, scope, tags and time are kept as given."""
    done = ask(
        *("remember", "fact", "Ben", "weight", "80 kg", "--permanence", "volatile", "--scope", "health"),
        *("--tag", "body", "--tag", "scale", "--valid-at", "2026-03-01T09:30:00+01:00", "--importance", "3"),
    )
    kept = ask("get", done["ref"])["memory"]
    assert (kept["permanence"], kept["scope"], kept["tags"]) == ("volatile", "health", ["body", "scale"])
    assert (kept["valid_at"], kept["importance"]) == ("2026-03-01T08:30:00+00:00", 3)


def test_tables_are_plain_text_without_padding(cli: Run) -> None:
    """Piped output has no escape codes and a line per memory, however long it is."""
    cli("remember", "rule", "Water the " + "very " * 40 + "tall plants on Mondays", "--tag", "plants")
    cli("remember", "episode", "Watered the plants " * 20, "--session", "s1")
    for command in (("search", "watering plants"), ("recall", "plants"), ("stats",)):
        said = cli(*command)
        assert readable(said.stdout) and not said.stderr
        assert "plants" in said.stdout or command == ("stats",)


def test_recall_leaves_episodes_out(ask: Callable[..., Any]) -> None:
    """A topic brings facts and rules; a search of the same words brings the episode too."""
    episode = ask("remember", "episode", "Zanzibar was mentioned by the gardener.", "--butler", "garden")
    rule = ask("remember", "rule", "Mention Zanzibar to the gardener")
    recalled = {entry["ref"] for entry in ask("recall", "Zanzibar gardener")["results"]}
    searched = {entry["ref"] for entry in ask("search", "Zanzibar gardener")["results"]}
    assert rule["ref"] in recalled and episode["ref"] not in recalled
    assert {rule["ref"], episode["ref"]} <= searched


def test_context_prints_the_block_and_nothing_else_on_stdout(cli: Run, ask: Callable[..., Any]) -> None:
    """The block can go straight into a prompt; what it cost is said on stderr, or in JSON."""
    ask("remember", "fact", "Ben", "lives in", "Ghent")
    said = cli("context", "Where does Ben live?", "--butler", "garden", "--budget", "60", "--receipt")
    assert said.stdout.startswith("# What I remember\n") and "Ghent" in said.stdout
    assert "of 60 tokens used" in said.stderr and readable(said.stderr)
    built = ask("context", "Where does Ben live?", "--butler", "garden", "--budget", "60")
    assert built["context"] == said.stdout
    assert built["receipt"]["used_tokens"] <= built["receipt"]["token_budget"] == 60
    assert cli("context", "Where does Ben live?", "--budget", "0").stdout == ""


def test_feedback_changes_a_rule(ask: Callable[..., Any]) -> None:
    """Helpful and harmful marks count, with the reason kept; enough harm makes a warning."""
    rule = ask("remember", "rule", "Send newsletters at midnight")["ref"]
    assert ask("confirm", rule)["outcome"] == "confirmed"
    assert ask("helpful", rule)["outcome"] == "marked_helpful"
    for _ in range(3):
        assert ask("harmful", rule, "--reason", "people unsubscribed")["outcome"] == "marked_harmful"
    kept = ask("get", rule)["memory"]
    assert (kept["maturity"], kept["success_count"], kept["harmful_count"]) == ("anti_pattern", 1, 3)
    assert "people unsubscribed" in kept["warning"]


def test_a_forgotten_memory_is_not_found_again(ask: Callable[..., Any]) -> None:
    """Forgetting takes a memory out of search and keeps it on record."""
    fact = ask("remember", "fact", "Ben", "nickname", "Quokka")["ref"]
    assert ask("search", "Quokka", "--mode", "keyword")["count"] == 1
    assert ask("forget", fact, "--reason", "it was a joke")["outcome"] == "retracted"
    assert ask("search", "Quokka", "--mode", "keyword")["count"] == 0
    assert ask("get", fact)["memory"]["validity"] == "retracted"


def test_a_key_makes_a_repeat_harmless(ask: Callable[..., Any]) -> None:
    """The same key returns the first answer; with other content it is a conflict."""
    first = ask("remember", "rule", "Fold the map first", "--key", "k-1")
    assert ask("remember", "rule", "Fold the map first", "--key", "k-1") == first
    refused = ask("remember", "rule", "Burn the map first", "--key", "k-1", code=1)
    assert (refused["error"], refused["retryable"]) == ("conflict", False)


def test_a_dash_reads_stdin(process: Run, own: Run) -> None:
    """Long text can be piped in; what is not UTF-8 is refused."""
    process("remember", "episode", "-", given="Línea uno\nsecond line about marmalade")
    said = own("search", "marmalade", "--type", "episode", "--limit", "1", "--json").stdout
    found = json.loads(said)["results"][0]
    assert found["content"] == "Línea uno\nsecond line about marmalade"
    assert "second line about marmalade" in own("get", found["ref"]).stdout
    assert "not UTF-8" in process("remember", "rule", "-", given=b"\xff\xfe\x00", code=1).stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("get", "fact:zzzz"), "There is no fact:zzzz"),
        (("get", "fact:zzzz"), "Use `memory-butler search`"),
        (("get", "k3f7"), "There is no memory k3f7"),
        (("get", "fact"), "The reference of the fact is missing. → Pass fact:<ref>"),
        (("search", "x", "--limit", "0"), "from 1 to 100"),
        (("remember", "fact", "a", "b", "c", "--valid-at", "soon"), "is not a time"),
    ],
)
def test_an_error_is_one_block_on_stderr(cli: Run, arguments: tuple[str, ...], words: str) -> None:
    """Exit code 1, what went wrong, how to recover, and nothing on stdout."""
    said = cli(*arguments, code=1)
    block = " ".join(said.stderr.split())
    assert said.stdout == "" and words in block and block.startswith("✗") and " → " in block


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (("search", "x", "--mode", "psychic"), "validation_error", "must be one of: semantic, keyword, hybrid"),
        (("remember", "fact", "a", "b", "c", "--valid-at", "soon"), "validation_error", "is not a time"),
        (("get", "rule:zzzz"), "not_found", "There is no rule:zzzz"),
    ],
)
def test_with_json_an_error_is_json_on_stdout(cli: Run, arguments: tuple[str, ...], kind: str, words: str) -> None:
    """A program that reads stdout gets the error there, in the shape every door gives it."""
    said = cli(*arguments, "--json", code=1)
    error = json.loads(said.stdout)
    assert set(error) == {"error", "message", "retryable", "recovery"} and said.stderr == ""
    assert error["error"] == kind and words in error["message"]


@pytest.mark.parametrize("arguments", [("search",), ("search", "x", "--limit", "many"), ("fly",), ("get", "--nope")])
def test_a_command_line_that_is_not_understood_exits_with_2(cli: Run, arguments: tuple[str, ...]) -> None:
    """Usage errors are told apart from failures."""
    assert "Usage: memory-butler" in cli(*arguments, code=2).stderr


def test_a_database_that_is_away_is_said_so(own: Run) -> None:
    """No hang, no traceback, no password: the class of the error and what to do."""
    url = "postgresql://nobody:s3cret@127.0.0.1:1/none"
    said = own("stats", "--json", code=1, MEMORY_BUTLER_DATABASE_URL=url)
    assert json.loads(said.stdout)["error"] == "target_unavailable"
    assert "s3cret" not in said.stdout + said.stderr


def test_wrong_settings_are_named(own: Run) -> None:
    """A setting that is not valid is an error that names it."""
    assert "port" in own("stats", code=1, MEMORY_BUTLER_PORT="high").stderr


def test_a_home_that_cannot_be_used_is_said_so(process: Run, tmp_path: Path) -> None:
    """A home that is a file is an error with a way out."""
    (tmp_path / "file").write_text("")
    said = " ".join(process("--home", str(tmp_path / "file"), "stats", code=1).stderr.split())
    assert "cannot be used" in said and "MEMORY_BUTLER_HOME" in said


def test_a_mistyped_home_creates_no_store(process: Run, tmp_path: Path) -> None:
    """Without a terminal there is nobody to ask: the error says how to go on, and that works."""
    home = tmp_path / "mistyped"
    said = process("--home", str(home), "remember", "rule", "Dust the shelves", code=1)
    assert f"{home} does not exist" in said.stderr and f"mkdir -p {home}" in said.stderr
    assert not home.exists()


def test_an_unexpected_fault_goes_to_the_log_without_its_words(cli_home: Path) -> None:
    """Nobody sees a traceback; the private log has the place, and not what the memory said."""
    program = (
        "import sys\n"
        "from memory_butler.adapters.cli import app\n"
        "from memory_butler.operations.system import stats\n"
        "async def broken(resources, scope): raise RuntimeError('the secret words')\n"
        "stats.stats = broken\n"
        "sys.argv = ['memory-butler', 'stats']\n"
        "app.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment(cli_home), check=False
    )
    assert done.returncode == 1 and done.stdout == ""
    assert "Traceback" not in done.stderr and "secret" not in done.stderr
    log = cli_home / "logs" / "memory-butler.log"
    assert log.name in "".join(done.stderr.split()) and "RuntimeError" in done.stderr
    assert "RuntimeError" in log.read_text() and "in broken" in log.read_text()
    assert "the secret words'" not in log.read_text().replace("raise RuntimeError('the secret words')", "")
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_memory_cannot_give_orders_to_the_terminal(cli: Run) -> None:
    """Escape sequences and reordering marks that somebody stored are shown harmless."""
    cli("remember", "rule", "Polish the \x1b[31mred\x1b[0m \u202eteapot")
    said = cli("search", "teapot", "--mode", "keyword", "--limit", "1").stdout
    assert "teapot" in said and "\x1b" not in said and "\u202e" not in said


def test_a_reader_that_goes_away_is_no_fault(cli_home: Path) -> None:
    """`memory-butler search … | head` ends quietly."""
    process = subprocess.Popen(
        [sys.executable, "-m", "memory_butler.adapters.cli.app", "stats", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(cli_home),
    )
    assert process.stdout and process.stderr
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) in (0, 1) and said == b""


def test_home_can_be_named_on_the_command_line(own: Run, cli_home: Path) -> None:
    """--home wins over the environment."""
    elsewhere = "/nonexistent/elsewhere"
    own("--home", str(cli_home), "remember", "rule", "Dust the shelves", MEMORY_BUTLER_HOME=elsewhere)
    said = own("--home", str(cli_home), "stats", "--json", MEMORY_BUTLER_HOME=elsewhere)
    assert json.loads(said.stdout)["events"] > 0


def test_reindexing_keeps_everything_findable(cli: Run, ask: Callable[..., Any]) -> None:
    """The index is made anew over every memory, and answers as before."""
    ask("remember", "fact", "Ben", "instrument", "hurdy-gurdy")
    before = ask("search", "hurdy-gurdy", "--mode", "keyword", "--limit", "1")["results"][0]["ref"]
    counted = ask("stats")["memories"]
    assert ask("reindex") == {"indexed": sum(sum(states.values()) for states in counted.values())}
    assert ask("search", "hurdy-gurdy", "--mode", "keyword", "--limit", "1")["results"][0]["ref"] == before


def test_stop_stops_the_embedded_database_and_only_that(process: Run, own: Run, cli_home: Path) -> None:
    """The first stop stops it, the second says that it was not running, the next command starts it again."""
    own("stats")
    assert "has stopped" in process("stop").stdout
    assert not EmbeddedPostgres(cli_home).is_running()
    assert "was not running" in own("stop").stdout
    assert "does not stop" in own("stop", code=1, MEMORY_BUTLER_DATABASE_URL="postgresql://localhost/x").stderr
    process("stats")
    assert EmbeddedPostgres(cli_home).is_running()


def test_the_help_shows_every_summary_whole(process: Run) -> None:
    """At 80 columns no summary of a command is cut, so the list can be read without opening each command."""
    said = process("--help", COLUMNS="80").stdout
    assert [line for line in said.splitlines() if line.endswith("...") and not line.startswith("Usage:")] == []
    assert said.index("  remember ") < said.index("  search ")


def test_verbs_are_found_by_their_names_in_python_and_mcp(process: Run) -> None:
    """A caller who knows `Memory.briefing` or memory_update need not look up another name; the help lists one."""
    for alias, name in ALIASES.items():
        assert (
            process(alias, "--help").stdout.partition("\n\n")[2] == process(name, "--help").stdout.partition("\n\n")[2]
        )
    assert "  briefing " not in process("--help").stdout
