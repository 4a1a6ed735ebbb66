"""The house rules, as a test: how the code is laid out, and what is written about it."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from pydantic import BaseModel
from tests.adapters.conftest import OPTIONAL
from tests.adapters.conftest import PARAMETERS as TOOLS
from typer.main import get_command

from memory_butler.adapters.cli.app import app
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.adapters.mcp.catalog import build_tools
from memory_butler.adapters.mcp.server import build_server
from memory_butler.adapters.rest.app import build_rest
from memory_butler.errors import ERROR_CLASSES
from memory_butler.policy.lifecycle.transitions import TRANSITIONS
from memory_butler.resources import Resources
from memory_butler.settings import ENV_PREFIX, Settings

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "memory_butler"
DOCS = ROOT / "docs"
FILE_LINES, FUNCTION_LINES, STATEMENT_LINES, PARAMETERS, LINE_CHARACTERS = 400, 70, 80, 7, 120

# Exceptions, each with its reason. The lists only shrink.
SQL_SHOWN = {"adapters/doctor/checks.py": "advice to a database administrator, shown and never run"}
SQL_BUILT = {
    "store/embedded/upgrade.py": "the line of a dump that is left out, compared and never run",
    **SQL_SHOWN,
}
LONG_FILES = {
    "tests/support/life.py": "one machine whose rules have to be read together",
    "tests/store/migrations/test_invariants.py": "one table of everything that the database refuses",
}
TOO_LONG, TOO_MANY_PARAMETERS = dict[str, str](), dict[str, str]()

FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "engine"}
PURE_IMPORTS = {"bisect", "collections", "collections.abc", "dataclasses", "datetime",
                "dateutil.easter", "enum", "functools", "hashlib", "itertools", "json", "math", "numpy", "numpy.typing",
                "operator", "re", "stopwordsiso", "typing", "unicodedata", "uuid"}  # fmt: skip
CLOCKS_AND_CHANCE = {"now", "utcnow", "today", "uuid1", "uuid4", "sleep", "random", "randrange", "choice", "getenv"}
INPUT_OUTPUT = {"open", "print", "input", "exec", "eval", "hash", "breakpoint", "__import__"}

SQL = re.compile(
    r"\s*(select\s+(.|\n)*\bfrom\b|select\s+[\w.]+\(|select\s+\d|insert\s+into\b|update\s+[\w.\"{}]+\s+set\b|"
    r"delete\s+from\b|(create|alter|drop)\s+(or\s+replace\s+)?(unique\s+)?(table|index|schema|role|database|extension|"
    r"function|trigger|policy|view|type)\b|truncate\s+\w|with\s+(recursive\s+)?\w+\s+as\s+(materialized\s+)?\(|"
    r"grant\s+\w+.*\bto\b|revoke\s+\w+.*\bfrom\b|set\s+(local|session|role)\b)",
    re.IGNORECASE,
)


def modules(*folders: Path) -> list[Path]:
    return [path for folder in folders for path in sorted(folder.rglob("*.py"))]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def texts(module: ast.Module) -> Iterator[ast.Constant]:
    """Every text in the code that is not a docstring."""
    docs = {
        id(node.body[0].value)
        for node in ast.walk(module)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node


def functions(path: Path) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{name_of(path)}:{node.name}", node


def text_of(node: ast.expr) -> str:
    """What is known of a text while the code is read: its constant parts."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(value) if isinstance(value, ast.Constant) else "{}" for value in node.values)
    return ""


@pytest.mark.parametrize("text", ["SELECT id FROM facts", "insert into x", "WITH a AS (SELECT 1)", "DROP TABLE x"])
def test_sql_is_recognised(text: str) -> None:
    """The rule below can see what it forbids."""
    assert SQL.match(text)


def test_there_is_no_sql_outside_the_store() -> None:
    """No text outside store/ looks like a statement, unless it is meant for a person's eyes."""
    found = {
        name_of(path)
        for path in modules(PACKAGE)
        if not name_of(path).startswith("store/")
        for node in texts(tree(path))
        if SQL.match(str(node.value))
    }
    assert found == set(SQL_SHOWN)


def test_statements_are_short() -> None:
    """No statement, and no named part of one, is longer than 80 lines."""
    long = re.compile(rf"^-- (?:name|part): (\w+)\n(?:(?!-- (?:name|part): ).*\n){{{STATEMENT_LINES}}}", re.MULTILINE)
    assert [name for file in PACKAGE.rglob("*.sql") for name in long.findall(file.read_text(encoding="utf-8"))] == []


def built_sql(module: ast.Module) -> Iterator[int]:
    """Lines where a statement is put together from parts: f-strings, + and %, format, replace and join."""
    for node in (node for node in ast.walk(module) if isinstance(node, ast.expr)):
        parts: list[ast.expr] = []
        if isinstance(node, ast.JoinedStr) and any(isinstance(part, ast.FormattedValue) for part in node.values):
            parts = [node]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
            parts = [node.left]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            parts = [node.func.value] if node.func.attr in ("format", "replace", "join", "format_map") else []
        if any(SQL.match(text_of(part)) for part in parts):
            yield node.lineno


