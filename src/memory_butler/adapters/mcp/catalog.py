"""All declared tools, and who may use them."""

from collections.abc import Mapping

from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.adapters.mcp.tool_base import Declaration, MemoryTool, ToolGroup
from memory_butler.adapters.mcp.tools.batch import BatchTools
from memory_butler.adapters.mcp.tools.consolidation import ConsolidationTools, is_offered
from memory_butler.adapters.mcp.tools.correction import CorrectionTools
from memory_butler.adapters.mcp.tools.feedback import FeedbackTools
from memory_butler.adapters.mcp.tools.history import ActivityTools, HistoryTools
from memory_butler.adapters.mcp.tools.retrieval import RetrievalTools
from memory_butler.adapters.mcp.tools.writing import WritingTools
from memory_butler.models import Principal, Role
from memory_butler.policy.access import roles
from memory_butler.settings import Settings

GROUPS: tuple[type[ToolGroup], ...] = (
    WritingTools,
    RetrievalTools,
    FeedbackTools,
    CorrectionTools,
    HistoryTools,
    BatchTools,
    ActivityTools,
    ConsolidationTools,
)
TOOLS: Mapping[str, Declaration] = {
    declaration.name: declaration for group in GROUPS for declaration in group.declarations()
}
# The role table: every tool, and every operation that is not a tool.
ALLOWED: Mapping[str, frozenset[Role]] = {**{name: one.roles for name, one in TOOLS.items()}, **roles.ALLOWED}


def offered_groups(settings: Settings) -> list[type[ToolGroup]]:
    """The groups that these settings turn on."""
    return [group for group in GROUPS if group is not ConsolidationTools or is_offered(settings)]


def build_tools(lazy: LazyResources, principal: Principal | None = None) -> list[MemoryTool]:
    """All tools. Without a principal the caller is the one of each HTTP request, or the owner of the local store."""
    return [tool for group in offered_groups(lazy.settings) for tool in group(lazy, principal).tools()]


def allowed_roles(operation: str) -> frozenset[Role]:
    return ALLOWED.get(operation, frozenset())


def check_operation(principal: Principal, operation: str) -> None:
    """Raise `PermissionDenied` unless the caller's role allows the tool or operation."""
    roles.check_role(principal, operation, allowed_roles(operation))
