"""The demo in the terminal: a short story on a temporary store that is deleted at the end.

The script provides the memories and the questions; everything shown about them comes from the store.
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

from memory_butler import models
from memory_butler.adapters.cli.tables import memories, runs
from memory_butler.adapters.demo.script import DemoClock, Story, StoryMemory, read_story
from memory_butler.adapters.telemetry.logs import configure_logging
from memory_butler.operations.briefing import brief
from memory_butler.operations.consolidation import consolidate, diff
from memory_butler.operations.retrieval import get, search
from memory_butler.operations.writing import feedback, remember
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres

RESULTS = 4


def run_story() -> None:
    """Show the story, and delete the temporary store also after an error."""
    console = Console(highlight=False)
    began = time.monotonic()
    with scratch_home() as home:
        asyncio.run(_run(home, console))
    console.print(
        f"\nThat took {time.monotonic() - began:.0f} seconds, including database and model.\n"
        "The temporary store is deleted. Start your own memory: memory-butler serve"
    )


@contextmanager
def scratch_home() -> Iterator[Path]:
    """A temporary home folder with its own database server; both are removed at the end, also on an interrupt."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    home = Path(tempfile.mkdtemp(prefix="memory-butler-demo-"))
    try:
        yield home
    finally:
        EmbeddedPostgres(home).stop()
        shutil.rmtree(home, ignore_errors=True)
        signal.signal(signal.SIGTERM, before)


async def _run(home: Path, console: Console) -> None:
    script = read_story()
    settings = load_settings(home=home, butler=script.butler, database_url=None, owner_url=None)
    configure_logging(settings)
    today = datetime.now(UTC).replace(microsecond=0)
    clock = DemoClock(today)
    async with AsyncExitStack() as stack:
        with console.status("Starting a temporary store: a real PostgreSQL and the real model …"):
            # The store lives for seconds and need not survive a power failure.
            await asyncio.to_thread(EmbeddedPostgres(home, options={"fsync": "off"}).ensure_running)
            resources = await stack.enter_async_context(open_resources(settings, clock=clock))
        console.print(script.intro)
        await _Chapters(script, resources, clock, console, today).run()


