-- part: mutable
-- The columns of an episode that a change may write and an undo restores.
validity, consolidation_status, consolidation_attempts, last_consolidation_error, next_consolidation_retry_at,
importance, pinned, tags, metadata, expires_at, origin, quarantine_reason

-- part: columns
-- The columns of an episode, except the one that the database generates (`consolidated`).
tenant_id, id, ref, butler, session_id, content, content_hash, observed_at, created_at, last_referenced_at,
reference_count, request_id, {mutable}

-- part: texts
-- The columns that an event keeps apart, as text that can be removed.
content, content_hash, tags, metadata

-- name: set_fields
-- Change fields in place; NULL leaves a field as it is.
UPDATE {schema}.episodes
SET importance = coalesce(%(importance)s, importance), tags = coalesce(%(tags)s::text[], tags)
WHERE tenant_id = %(tenant)s AND id = %(id)s;

-- name: insert
-- Store new episodes, pending consolidation. The keys of a row are columns.
INSERT INTO {schema}.episodes ({columns})
SELECT {columns} FROM jsonb_array_elements(%(rows)s::jsonb) AS g (given)
CROSS JOIN LATERAL jsonb_populate_record(NULL::{schema}.episodes, g.given || {memories.of_new}
    || '{"consolidation_status": "pending", "consolidation_attempts": 0}') m;

-- name: renew
-- Make an episode active and keep it at least until a time.
UPDATE {schema}.episodes SET validity = 'active', expires_at = greatest(expires_at, %(until)s)
WHERE tenant_id = %(tenant)s AND id = %(id)s;

-- name: find_tombstone
-- The tombstone of a deleted episode.
SELECT * FROM {schema}.episode_tombstones
WHERE tenant_id = %(tenant)s AND (episode_id = %(id)s::uuid OR ref = %(ref)s::text);

-- part: well_referenced
-- True if an episode is old enough and was referenced in enough agent sessions. Checks the cheap count of references
-- first.
(e.created_at <= %(old_since)s AND e.reference_count >= %(sessions)s AND (
    SELECT count(DISTINCT m.session_id) FROM {schema}.memory_references m
    WHERE m.tenant_id = %(tenant)s AND m.memory_id = e.id) >= %(sessions)s)

-- part: backlog
-- Episodes of a butler that wait for consolidation.
{schema}.episodes e
WHERE e.tenant_id = %(tenant)s AND e.butler = %(butler)s AND e.validity = 'active'
    AND e.consolidation_status = 'pending'

-- name: next_in_line
-- The next episodes to consolidate: first those about to expire, then those referenced in several agent sessions, then
-- the oldest. Excludes episodes that wait for a retry, a decision or their key.
SELECT e.*, {runs.losses} AS losses
FROM (
    SELECT e.*, {well_referenced} AS well_referenced
    FROM {backlog} AND (e.next_consolidation_retry_at IS NULL OR e.next_consolidation_retry_at <= %(now)s)
        AND NOT {runs.held} AND NOT {runs.locked}
    ORDER BY e.expires_at <= %(soon)s DESC, well_referenced DESC, e.created_at, e.id
    LIMIT %(limit)s
) e
ORDER BY e.expires_at <= %(soon)s DESC, e.well_referenced DESC, e.created_at, e.id;

-- name: is_well_referenced
-- True if enough agent sessions referenced an episode to raise the importance of its results.
SELECT {well_referenced} AS well_referenced FROM {schema}.episodes e WHERE e.tenant_id = %(tenant)s AND e.id = %(id)s;

-- name: count_first_in_line
-- The number of prioritized episodes in a butler's backlog.
SELECT count(*) AS count FROM {backlog} AND {well_referenced} AND NOT {runs.held};
