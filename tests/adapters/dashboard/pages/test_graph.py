"""The graph: what stands around a chosen memory or subject, as a picture and in words, and walking through it."""

import itertools
import math
import re
from dataclasses import replace

import pytest
from playwright.async_api import Page, expect
from tests.adapters.dashboard.conftest import DESKTOP, PHONE, LogIn, Visit
from tests.support.service import Service

from memory_butler.adapters.dashboard.view_models import graph_chart
from memory_butler.models import Caller, NewEpisode, NewFact, NewRule, Principal, Role, Stored
from memory_butler.models.graph import Edge, MemoryGraph, Node, NodeKind
from memory_butler.operations.writing import correct, remember
from memory_butler.resources import Resources

# Hidden characters can only be in rows of earlier versions.
pytestmark = pytest.mark.usefixtures("text_of_older_versions")

HOSTILE = "<img src=x onerror='window.hacked=1'>{{ 7 * 7 }}\u202egnp"
NODE = """name => {
    const chart = getElement(Number(document.querySelector('.nicegui-echart').id.slice(1))).chart;
    const node = chart.getOption().series[0].data.find(one => one.name === name);
    const box = chart.getDom().getBoundingClientRect();
    const [x, y] = chart.convertToPixel({ seriesIndex: 0 }, [node.x, node.y]);
    return [box.left + x, box.top + y];
}"""


def spot(kind: str, name: str, validity: str | None = "active") -> Node:
    if kind == "subject":
        return Node(kind=NodeKind.SUBJECT, subject=name, subject_label=name.title())
    return Node(kind=NodeKind(kind), ref=name, content=f"says {name}", validity=validity)


def tie(source: Node, target: Node, relation: str) -> Edge:
    return Edge(source=source.key, target=target.key, relation=relation)


@pytest.fixture
def shown() -> MemoryGraph:
    fact, ana, other = spot("fact", "f1"), spot("subject", "ana"), spot("fact", "f2", "superseded")
    source, gone = spot("episode", "e1"), spot("episode", "e2", None)
    return MemoryGraph(
        nodes=(fact, ana, source, other, gone),
        edges=(
            tie(fact, ana, "about"),
            tie(fact, source, "derived_from"),
            tie(other, ana, "about"),
            tie(other, gone, "derived_from"),
            tie(fact, other, "supersedes"),
        ),
    )


def test_the_chosen_one_is_in_the_middle_and_others_around_it(shown: MemoryGraph) -> None:
    """Further ones stand further out, no two at one place, and the same always gives the same picture."""
    places = graph_chart.layout(shown)
    assert places["fact:f1"] == (0.0, 0.0)
    assert len({(round(x), round(y)) for x, y in places.values()}) == len(shown.nodes)
    assert graph_chart.distances(shown) == {
        "fact:f1": 0,
        "subject:ana": 1,
        "episode:e1": 1,
        "fact:f2": 1,
        "episode:e2": 2,
    }
    assert math.hypot(*places["episode:e2"]) > math.hypot(*places["fact:f2"])
    assert graph_chart.layout(shown) == places
    series = graph_chart.chart_options(shown)["series"][0]
    corners = [node for node in series["data"] if node["id"].startswith("corner")]
    assert [sum(node[axis] for node in corners) for axis in ("x", "y")] == [0, 0]


def around(facts: int) -> MemoryGraph:
    """A subject with so many facts, every third with the episode that it was learned from."""
    ana, found = spot("subject", "ana"), [spot("fact", f"f{number:02}") for number in range(facts)]
    sources = {one.key: spot("episode", f"e{one.ref}") for one in found[::3]}
    ties = [tie(one, ana, "about") for one in found]
    ties += [tie(one, sources[one.key], "derived_from") for one in found if one.key in sources]
    return MemoryGraph(nodes=(ana, *found, *sources.values()), edges=tuple(ties))


