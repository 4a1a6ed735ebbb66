-- name: insert
-- Store new episodes, waiting for consolidation.
INSERT INTO {schema}.episodes (
    tenant_id, id, ref, butler, session_id, content, content_hash, importance, tags, validity,
    consolidation_status, consolidation_attempts, observed_at, created_at, expires_at, reference_count, metadata,
    request_id
)
SELECT %(tenant)s, n.id, n.ref, n.butler, n.session_id, n.content, n.content_hash, n.importance, n.tags, 'active',
    'pending', 0, n.observed_at, n.now, n.expires_at, 0, n.metadata, n.request_id
FROM json_to_recordset(%(episodes)s::json) AS n (id uuid, ref text, butler text, session_id text, content text,
    content_hash bytea, importance smallint, tags text[], observed_at timestamptz, now timestamptz,
    expires_at timestamptz, metadata jsonb, request_id text);

-- name: set_validity
-- Withdraw an episode from use, or bring it back.
UPDATE {schema}.episodes SET validity = %(validity)s WHERE tenant_id = %(tenant)s AND id = %(id)s;

-- name: renew
-- An episode in use, kept at least until then.
UPDATE {schema}.episodes SET validity = 'active', expires_at = greatest(expires_at, %(until)s)
WHERE tenant_id = %(tenant)s AND id = %(id)s;

-- name: set_pinned
-- Keep an episode whatever time does, or let time have it again.
UPDATE {schema}.episodes SET pinned = %(pinned)s WHERE tenant_id = %(tenant)s AND id = %(id)s;

-- name: get
-- One episode by id or by reference.
SELECT * FROM {schema}.episodes
WHERE tenant_id = %(tenant)s AND (id = %(id)s::uuid OR ref = %(ref)s::text);

-- name: find_tombstone
-- What is left of an episode that was deleted.
SELECT * FROM {schema}.episode_tombstones
WHERE tenant_id = %(tenant)s AND (episode_id = %(id)s::uuid OR ref = %(ref)s::text);

-- part: well_referenced
-- Old enough, and referred to in enough different sessions. Its number of references is looked at first: that is quick.
(e.created_at <= %(old_since)s AND e.reference_count >= %(sessions)s AND (
    SELECT count(DISTINCT m.session_id) FROM {schema}.memory_references m
    WHERE m.tenant_id = %(tenant)s AND m.memory_id = e.id) >= %(sessions)s)

-- part: backlog
-- Episodes of a butler that wait for consolidation.
{schema}.episodes e
WHERE e.tenant_id = %(tenant)s AND e.butler = %(butler)s AND e.validity = 'active'
    AND e.consolidation_status = 'pending'

-- name: next_in_line
-- What to consolidate next: what is about to expire comes first, then what was referred to in several sessions, then the
-- oldest; nothing that is still waiting for another try, or for somebody's decision.
SELECT e.*, {consolidation.losses} AS losses
FROM (
    SELECT e.*, {well_referenced} AS well_referenced
    FROM {backlog} AND (e.next_consolidation_retry_at IS NULL OR e.next_consolidation_retry_at <= %(now)s)
        AND NOT {consolidation.held}
    ORDER BY e.expires_at <= %(soon)s DESC, well_referenced DESC, e.created_at, e.id
    LIMIT %(limit)s
) e
ORDER BY e.expires_at <= %(soon)s DESC, e.well_referenced DESC, e.created_at, e.id;

-- name: is_well_referenced
-- Whether so many sessions referred to an episode that what comes from it matters more.
SELECT {well_referenced} AS well_referenced FROM {schema}.episodes e WHERE e.tenant_id = %(tenant)s AND e.id = %(id)s;

-- name: count_first_in_line
-- How many of a butler's episodes that are yet to be distilled have been put first.
SELECT count(*) AS count FROM {backlog} AND {well_referenced} AND NOT {consolidation.held};