@dataclass(frozen=True)
class _Chapters:
    script: Story
    resources: Resources
    clock: DemoClock
    console: Console
    today: datetime

    async def run(self) -> None:
        harmful_rule = await self._write_memories()
        await self._consolidate()
        await self._search()
        await self._supersede()
        await self._mark_harmful(harmful_rule)
        await self._brief()

    def _headline(self, number: int) -> None:
        title = Text(f"{number}  {self.script.chapters[number - 1]}", style="bold")
        self.console.print()
        self.console.print(lines.Rule(title, align="left", style="dim"))

    def _set_clock(self, days: int) -> None:
        self.clock.now = self.today - timedelta(days=days)

    async def _write_memories(self) -> models.Stored:
        """Store facts, rules and episodes of three sessions; returns the rule that will do harm."""
        self._headline(1)
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(style="cyan", no_wrap=True)
        grid.add_column()
        harmful = None
        for line in self.script.memories:
            self._set_clock(line.days)
            stored, text = await self._write(line)
            harmful = stored if line.harmful else harmful
            grid.add_row(_ago(line.days), f"{stored.type}:{stored.ref}", Text(text))
        self.console.print(memories.indented(grid))
        assert harmful is not None
        return harmful

    async def _write(self, line: StoryMemory) -> tuple[models.Stored, str]:
        if line.type == "rule":
            return await remember.rule(self.resources, models.NewRule(content=line.content)), line.content
        if line.type == "episode":
            session = f"s-{self.clock.now:%m%d}"
            episode = models.NewEpisode(content=line.content, butler=self.script.butler, session_id=session)
            return await remember.episode(self.resources, episode), line.content
        fact = models.NewFact(
            subject=self.script.subject,
            predicate=line.predicate,
            content=line.content,
            importance=line.importance,
            permanence=line.permanence,
        )
        text = f"{fact.subject} · {fact.predicate}: {fact.content}"
        return await remember.fact(self.resources, fact), text

    async def _consolidate(self) -> None:
        """Consolidate without a language model; show the diff and the source of one fact."""
        self._headline(2)
        self._set_clock(3)
        caller = self.resources.local_caller()
        [report] = await consolidate.consolidate(self.resources, caller)
        changes = await diff.diff(self.resources, caller, self.script.butler, report.lines)
        self.console.print(runs.run_report(report, changes), crop=False)
        new = next(line for line in changes if line.outcome == "created" and line.ref)
        fact = await get.get(self.resources, new.kind, str(new.ref), bump=False)
        [source] = [link for link in fact.links if link.relation == models.Relation.DERIVED_FROM]
        episode = (await get.get(self.resources, "episode", str(source.target_id), bump=False)).memory
        origin = Text.assemble(
            "\nWhere does ",
            (str(new.ref), "cyan"),
            " come from? ",
            (f"episode:{episode.ref}", "cyan"),
            f": “{episode.content}”",
        )
        self.console.print(Padding(origin, (0, 0, 0, 2)))

    async def _search(self) -> None:
        """Search, and show for each result how its score is composed."""
        self._headline(3)
        answer = await search.search(self.resources, models.Question(query=self.script.question, limit=RESULTS))
        self.console.print(Text.assemble("  ", (f"“{self.script.question}”", "italic")))
        for place, entry in enumerate(answer.results, start=1):
            self.console.print(memories.indented(_ranked(place, entry)))
        weights = self.resources.settings.retrieval.weights
        self.console.print(
            f"  score = {weights.fit:g} × fit + {weights.importance:g} × importance + "
            f"{weights.recency:g} × recency + {weights.confidence:g} × confidence",
            style="dim",
        )

    async def _supersede(self) -> None:
        """Store a new value of a property; the old one is kept."""
        self._headline(4)
        self._set_clock(1)
        move = self.script.move
        stored = await remember.fact(self.resources, move)
        portrait = await get.get(self.resources, stored.type, stored.ref)
        text = Text.assemble(
            f"Yesterday the agent stored “{move.subject}, {move.predicate}: {move.content}”. In any spelling it is the "
            "same property with another value, so ",
            (f"fact:{stored.ref}", "cyan"),
            " supersedes ",
            (f"fact:{stored.superseded_ref}", "cyan"),
            ":",
        )
        self.console.print(Padding(text, (0, 0, 0, 2)))
        self.console.print(_chain(portrait))

    async def _mark_harmful(self, rule: models.Stored) -> None:
        """Mark a rule harmful until it becomes a warning."""
        self._headline(5)
        for mark in self.script.harm:
            self._set_clock(mark.days)
            await feedback.mark(self.resources, f"rule:{rule.ref}", models.Outcome.HARMFUL, reason=mark.reason)
            memory = (await get.get(self.resources, "rule", rule.ref)).memory
            assert isinstance(memory, models.Rule)
            self.console.print(
                Text.assemble(
                    ("  harmful ", "red"),
                    f"{_ago(mark.days):<12}  {mark.reason}  ",
                    (f"→ {memory.maturity.replace('_', '-')}", "bold"),
                )
            )

    async def _brief(self) -> None:
        """Build today's briefing, and show its receipt and that a repeat gives the same bytes."""
        self._headline(6)
        self._set_clock(0)
        prompt = self.script.prompt
        request = models.BriefRequest(
            trigger_prompt=prompt, butler=self.script.butler, token_budget=self.script.token_budget
        )
        briefing = await brief.brief(self.resources, request)
        self.console.print(Text.assemble("  ", (f"“{prompt}”", "italic"), "\n"))
        for line in briefing.text.splitlines():
            style = "bold" if line.startswith("#") else "yellow" if "WARNING" in line else ""
            self.console.print(memories.indented(_hanging(line, style)))
        repeated = await brief.brief(self.resources, request)
        same = "the same bytes" if repeated.text == briefing.text else "different bytes"
        self.console.print()
        self.console.print(memories.indented(memories.receipt(briefing.receipt)))
        self.console.print(f"  A second call returns {same}: reading a briefing changes nothing.")


def _ranked(place: int, entry: models.Ranked) -> RenderableType:
    parts = entry.parts
    reference = f"{entry.hit.type}:{entry.hit.ref}"
    bars = "  ".join(
        f"{name} {memories.bar(share)}"
        for name, share in (
            ("fit", parts.fit),
            ("importance", parts.importance),
            ("recency", parts.recency),
            ("confidence", parts.effective_confidence),
        )
    )
    why = f"{parts.score:.2f} because it is {memories.describe_ranks(parts)}"
    grid = Table.grid(padding=(0, 1))
    grid.add_row(f"{place}.", Text.assemble(memories.describe_memory(entry.hit), (f"  {reference}", "cyan")))
    grid.add_row("", Text(f"{why}\n{bars}", style="dim"))
    return grid


def _chain(portrait: models.MemoryDetails) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    for fact in portrait.chain:
        style = "" if fact.validity == "active" else "strike dim"
        grid.add_row(
            Text(f"fact:{fact.ref}", style="cyan"),
            Text(fact.content, style=style),
            fact.validity.value,
            f"stored {fact.created_at.date()}",
        )
    return Padding(grid, (0, 0, 0, 4), expand=False)


def _hanging(line: str, style: str) -> RenderableType:
    """A line of the briefing with a hanging indent."""
    if not line.startswith("- "):
        return Text(line, style=style)
    grid = Table.grid(padding=(0, 1))
    grid.add_row("-", Text(line[2:], style=style))
    return grid


def _ago(days: int) -> str:
    if days >= 14:
        return f"{days // 7} weeks ago"
    return "today" if days == 0 else f"{days} day{'s' if days > 1 else ''} ago"
