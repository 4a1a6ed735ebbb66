"""Memories as MCP resources, and prompts that a person can choose in a client.

Both go through the tools: the same caller, role, deadline and errors.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from fastmcp import FastMCP
from fastmcp.exceptions import ResourceError

from memory_butler.adapters.mcp.tool_base import MemoryTool

PROFILE_QUESTION = "What do you know about me?"
PROFILE_LIMIT = 30
PLAIN = "text/plain"
FACT_URI = "memory://fact/{ref}"
BRIEFING_URI = "memory://briefing/{task}"


class MemoryResources:
    """Resources and prompts of a server, which answer with the text of its tools."""

    def __init__(self, tools: Sequence[MemoryTool], butler: str) -> None:
        self._tools: Mapping[str, MemoryTool] = {tool.name: tool for tool in tools}
        self._butler = butler

    def register(self, server: FastMCP[None]) -> None:
        server.resource("memory://profile", name="profile", mime_type=PLAIN)(self.profile)
        server.resource(BRIEFING_URI, name="briefing", mime_type=PLAIN)(self.briefing)
        server.resource(FACT_URI, name="fact", mime_type=PLAIN)(self.fact)
        server.prompt(self.remember)
        server.prompt(self.recall)
        server.prompt(self.review)

    async def profile(self) -> str:
        """What is known about the user: the most important facts and preferences."""
        return await self._text("memory_search", query=PROFILE_QUESTION, limit=PROFILE_LIMIT)

    async def briefing(self, task: str) -> str:
        """The briefing for a task."""
        return await self._text("memory_context", trigger_prompt=task, butler=self._butler)

    async def fact(self, ref: str) -> str:
        """One fact with its sources and earlier values."""
        return await self._text("memory_get", type="fact", id=ref)

    def remember(self, what: str) -> str:
        """Store something for later sessions."""
        return (
            f"Remember this for later sessions: {what}\n\n"
            "Store it with memory_store_fact (what is true), memory_store_rule (how to act) or memory_store_episode "
            "(what happened), with source='user'. Say in one line what you stored."
        )

    def recall(self, topic: str) -> str:
        """Say what is remembered about a topic."""
        return (
            f"Use memory_search for {topic!r} and say in a few lines what is remembered about it, with the references. "
            "Say so if nothing is found; do not guess."
        )

    def review(self) -> str:
        """Check what is remembered, and correct what is wrong."""
        return (
            "Use memory_search to show me the ten most important things you remember about me and our projects, as a "
            "numbered list with references. Ask which are wrong or outdated. Then use memory_confirm for what I "
            "confirm, memory_correct for what I correct, and memory_forget for what should go."
        )

    async def _text(self, tool: str, **arguments: Any) -> str:
        result = await self._tools[tool].run(arguments)
        if result.is_error:
            problem = result.structured_content or {}
            raise ResourceError(f"{problem.get('message')} {problem.get('recovery')}")
        return "\n".join(part.text for part in result.content if part.type == "text")
