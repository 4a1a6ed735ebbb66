"""The demo: a short story told by the real thing, on a scratch store that is gone when it ends.

The memories and the questions are written here; everything that is shown about them comes from the store.
"""

import asyncio
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType

from rich import rule as lines
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from memory_butler.adapters import tables, tables_consolidate
from memory_butler.adapters.logs import configure_logging
from memory_butler.butler import Butler, open_butler
from memory_butler.models import (
    BriefRequest,
    NewEpisode,
    NewFact,
    NewRule,
    Outcome,
    Portrait,
    Question,
    Ranked,
    Relation,
    Rule,
    Stored,
)
from memory_butler.operations import brief, consolidate, diff, judge, look, recall, remember
from memory_butler.settings import load_settings
from memory_butler.store.embedded import EmbeddedPostgres

WHO = "travel"
QUESTION = "How does Ana like to travel?"
PROMPT = "Plan Ana's trip to Rome: book a flight from her city and a table for dinner."
BUDGET = 180
RESULTS = 4
NOTES = (
    "Call with Ana. She still lives in Lisbon and works as a ceramicist at Olaria Sul.",
    "Ana's favorite seat is the aisle now.",
    "Ana said she dislikes early flights and loves night trains.",
    "Ana said: never book a connection under an hour.",
    "Thanks, that was great! What is the weather like in Rome?",
)


@dataclass
class StoryClock:
    """Time in the story: it can start weeks ago and be today at the end."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now


def tell(console: Console | None = None) -> None:
    """Tell the story; whatever happens, the scratch store goes."""
    console = console or Console(highlight=False)
    began = time.monotonic()
    with scratch_home() as home:
        asyncio.run(_story(home, console))
    console.print(
        f"\nThat took {time.monotonic() - began:.0f} seconds, database and model included; the scratch store is gone.\n"
        "Your own memory starts with: memory-butler serve"
    )


@contextmanager
def scratch_home() -> Iterator[Path]:
    """A home of its own, with a server of its own, removed at the end also when the story is interrupted."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, leave)
    home = Path(tempfile.mkdtemp(prefix="memory-butler-demo-"))
    try:
        yield home
    finally:
        EmbeddedPostgres(home).stop()
        shutil.rmtree(home, ignore_errors=True)
        signal.signal(signal.SIGTERM, before)


async def _story(home: Path, console: Console) -> None:
    settings = load_settings(home=home, butler=WHO, database_url=None, owner_url=None)
    configure_logging(settings)
    today = datetime.now(UTC).replace(microsecond=0)
    clock = StoryClock(today - timedelta(days=43))
    async with AsyncExitStack() as stack:
        with console.status("Starting a scratch store: a real PostgreSQL and the real model …"):
            # The story is over in seconds: nothing of it needs to survive a power cut.
            await asyncio.to_thread(EmbeddedPostgres(home, options={"fsync": "off"}).ensure_running)
            butler = await stack.enter_async_context(open_butler(settings, clock=clock))
        console.print(
            "Ana's travel agent is a language model: it forgets everything when a session\n"
            "ends. Memory Butler remembers for it. Here are six weeks of that, in short."
        )
        rule = await _sessions(butler, clock, console, today)
        await _distilled(butler, clock, console, today)
        await _question(butler, console)
        await _superseded(butler, clock, console, today)
        await _harmful(butler, clock, console, rule, today)
        await _briefing(butler, clock, console, today)


