"""Settings, read once: defaults, overridden by `config.toml` in the home folder, overridden by the environment."""

from memory_butler.settings.backup import BackupSettings
from memory_butler.settings.call_log import CallLogSettings
from memory_butler.settings.dashboard import DashboardSettings, LoginSettings, Source
from memory_butler.settings.database import DatabaseSettings
from memory_butler.settings.encryption import EncryptionPolicy, EncryptionSettings, Searchable
from memory_butler.settings.hooks import HookSettings
from memory_butler.settings.lifecycle import (
    PRESETS,
    EdenTier,
    Lifecycle,
    LongTier,
    MidTier,
)
from memory_butler.settings.loading import (
    ENV_PREFIX,
    ButlerSettings,
    Settings,
    TenantSettings,
    load_settings,
)
from memory_butler.settings.mcp import McpSettings, ToolSet
from memory_butler.settings.partitions import PartitionSettings
from memory_butler.settings.redaction import RedactionSettings
from memory_butler.settings.retrieval import (
    BriefingSettings,
    CrossEncoderSettings,
    Embedding,
    Quotas,
    Rerank,
    Retrieval,
    ScoreWeights,
)
from memory_butler.settings.service import (
    FeedbackLimits,
    JwtSettings,
    Limits,
    Service,
    Signature,
    is_loopback_host,
)
from memory_butler.settings.telemetry import Telemetry
from memory_butler.settings.upkeep import (
    ClaudeCodeSettings,
    Consolidation,
    ModelSettings,
    Upkeep,
)
from memory_butler.settings.values import (
    LONGEST_DAYS,
    Capacity,
    Days,
    Group,
    Name,
    Share,
    SqlName,
    Times,
    said_of,
)
from memory_butler.settings.vector_index import (
    HnswSettings,
    IvfflatSettings,
    VectorIndex,
)

__all__ = [
    "ENV_PREFIX",
    "LONGEST_DAYS",
    "PRESETS",
    "BackupSettings",
    "BriefingSettings",
    "ButlerSettings",
    "CallLogSettings",
    "Capacity",
    "ClaudeCodeSettings",
    "Consolidation",
    "CrossEncoderSettings",
    "DashboardSettings",
    "DatabaseSettings",
    "Days",
    "EdenTier",
    "Embedding",
    "EncryptionPolicy",
    "EncryptionSettings",
    "FeedbackLimits",
    "Group",
    "HnswSettings",
    "HookSettings",
    "IvfflatSettings",
    "JwtSettings",
    "Lifecycle",
    "Limits",
    "LoginSettings",
    "LongTier",
    "McpSettings",
    "MidTier",
    "ModelSettings",
    "Name",
    "PartitionSettings",
    "Quotas",
    "RedactionSettings",
    "Rerank",
    "Retrieval",
    "ScoreWeights",
    "Searchable",
    "Service",
    "Settings",
    "Share",
    "Signature",
    "Source",
    "SqlName",
    "Telemetry",
    "TenantSettings",
    "Times",
    "ToolSet",
    "Upkeep",
    "VectorIndex",
    "is_loopback_host",
    "load_settings",
    "said_of",
]
