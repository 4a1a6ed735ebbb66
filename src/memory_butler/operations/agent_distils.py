"""A connected agent as the distiller: it claims a batch, does the thinking, and submits a proposal."""

from dataclasses import dataclass, replace

from memory_butler.butler import Butler
from memory_butler.errors import NotFound, PermissionDenied, UnusableProposal
from memory_butler.models import Batch, Caller, RunReport, Usage
from memory_butler.operations.claims import Claim, ClaimLost, acting, claim_batch
from memory_butler.operations.consolidate import settle
from memory_butler.operations.gathering import gather
from memory_butler.operations.look_up import named_in
from memory_butler.operations.reading import read_proposal
from memory_butler.operations.review import parse_run
from memory_butler.store import consolidation

AGENT = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """A batch that an agent has claimed."""

    claim: Claim
    batch: Batch


async def claim(butler: Butler, caller: Caller | None = None, *, most: int | None = None) -> Handed | None:
    """Claim the next batch of the caller's own backlog; None if nothing waits, or somebody is at it."""
    caller = acting(_enabled(butler, caller))
    taken = await claim_batch(butler, caller, AGENT, most=most or butler.settings.consolidation.most)
    if taken is None:
        return None
    batch = await gather(butler, caller, [line.episode for line in taken.lines], with_known=True)
    return Handed(claim=taken, batch=batch)


async def submit(butler: Butler, run: str, proposal: object, caller: Caller | None = None) -> RunReport:
    """Check and apply an agent's proposal for the batch it has claimed. One that cannot be used leaves the claim as it
    is, so that the agent can try again while its lease lasts."""
    caller = acting(_enabled(butler, caller))
    wanted, now = parse_run(run), butler.clock()
    async with butler.database.read(caller.principal.tenant) as session:
        found = await consolidation.get(session, wanted)
        if found is None or found.butler != caller.principal.butler or found.distiller != AGENT:
            raise NotFound(
                "There is no such claim of yours.", recovery="Claim a batch with memory_consolidation_claim."
            )
        if found.state != "claimed":
            raise ClaimLost(f"This batch is {found.state}.")
        eden = butler.settings.lifecycle_of(found.butler).eden
        lines = await consolidation.batch(session, wanted, eden, now)
    if not lines:
        raise UnusableProposal("The episodes of this batch are gone.")
    batch = await gather(butler, caller, [line.episode for line in lines], with_known=False)
    batch = replace(batch, known=await named_in(butler, caller, proposal))
    read = await read_proposal(butler, proposal, batch, usage=Usage())
    held = Claim(run=wanted, distiller=AGENT, lines=tuple(lines), lease_until=found.lease_until)
    return await settle(butler, caller, held, read)


def _enabled(butler: Butler, caller: Caller | None) -> Caller:
    if butler.settings.consolidation.distiller != "agent":
        raise PermissionDenied(
            "Agents do not distil in this store.",
            recovery='Set consolidation.distiller = "agent" to have connected agents do it.',
        )
    return caller or butler.local_caller()