async def _sessions(butler: Butler, clock: StoryClock, console: Console, today: datetime) -> Stored:
    """Three sessions leave facts, rules and episodes behind."""
    _chapter(console, 1, "A few sessions leave memories behind")
    rows: list[tuple[str, Stored, str]] = []

    async def fact(predicate: str, content: str, importance: int, permanence: str) -> None:
        new = NewFact(subject="Ana", predicate=predicate, content=content, importance=importance, permanence=permanence)
        rows.append((_ago(clock.now, today), await remember.fact(butler, new), f"Ana · {predicate}: {content}"))

    async def episode(content: str) -> None:
        new = NewEpisode(content=content, butler=WHO, session_id=f"s-{clock.now:%m%d}")
        rows.append((_ago(clock.now, today), await remember.episode(butler, new), content))

    async def rule(content: str) -> Stored:
        done = await remember.rule(butler, NewRule(content=content))
        rows.append((_ago(clock.now, today), done, content))
        return done

    await fact("lives in", "Lisbon", 7, "stable")
    await fact("allergic to:peanuts", "carries an adrenaline pen", 10, "permanent")
    await fact("favorite seat", "window, near the front", 4, "standard")
    cheapest = await rule("Book the cheapest flight without asking")
    clock.now = today - timedelta(days=15)
    await fact("diet", "vegetarian since this spring", 8, "stable")
    await rule("Name two restaurants, not ten, and say why")
    clock.now = today - timedelta(days=4)
    await episode("Ana asked for a trip to Rome in May and loves small trattorias.")
    await episode("The office printer was out of toner again.")
    for note in NOTES:
        await episode(note)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column()
    for when, done, said in rows:
        grid.add_row(when, f"{done.type}:{done.ref}", Text(said))
    console.print(Padding(grid, (0, 0, 0, 2), expand=False))
    return cheapest


async def _distilled(butler: Butler, clock: StoryClock, console: Console, today: datetime) -> None:
    """The episodes are consolidated, without a language model; the diff, and where a fact came from."""
    _chapter(console, 2, "The episodes become facts and rules")
    clock.now = today - timedelta(days=3)
    caller = butler.local_caller()
    [report] = await consolidate.consolidate(butler, caller)
    changes = await diff.diff(butler, caller, WHO, report.lines)
    console.print(tables_consolidate.run_told(report, changes), crop=False)
    new = next(line for line in changes if line.outcome == "created" and line.ref)
    seen = await look.look(butler, new.kind, str(new.ref), bump=False)
    [source] = [link for link in seen.links if link.relation == Relation.DERIVED_FROM]
    note = (await look.look(butler, "episode", str(source.target_id), bump=False)).memory
    came = Text.assemble(
        "\nWhere does ", (str(new.ref), "cyan"), " come from? ", (f"episode:{note.ref}", "cyan"), f": “{note.content}”"
    )
    console.print(Padding(came, (0, 0, 0, 2)))


async def _question(butler: Butler, console: Console) -> None:
    """A search, and for each result why it is where it is."""
    _chapter(console, 3, "A question, by meaning and by words")
    answer = await recall.search(butler, Question(query=QUESTION, limit=RESULTS))
    console.print(Text.assemble("  ", (f"“{QUESTION}”", "italic")))
    for place, entry in enumerate(answer.results, start=1):
        console.print(Padding(_ranked(place, entry), (0, 0, 0, 2), expand=False))
    weights = butler.settings.retrieval.weights
    console.print(
        f"  score = {weights.relevance:g} × fit + {weights.importance:g} × importance + "
        f"{weights.recency:g} × recency + {weights.confidence:g} × confidence",
        style="dim",
    )


async def _superseded(butler: Butler, clock: StoryClock, console: Console, today: datetime) -> None:
    """A property gets another value; the old one is kept."""
    _chapter(console, 4, "Ana moves: a fact is superseded, not overwritten")
    clock.now = today - timedelta(days=1)
    moved = NewFact(subject="ana", predicate="Lives-In", content="Porto", importance=7, permanence="stable")
    done = await remember.fact(butler, moved)
    seen = await look.look(butler, done.type, done.ref)
    said = Text.assemble(
        "Yesterday the agent stored “ana, Lives-In: Porto”. However it is spelled, it is the same property with "
        "another value, so ",
        (f"fact:{done.ref}", "cyan"),
        " supersedes ",
        (f"fact:{done.superseded_ref}", "cyan"),
        ":",
    )
    console.print(Padding(said, (0, 0, 0, 2)))
    console.print(_chain(seen))