@pytest.mark.parametrize("facts", [0, 1, 2, 5, 21, 34])
def test_in_a_narrow_picture_no_words_meet(facts: int) -> None:
    """What has words stands in two columns, a line apart; all of it is within the picture, at places of its own."""
    shown = around(facts)
    [narrow, _] = graph_chart.chart_options(shown)["media"]
    nodes = narrow["option"]["series"][0]["data"]
    spots, corners = nodes[: len(shown.nodes)], nodes[len(shown.nodes) :]
    assert [node["id"] for node in spots] == [str(number) for number in range(len(shown.nodes))]
    assert len({(node["x"], node["y"]) for node in spots}) == len(spots)
    wide, high = corners[1]["x"], corners[1]["y"]
    assert all(abs(node["x"]) < wide and abs(node["y"]) < high for node in spots)
    for side in (-1, 1):
        heights = sorted(node["y"] for node in spots[1:] if node["label"]["show"] and side * node["x"] > 0)
        assert all(below - above >= 12 for above, below in itertools.pairwise(heights))


@pytest.mark.parametrize("facts", [1, 5, 8, 21, 34])
def test_words_end_before_the_edge_of_the_picture(facts: int) -> None:
    """However many there are and however long they are, in a picture of the usual width."""
    plain = around(facts)
    shown = replace(plain, nodes=tuple(replace(one, content="long words " * 9) for one in plain.nodes))
    *spots, _, corner = graph_chart.chart_options(shown)["series"][0]["data"]
    half = graph_chart.CHART_PIXELS / 2
    scale = graph_chart.FILLED_SHARE * half / corner["x"]
    ends = [abs(spot["x"]) * scale + graph_chart.NODE_PIXELS + graph_chart.LABEL_PIXELS for spot in spots[1:]]
    assert max(ends) <= half + 1


def test_nothing_fades_under_the_mouse(shown: MemoryGraph) -> None:
    """A picture that is drawn anew under it would stay faded."""
    assert graph_chart.chart_options(shown)["series"][0]["emphasis"]["focus"] == "none"


def test_the_lists_say_what_the_picture_shows(shown: MemoryGraph) -> None:
    """Every spot but the chosen one is in them once, under how it belongs to it, and leads on unless it is gone."""
    groups = {group["title"]: [entry["key"] for entry in group["entries"]] for group in graph_chart.text_lists(shown)}
    assert groups == {
        "This is about": ["subject:ana"],
        "This was learned from": ["episode:e1"],
        "This replaced": ["fact:f2"],
        "Indirectly related": ["episode:e2"],
    }
    entries = {entry["key"]: entry for group in graph_chart.text_lists(shown) for entry in group["entries"]}
    assert entries["subject:ana"]["href"] == "/graph?subject=ana"
    assert (entries["episode:e1"]["href"], entries["episode:e1"]["page"]) == (
        "/graph?center=episode%3Ae1",
        "/memory/episode/e1",
    )
    assert entries["episode:e2"]["href"] is None


def test_what_was_replaced_and_is_in_use_again_was_so_for_a_while() -> None:
    """An undone correction is no longer said to stand in the place of what it corrected."""
    fact, undone = spot("fact", "f1"), spot("fact", "f2", "retracted")
    spots, ties = (fact, undone), (tie(undone, fact, "supersedes"),)
    [group] = graph_chart.text_lists(MemoryGraph(nodes=spots, edges=ties))
    assert group["title"] == "This was temporarily replaced by"
    [group] = graph_chart.text_lists(MemoryGraph(nodes=spots[::-1], edges=ties))
    assert group["title"] == "This temporarily replaced"
    [group] = graph_chart.text_lists(MemoryGraph(nodes=(spot("fact", "f1", "superseded"), undone), edges=ties))
    assert group["title"] == "This was replaced by"


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ({"center": "fact:k3f7"}, "fact:k3f7"),
        ({"subject": "Ana: the potter"}, "subject:Ana: the potter"),
        ({"subject": " "}, None),
        ({}, None),
    ],
)
def test_the_address_says_what_is_in_the_middle(query: dict[str, str], key: str | None) -> None:
    """There and back."""
    assert graph_chart.center_from(query) == key
    if key:
        assert graph_chart.url_params(key) == query


