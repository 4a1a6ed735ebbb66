"""Words of memories are hostile until they are text: on every page, and in how pages are written."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from playwright.async_api import expect
from tests.adapters.dashboard.conftest import DESKTOP, PHONE, Visit
from tests.conftest import MovingClock

from memory_butler.adapters.dashboard.components import elements
from memory_butler.adapters.dashboard.server.routes import NAVIGATION
from memory_butler.models import (
    Caller,
    Lineage,
    NewEpisode,
    NewFact,
    NewRule,
    NewToken,
    Outcome,
    Principal,
    Role,
    Stored,
)
from memory_butler.operations.access import tokens
from memory_butler.operations.lifecycle import job_status
from memory_butler.operations.writing import correct, feedback, forget, remember
from memory_butler.resources import Resources

# Hidden characters can only be in rows of earlier versions.
pytestmark = pytest.mark.usefixtures("text_of_older_versions")

HOSTILE = (
    '<img src=x onerror="window.hacked=1">',
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=1</script>",
    "\"><svg onload=window.hacked=1><a href='",
    "{{ constructor.constructor('window.hacked=1')() }}",
    "{{ window.hacked = 1 }} [[ window.hacked = 1 ]]",
    "`${window.hacked=1}`",
    "${window.hacked = 1}",
    '" onmouseover="window.hacked=1" x=\'',
    ":label=window.hacked=1",
    "[a](javascript:window.hacked=1) **b** <b>c</b>",
    "</template></textarea></title><b>x</b><!--",
    "{b|x}{c} {value} %s {0}",
    "<iframe srcdoc='<script>parent.hacked=1</script>'>",
    "W" * 900,
    "مرحبا بالعالم \u202egnp.exe\u202c",
    "👩‍👩‍👧‍👦 🏳️‍🌈 emoji \ufffd",
    "bell\u0007 escape\u001b[31m null-ish\u200b\u2028line",
)
DRAWN = "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"
# What a label may hold at most.
LABEL = 150
FOLDER = Path(elements.__file__).parent


async def furnish(resources: Resources, clock: MovingClock, tenant: str) -> list[Stored]:
    """A store in which every text that anybody may choose is hostile; one memory of each kind."""
    by = Caller(Principal(tenant, "main", Role.ADMIN, name=HOSTILE[0]), Lineage(session_id=HOSTILE[1], request_id="r"))
    made: dict[str, Stored] = {}
    for number, text in enumerate(HOSTILE):
        label, tags = text[:LABEL], (text[:60],)
        episode = await remember.episode(
            resources,
            NewEpisode(content=text, butler="main", session_id=label, tags=tags, importance=9, source="user"),
            by,
        )
        fact = await remember.fact(
            resources,
            NewFact(subject=label, predicate=f"{label} {number}"[-LABEL:], content=text, tags=tags,
                    source_episode=episode.ref, source="user", aliases=(f"{number} {label}",)),
            by,
        )  # fmt: skip
        rule = await remember.rule(resources, NewRule(content=f"{text} {number}", tags=tags, source="user"), by)
        await feedback.mark(resources, rule.ref, Outcome.HARMFUL, by, reason=label)
        clock.move(minutes=1)
        if number == 0:
            made = {"episode": episode, "rule": rule, "fact": await correct.correct(
                resources, fact.ref, f"{text} corrected", by, reason=label)}  # fmt: skip
        elif number % 3 == 0:
            await forget.forget(resources, "fact", fact.ref, by, reason=label)
        await tokens.create(resources, NewToken(tenant=tenant, butler="main", label=label), by)
    await job_status.put_on_record(
        resources, job_status.shard_of(tenant, "main"), "sweep", clock.now, {"note": HOSTILE[0]}
    )
    # What is told of several tenants says which.
    other = Caller(Principal(f"{tenant}{'w' * 40}", "main", Role.ADMIN))
    await remember.fact(resources, NewFact(subject="Ana", predicate="tea", content="green"), other)
    return [*made.values()]


async def test_hostile_words_are_text_on_every_page(
    visit: Visit, resources: Resources, clock: MovingClock, tenant: str
) -> None:
    """Nothing of them runs, is fetched, or pushes a page out of its width; and they are there to be read."""
    made = await furnish(resources, clock, tenant)
    query = quote(HOSTILE[0])
    paths = [
        *(place.path for place in NAVIGATION),
        *(f"/memory/{one.type}/{one.ref}" for one in made),
        *(f"{asked}={query}" for asked in ("/facts?q", "/timeline?by", "/graph?subject", "/playground?prompt")),
        f"/memory/fact/{made[-1].ref}?q={query}",
    ]
    page = await visit("/")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for path in paths:
        await visit(path)
        await page.wait_for_function("window.socket?.connected")
        await page.evaluate(DRAWN)
        for size in (DESKTOP, PHONE):
            await page.set_viewport_size(size)  # type: ignore[arg-type]
            # What is drawn to measure, such as a chart, takes a frame to follow the window.
            await page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
        await page.set_viewport_size(DESKTOP)  # type: ignore[arg-type]
        assert await page.evaluate("window.hacked") is None, path
        assert await page.locator("img[onerror], iframe, svg[onload], script[src=x]").count() == 0, path
        if path in ("/facts", "/rules", "/episodes") or path.startswith("/memory/"):
            await expect(page.get_by_text("<img src=x onerror=").first).to_be_visible()
    here = urlsplit(page.url).netloc
    assert {urlsplit(url).netloc for url in asked if not url.startswith(("data:", "blob:"))} == {here}


async def test_what_cannot_be_seen_is_shown(visit: Visit, resources: Resources) -> None:
    """Marks that turn words around are written out, so that nothing reads otherwise than it is."""
    fact = await remember.fact(resources, NewFact(subject="Anna", predicate="file", content="holiday\u202egnp.exe"))
    page = await visit(f"/memory/fact/{fact.ref}")
    await expect(page.get_by_text("holiday⟨U+202E⟩gnp.exe").first).to_be_visible()


WRITES_SCRIPT = {"run_javascript", "add_head_html", "add_body_html", "add_css", "add_slot"}
NEVER = {"html", "markdown", "restructured_text"}
# Where a piece of script is put together from more than constants, and why that is safe.
PUT_TOGETHER = {"undo_bar.py :handler": "the only part that is not constant is a number that was counted there"}


def is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id.lstrip("_").isupper())


def dangers(module: ast.Module) -> Iterator[str]:
    """What could make script or markup of data: how NiceGUI is called, and what a key that begins with a colon gets."""
    for node in ast.walk(module):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and str(key.value).startswith(":") and not is_constant(value):
                    yield str(key.value)
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if name in NEVER and isinstance(owner, ast.Name) and owner.id == "ui":
            yield f"ui.{name}"
        if name in WRITES_SCRIPT | {"props"} and not all(is_constant(given) for given in node.args):
            yield name
        if name in ("link", "navigate") or (name == "to" and isinstance(owner, ast.Attribute)):
            yield f"{name}: where it leads"
        for keyword in node.keywords:
            if keyword.arg in ("html", "sanitize") or (keyword.arg == "js_handler" and not is_constant(keyword.value)):
                yield keyword.arg


@pytest.mark.parametrize(
    "code",
    ["ui.html(x)", "ui.markdown('x')", "e.props(f'a={x}')", "e.props('a' + x)", "e.props(x)", "ui.notify(x, html=True)",
     "ui.run_javascript(f'{x}')", "client.run_javascript(x)", "ui.add_body_html(x)", "e.on('click', js_handler=f'{x}')",
     "{':a': x}", "e.add_slot('body', f'{x}')", "ui.link('a', x)", "ui.navigate.to(x)", "ui.html(x, sanitize=False)"],
)  # fmt: skip
def test_dangers_are_recognised(code: str) -> None:
    """The rule below can see what it forbids."""
    assert list(dangers(ast.parse(code)))


@pytest.mark.parametrize(
    "code", ["e.props('flat')", "e.props['a'] = x", "{':a': '() => 1'}", "ui.run_javascript('f()')"]
)
def test_what_is_constant_is_no_danger(code: str) -> None:
    """Script of ours that holds nothing else."""
    assert not list(dangers(ast.parse(code)))


def test_no_page_makes_script_or_markup_of_data() -> None:
    """Anywhere in the dashboard; the exceptions are listed with a reason, and still needed."""
    found = {
        f"{path.name} {danger}"
        for path in sorted(FOLDER.rglob("*.py"))
        for danger in dangers(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == set(PUT_TOGETHER)


MARKUP = re.compile(
    r"v-html|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|\$slots"
)


def test_no_part_writes_markup() -> None:
    """Neither our own components nor a text in the code gets around what escapes words."""
    files = [*FOLDER.rglob("*.py"), *FOLDER.rglob("*.js")]
    assert len(files) > 20
    assert [path.name for path in files if MARKUP.search(path.read_text(encoding="utf-8"))] == []


def test_a_part_links_only_to_addresses_of_ours() -> None:
    """An address in a component is one whole value that was made here, never words put behind one another."""
    links = [
        (path.name, found[1])
        for path in FOLDER.rglob("*.js")
        for found in re.finditer(r':(?:href|src|action)="([^"]*)"', path.read_text(encoding="utf-8"))
    ]
    assert [link for link in links if not re.fullmatch(r"[\w.]+|[\w.]+\([\w., ]*\)", link[1])] == []