async def _harmful(butler: Butler, clock: StoryClock, console: Console, rule: Stored, today: datetime) -> None:
    """A rule does harm until the evidence turns it into a warning."""
    _chapter(console, 5, "A rule does harm and becomes a warning")
    reasons = (
        (9, "Ana spent a night on an airport bench"),
        (6, "the ticket could not be changed"),
        (2, "the bag cost more than the flight"),
    )
    clock_before = clock.now
    for days, reason in reasons:
        clock.now = today - timedelta(days=days)
        await judge.mark(butler, f"rule:{rule.ref}", Outcome.HARMFUL, reason=reason)
        kept = (await look.look(butler, "rule", rule.ref)).memory
        assert isinstance(kept, Rule)
        console.print(
            Text.assemble(
                ("  harmful ", "red"),
                f"{_ago(clock.now, today):<12}  {reason}  ",
                (f"→ {kept.maturity.replace('_', '-')}", "bold"),
            )
        )
    clock.now = clock_before


async def _briefing(butler: Butler, clock: StoryClock, console: Console, today: datetime) -> None:
    """Today's session starts: the block, exact to the token, and its receipt."""
    _chapter(console, 6, f"Today: a briefing in {BUDGET} tokens")
    clock.now = today
    request = BriefRequest(trigger_prompt=PROMPT, butler=WHO, token_budget=BUDGET)
    built = await brief.brief(butler, request)
    console.print(Text.assemble("  ", (f"“{PROMPT}”", "italic"), "\n"))
    for line in built.text.splitlines():
        style = "bold" if line.startswith("#") else "yellow" if "WARNING" in line else ""
        console.print(Padding(_hanging(line, style), (0, 0, 0, 2), expand=False))
    again = await brief.brief(butler, request)
    same = "the same bytes" if again.text == built.text else "other bytes"
    console.print()
    console.print(Padding(tables.receipt(built.receipt), (0, 0, 0, 2), expand=False))
    console.print(f"  Asked again, it gives {same}: reading a briefing changes nothing.")


def _chapter(console: Console, number: int, title: str) -> None:
    console.print()
    console.print(lines.Rule(Text(f"{number}  {title}", style="bold"), align="left", style="dim"))


def _ranked(place: int, entry: Ranked) -> RenderableType:
    parts = entry.parts
    reference = f"{entry.hit.type}:{entry.hit.ref}"
    bars = "  ".join(
        f"{name} {tables.bar(share)}"
        for name, share in (
            ("fit", parts.fit),
            ("importance", parts.importance),
            ("recency", parts.recency),
            ("confidence", parts.effective_confidence),
        )
    )
    why = f"{parts.score:.2f} because it is {tables.why_it_ranks(parts)}"
    grid = Table.grid(padding=(0, 1))
    grid.add_row(f"{place}.", Text.assemble(tables.what_it_says(entry.hit), (f"  {reference}", "cyan")))
    grid.add_row("", Text(f"{why}\n{bars}", style="dim"))
    return grid


def _chain(seen: Portrait) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    for fact in seen.chain:
        style = "" if fact.validity == "active" else "strike dim"
        grid.add_row(
            Text(f"fact:{fact.ref}", style="cyan"),
            Text(fact.content, style=style),
            fact.validity.value,
            f"stored {fact.created_at.date()}",
        )
    return Padding(grid, (0, 0, 0, 4), expand=False)


def _hanging(line: str, style: str) -> RenderableType:
    """A line of the block, wrapped under itself."""
    if not line.startswith("- "):
        return Text(line, style=style)
    grid = Table.grid(padding=(0, 1))
    grid.add_row("-", Text(line[2:], style=style))
    return grid


def _ago(moment: datetime, today: datetime) -> str:
    days = (today - moment).days
    if days >= 14:
        return f"{days // 7} weeks ago"
    return "today" if days == 0 else f"{days} day{'s' if days > 1 else ''} ago"