async def click_node(page: Page, name: str) -> None:
    """Click where the picture has a node of this name, once it is drawn there."""
    await page.wait_for_function(
        f"name => {{ try {{ return ({NODE})(name).every(isFinite) }} catch {{ return false }} }}", arg=name
    )
    await page.mouse.click(*await page.evaluate(NODE, name))


async def household(resources: Resources) -> dict[str, Stored]:
    source = await remember.episode(resources, NewEpisode(content="Ana moved to Porto.", butler="main"))
    lives = NewFact(subject="Ana", predicate="lives in", content="Porto", source_episode=source.ref)
    rule = NewRule(content="Write to Porto", source_episode=source.ref)
    return {
        "source": source,
        "lives": await remember.fact(resources, lives),
        "rule": await remember.rule(resources, rule),
        "tea": await remember.fact(resources, NewFact(subject="Ana", predicate="tea", content="green")),
        "rui": await remember.fact(resources, NewFact(subject="Rui", predicate="tea", content="black")),
    }


async def test_walking_by_clicks_and_by_words(visit: Visit, resources: Resources) -> None:
    """From the list of subjects into the graph, from node to node, by the list beside it, and back again; where it gets
    narrow, the nodes stand elsewhere and lead to the same."""
    known = await household(resources)
    page = await visit("/graph")
    start = page.locator(".mb-entries-tiles li")
    assert [await entry.inner_text() for entry in await start.all()] == ["Ana\n2 facts", "Rui\n1 fact"]
    await start.get_by_role("link", name="Ana").click()
    panel = page.locator(".mb-graph-panel")
    await expect(panel.get_by_role("heading")).to_have_text("Ana")
    await page.wait_for_url("**/graph?subject=ana")
    await click_node(page, "lives in: Porto")
    await expect(panel).to_contain_text(f"fact:{known['lives'].ref}")
    await page.wait_for_url(f"**/graph?center=fact%3A{known['lives'].ref}")
    await expect(panel.get_by_role("link", name="Open")).to_have_attribute("href", f"/memory/fact/{known['lives'].ref}")
    lists = page.locator(".mb-graph-lists")
    await expect(lists).to_contain_text("This was learned from")
    await lists.locator("li", has_text=f"episode:{known['source'].ref}").locator("a.mb-entry-name").press("Enter")
    await expect(panel).to_contain_text("Ana moved to Porto.")
    await expect(lists).to_contain_text("Write to Porto")
    await page.go_back()
    await expect(panel).to_contain_text(f"fact:{known['lives'].ref}")
    await page.go_back()
    await expect(panel.get_by_role("heading")).to_have_text("Ana")
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await page.wait_for_function(f"name => ({NODE})(name)[0] < innerWidth", arg="tea: green")
    await click_node(page, "tea: green")
    await expect(panel).to_contain_text(f"fact:{known['tea'].ref}")
    await page.set_viewport_size(DESKTOP)  # type: ignore[arg-type]
    await page.go_back()
    await expect(panel.get_by_role("heading")).to_have_text("Ana")
    await page.go_back()
    await expect(start.first).to_be_visible()
    await expect(panel).to_be_hidden()


