"""A connected agent as the distiller: it claims a batch, reads it, and submits a proposal."""

from dataclasses import dataclass, replace

from memory_butler.errors import NotFound, PermissionDenied, UnusableProposal
from memory_butler.models import Batch, Caller, RunReport, Usage
from memory_butler.operations.consolidation.claims import Claim, ClaimLost, acting_as_shard, claim_batch
from memory_butler.operations.consolidation.consolidate import finish_run
from memory_butler.operations.consolidation.distiller_input import build_batch
from memory_butler.operations.consolidation.prefetch import prepare_proposal
from memory_butler.operations.consolidation.proposal_targets import proposal_targets
from memory_butler.operations.consolidation.review import parse_run
from memory_butler.resources import Resources
from memory_butler.store.consolidation import runs

AGENT = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedBatch:
    """A batch that an agent has claimed."""

    claim: Claim
    batch: Batch


async def claim(resources: Resources, caller: Caller | None = None, *, most: int | None = None) -> ClaimedBatch | None:
    """Claim the next batch of the caller's backlog. None if the backlog is empty or another worker holds a claim."""
    caller = acting_as_shard(_enabled(resources, caller))
    claimed = await claim_batch(resources, caller, AGENT, most=most or resources.settings.consolidation.most)
    if claimed is None:
        return None
    batch = await build_batch(resources, caller, [line.episode for line in claimed.lines], with_known=True)
    return ClaimedBatch(claim=claimed, batch=batch)


async def submit(resources: Resources, run: str, proposal: object, caller: Caller | None = None) -> RunReport:
    """Check and apply an agent's proposal for the batch it has claimed. After an unusable proposal the claim stays, so
    that the agent can submit again while its lease lasts."""
    caller = acting_as_shard(_enabled(resources, caller))
    run_id, now = parse_run(run), resources.clock()
    async with resources.database.read(caller.principal.tenant) as transaction:
        record = await runs.get(transaction, run_id)
        if record is None or record.butler != caller.principal.butler or record.distiller != AGENT:
            raise NotFound("You hold no such claim.", recovery="Claim a batch with memory_consolidation_claim.")
        if record.state != "claimed":
            raise ClaimLost(f"This batch is {record.state}.")
        eden = resources.settings.lifecycle_of(record.butler).eden
        lines = await runs.batch(transaction, run_id, eden, now)
    if not lines:
        raise UnusableProposal("The episodes of this batch no longer exist.")
    batch = await build_batch(resources, caller, [line.episode for line in lines], with_known=False)
    batch = replace(batch, known=await proposal_targets(resources, caller, proposal))
    distilled = await prepare_proposal(resources, proposal, batch, usage=Usage())
    claimed = Claim(run=run_id, distiller=AGENT, lines=tuple(lines), lease_until=record.lease_until)
    return await finish_run(resources, caller, claimed, distilled)


def _enabled(resources: Resources, caller: Caller | None) -> Caller:
    if resources.settings.consolidation.distiller != "agent":
        raise PermissionDenied(
            "Agents are not the distiller of this store.",
            recovery='Set consolidation.distiller = "agent" to let connected agents distil.',
        )
    return caller or resources.local_caller()