@pytest.mark.parametrize(
    "code", ['f"DELETE FROM {x}"', '"SELECT a FROM " + x', '"DROP TABLE %s" % x', '"DROP TABLE {}".format(x)']
)
def test_built_sql_is_recognised(code: str) -> None:
    """The rule below can see what it forbids."""
    assert list(built_sql(ast.parse(code))) == [1]


def test_no_sql_is_built_from_strings() -> None:
    """Also inside the store statements are whole; the exceptions are listed with a reason, and still needed."""
    found = {name_of(path) for path in modules(PACKAGE) for _ in built_sql(tree(path))}
    assert found == set(SQL_BUILT)


def test_imports_point_down() -> None:
    """adapters → jobs → operations → resources → ai → store, policy → languages → english → settings → models."""
    # In a process of its own: the linter configures logging for itself and silences everybody else's.
    linter = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    ran = subprocess.run(
        [sys.executable, "-c", linter], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_policy_is_pure() -> None:
    """No clock, no randomness, no input or output, nothing asynchronous: only values in and values out."""
    found = []
    for path in modules(PACKAGE / "policy", PACKAGE / "languages", PACKAGE / "english"):
        for node in ast.walk(tree(path)):
            where = f"{name_of(path)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith | ast.Global):
                found.append(f"{where} {type(node).__name__}")
            if isinstance(node, ast.Attribute) and node.attr in CLOCKS_AND_CHANCE:
                found.append(f"{where} .{node.attr}")
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in INPUT_OUTPUT:
                found.append(f"{where} {node.func.id}()")
            imported = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                imported = [node.module or ""]
                names = {alias.name for alias in node.names}
                found += [f"{where} {name}" for name in names & (CLOCKS_AND_CHANCE | {"time"})]
            allowed = tuple(f"memory_butler.{name}" for name in ("models", "errors", "policy", "languages", "english"))
            found += [
                f"{where} {name}" for name in imported if name not in PURE_IMPORTS and not name.startswith(allowed)
            ]
    assert found == []


def test_files_are_short() -> None:
    """No Python file has more than 400 lines."""
    long = {
        path.relative_to(ROOT).as_posix()
        for path in modules(*(ROOT / name for name in ("src", "tests", "benchmarks", "examples", "tools")))
        if len(path.read_text(encoding="utf-8").splitlines()) > FILE_LINES
    }
    assert long == set(LONG_FILES)


def test_javascript_and_css_are_formatted_and_linted() -> None:
    """Biome finds nothing to complain about."""
    biome = Path(sys.executable).parent / "biome"
    command = [str(biome), "ci", "--error-on-warnings", "."]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_lines_of_javascript_css_and_sql_are_short() -> None:
    """At most 120 characters, also inside templates, which Biome does not format."""
    long = [
        f"{name_of(path)}:{number}"
        for suffix in ("js", "css", "sql")
        for path in PACKAGE.rglob(f"*.{suffix}")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if len(line) > LINE_CHARACTERS
    ]
    assert long == []


def test_functions_are_short() -> None:
    """No function of the package has more than 70 lines."""
    long = {
        name: (node.end_lineno or 0) - node.lineno + 1
        for path in modules(PACKAGE)
        for name, node in functions(path)
        if (node.end_lineno or 0) - node.lineno + 1 > FUNCTION_LINES
    }
    assert set(long) == set(TOO_LONG), long


def mirrors_the_contract(name: str) -> bool:
    """Signatures of tools and commands are the contract's, however many parameters it has."""
    return name.startswith(("adapters/mcp/tools/", "adapters/cli/"))


def test_functions_have_few_parameters() -> None:
    """At most seven, not counting self and cls; tools and commands are exempt."""
    many = set()
    for path in modules(PACKAGE):
        for name, node in functions(path):
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            counted = [argument for argument in given if argument.arg not in ("self", "cls")]
            if len(counted) > PARAMETERS and not mirrors_the_contract(name):
                many.add(name)
    assert many == set(TOO_MANY_PARAMETERS)


def test_everything_is_caught_only_at_the_outermost_boundary() -> None:
    """`except Exception` stands in adapters and jobs alone, and nothing catches without saying what."""
    found = []
    for path in modules(PACKAGE):
        for node in ast.walk(tree(path)):
            if not isinstance(node, ast.ExceptHandler):
                continue
            caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            names = {ast.unparse(kind) if kind else "everything" for kind in caught}
            outermost = name_of(path).startswith(("adapters/", "jobs/"))
            if "everything" in names or (names & {"Exception", "BaseException"} and not outermost):
                found.append(f"{name_of(path)}:{node.lineno}")
    assert found == []


def test_modules_are_named_for_what_they_hold() -> None:
    """No file or folder is called utils, helpers, common, misc, manager or engine."""
    named = {part for path in modules(PACKAGE, ROOT / "tests") for part in (path.stem, path.parent.name)}
    assert {name for name in named if set(name.removeprefix("test_").split("_")) & FORBIDDEN_NAMES} == set()


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def settings_of(group: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, field in group.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from settings_of(inner, (*path, name))
        else:
            yield (*path, name)


def test_every_setting_is_in_the_docs() -> None:
    """By the name of its environment variable."""
    variables = [ENV_PREFIX + "__".join(path).upper() for path in settings_of(Settings)]
    assert len(variables) > 20
    assert [name for name in variables if f"`{name}`" not in page("reference/settings.md")] == []


async def test_every_tool_is_in_the_docs(resources: Resources) -> None:
    """The page has the tools of the server and the optional ones, and no other."""
    tools = {tool.name for tool in await build_server(resources).list_tools()}
    assert tools == set(TOOLS)
    documented = set(re.findall(r"^## (memory_\w+)$", page("reference/tools.md"), re.MULTILINE))
    assert documented == {*tools, *OPTIONAL}


async def test_every_route_is_in_the_docs(resources: Resources) -> None:
    """Those of tools with their tool, all others with a heading of their own."""
    lazy = LazyResources.already_open(resources)
    paths = build_rest(lazy, build_tools(lazy)).openapi()["paths"]
    routes = {(method.upper(), path) for path, methods in paths.items() for method in methods if method != "parameters"}
    said = page("reference/rest.md")
    missing = {
        (method, path)
        for method, path in routes
        if f"### {method} {path}\n" not in said and f"`{method} /api/v1{path}`" not in said
    }
    assert len(routes) > 30 and missing == set()


def commands_of(command: Any, path: str) -> Iterator[str]:
    inner = getattr(command, "commands", None)
    if not inner:
        yield path
        return
    for name, below in inner.items():
        yield from commands_of(below, f"{path} {name}")


def test_every_command_is_in_the_docs() -> None:
    """Each with its whole line, subcommands too."""
    assert isinstance(app, typer.Typer)
    commands = list(commands_of(get_command(app), "memory-butler"))
    assert {"memory-butler remember fact", "memory-butler serve", "memory-butler doctor"} <= set(commands)
    assert [line for line in commands if line not in page("reference/cli.md")] == []


def test_every_error_is_in_the_docs() -> None:
    """Each class has its own heading."""
    assert [name for name in ERROR_CLASSES if f"## {name}" not in page("reference/errors.md")] == []


def diagrams(text: str) -> dict[tuple[str, str], set[tuple[str, str]]]:
    """The state diagrams of a page by the type and axis that their headings name."""
    found = {}
    for kind, axis, body in re.findall(r"^### (\w+) (\w+)\n+```mermaid\nstateDiagram-v2\n(.*?)```", text, re.M | re.S):
        arrows = re.findall(r"^\s*(\S+) --> ([^\s:]+)", body, re.M)
        found[kind, axis] = {(a, b) for a, b in arrows if "[*]" not in (a, b)}
    return found


def test_the_pictures_of_the_lifecycles_are_true() -> None:
    """docs/concepts/lifecycle.md draws exactly the transitions that policy and database allow."""
    assert diagrams(page("concepts/lifecycle.md")) == {
        (str(kind), axis): pairs for (kind, axis), pairs in TRANSITIONS.items()
    }


@cache
def anchors(path: Path) -> frozenset[str]:
    """The fragments that the headings of a page can be linked by, as GitHub derives them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings)


def test_links_between_pages_lead_somewhere() -> None:
    """Every relative link of the documentation names a file that exists, and a heading in it."""
    broken = []
    for source in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]:
        for path, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", source.read_text(encoding="utf-8")):
            if "://" in path:
                continue
            target = (source.parent / path) if path else source
            if not target.exists() or (anchor and anchor not in anchors(target)):
                broken.append(f"{source.relative_to(ROOT)} → {path}#{anchor}")
    assert broken == []


def project_files() -> Iterator[Path]:
    folders = (".ci", "benchmarks", "deploy", "docs", "examples", "src", "tests", "tools")
    for path in [*ROOT.iterdir(), *(path for name in folders for path in (ROOT / name).rglob("*"))]:
        hidden = any(part in ("__pycache__", ".git") or part.endswith(".egg-info") for part in path.parts)
        if path.is_file() and not hidden and path.stat().st_size < 2_000_000:
            yield path


MACHINE = {
    "somebody's home": re.compile(r"/(?:home|Users)/[a-z][\w.-]*/(?!\.memory-butler)"),
    "the root account's home": re.compile(r"(?<![\w.}])/roo[t]/"),
    "a working folder": re.compile(r"/(?:work/(?:main|shared)|tmp/lab)\b"),
    "a drive of Windows": re.compile(r"\b[C-Z]:\\\\?Users"),
    "a setting of a package registry": re.compile(r"(?:index[-_]url|trusted[-_]host|registry)\s*[=:]\s*\S*\w\.\w"),
    "the host of a package registry": re.compile(r"//[\w.-]*(?:artifactory|nexus|pypi\.(?!org\b)|registry\.)"),
}


@pytest.mark.parametrize("kind", MACHINE)
def test_no_file_speaks_of_one_machine(kind: str) -> None:
    """No absolute path of a machine and no registry host in what is handed on."""
    found = []
    for path in project_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {hit[0]}" for hit in MACHINE[kind].finditer(text)]
    assert found == []