async def test_looking_for_something_and_what_another_client_writes(visit: Visit, resources: Resources) -> None:
    """A subject or a memory, whoever's, is found by words and walked to; a change to what is shown is drawn at once."""
    known = await household(resources)
    page = await visit(f"/graph?center=rule:{known['rule'].ref}")
    panel, lists = page.locator(".mb-graph-panel"), page.locator(".mb-graph-lists")
    await expect(panel).to_contain_text("Write to Porto")
    search = page.get_by_label("Search for a subject or a memory")
    await search.fill("black tea")
    found = page.locator(".mb-entries-found")
    await expect(found.locator("li", has_text=f"fact:{known['rui'].ref}").locator("a.mb-entry-name")).to_be_visible()
    chef = Caller(replace(resources.local_caller().principal, butler="chef"))
    soup = await remember.fact(resources, NewFact(subject="soup", predicate="salt", content="none", scope="chef"), chef)
    await search.fill("salt in the soup")
    await expect(found.locator("li", has_text=f"fact:{soup.ref}").locator("a.mb-entry-name")).to_be_visible()
    await search.fill("rui")
    subject = found.locator('li[data-kind="subject"] a')
    await expect(subject).to_be_visible()
    await search.press("ArrowDown")
    await expect(subject).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await expect(subject).not_to_be_focused()
    await page.keyboard.press("ArrowUp")
    await page.keyboard.press("ArrowUp")
    await expect(search).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await expect(panel.get_by_role("heading")).to_have_text("Rui")
    await expect(panel).to_be_focused()
    await expect(found).to_have_count(0)
    await search.fill("an")
    await search.press("Enter")
    await expect(panel.get_by_role("heading")).to_have_text("Ana")
    await expect(found).to_have_count(0)
    # The address follows the drawing: going back before it would skip Rui.
    await expect(page).to_have_url(re.compile(r"subject=ana$"))
    await page.go_back()
    await expect(panel.get_by_role("heading")).to_have_text("Rui")
    await correct.correct(resources, known["rui"].ref, "oolong")
    await expect(lists).to_contain_text("oolong")
    await expect(lists).to_contain_text("superseded")
    await click_node(page, "tea: oolong")
    await expect(panel).to_contain_text("oolong")
    assert (await page.goto(page.url.split("?")[0] + "?subject=Nobody")) is not None
    await expect(page.get_by_role("alert")).to_contain_text("There is no fact about 'Nobody'.")


async def test_an_empty_store_says_how_to_begin_and_hostile_words_are_words(visit: Visit, resources: Resources) -> None:
    """Nothing yet: how to store the first fact. Then markup in names and contents is drawn as text, also on a phone."""
    page = await visit("/graph")
    await expect(page.locator(".mb-empty")).to_contain_text("remember fact Ada")
    fact = await remember.fact(resources, NewFact(subject=HOSTILE, predicate=":onclick", content=HOSTILE + "w" * 300))
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    page = await visit(f"/graph?center=fact:{fact.ref}")
    await expect(page.locator(".mb-graph-text")).to_contain_text(
        "<img src=x onerror='window.hacked=1'>{{ 7 * 7 }}⟨U+202E⟩gnp"
    )
    await expect(page.locator(".nicegui-echart svg")).to_be_visible()
    await page.locator(".mb-graph-lists").get_by_role("link", name="<img").first.click()
    await expect(page.locator(".mb-graph-panel h2")).to_contain_text("<img src=x")
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await page.evaluate("typeof window.hacked") == "undefined"
    await page.set_viewport_size({"width": 1280, "height": 900})


async def test_a_reader_walks_among_what_it_may_see(log_in: LogIn, service: Service, tenant: str) -> None:
    """What belongs to another butler is on no map and in no list."""
    other = Caller(Principal(tenant, "travel", Role.AGENT))
    await remember.fact(service.resources, NewFact(subject="Ana", predicate="tea", content="green"), other)
    await remember.fact(
        service.resources, NewFact(subject="Ana", predicate="pin", content="1234", scope="travel"), other
    )
    page = await log_in("reader", "/graph")
    await page.get_by_role("link", name="Ana").click()
    lists = page.locator(".mb-graph-lists")
    await expect(lists).to_contain_text("green")
    await expect(lists.locator("li")).to_have_count(1)
    assert "1234" not in await page.content()
