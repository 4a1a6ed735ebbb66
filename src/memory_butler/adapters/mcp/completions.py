"""Completion of arguments of resources and prompts: references of facts, and subjects."""

import logging
from typing import Any

from mcp_types import CompletionArgument, PromptReference, ResourceTemplateReference

from memory_butler.adapters.http.identity import request_principal
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.adapters.mcp.memory_resources import BRIEFING_URI, FACT_URI
from memory_butler.errors import MemoryButlerError
from memory_butler.models import Caller, MemoryType, Principal
from memory_butler.models.listings import Listing
from memory_butler.operations.browse import graph, listings
from memory_butler.resources import Resources

log = logging.getLogger(__name__)
MOST = 20
# The newest facts, which are looked through for a reference.
LOOKED_THROUGH = 100


class Completions:
    """Answers `completion/complete`. Without an answer, the client completes nothing."""

    def __init__(self, lazy: LazyResources, principal: Principal | None) -> None:
        self._lazy = lazy
        self._principal = principal

    async def complete(
        self, ref: PromptReference | ResourceTemplateReference, argument: CompletionArgument, context: Any
    ) -> list[str]:
        try:
            resources = await self._lazy.get_for_call()
            caller = self._caller(resources)
            if isinstance(ref, ResourceTemplateReference) and ref.uri == FACT_URI:
                return await _references(resources, caller, argument.value)
            if isinstance(ref, PromptReference) or ref.uri == BRIEFING_URI:
                return await _subjects(resources, caller, argument.value)
        except MemoryButlerError as problem:
            log.info("no completion: %s", problem.message)
        return []

    def _caller(self, resources: Resources) -> Caller:
        required = self._lazy.settings.service.auth == "required"
        principal = self._principal or request_principal(required=required)
        return Caller(principal) if principal else resources.local_caller()


async def _references(resources: Resources, caller: Caller, typed: str) -> list[str]:
    page = await listings.memories(resources, Listing(type=MemoryType.FACT), caller, limit=LOOKED_THROUGH)
    found = (f"fact:{one.memory.ref}" for one in page.items)
    wanted = typed.casefold()
    return [one for one in found if one.startswith(wanted) or one.partition(":")[2].startswith(wanted)][:MOST]


async def _subjects(resources: Resources, caller: Caller, typed: str) -> list[str]:
    words = typed.strip() or None
    return [one.label for one in await graph.subjects(resources, caller, words=words, limit=MOST)]
