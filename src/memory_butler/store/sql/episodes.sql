-- name: insert
-- Store a new episode, waiting for consolidation.
INSERT INTO {schema}.episodes (
    tenant_id, id, ref, butler, session_id, content, content_hash, importance, tags, validity,
    consolidation_status, consolidation_attempts, observed_at, created_at, expires_at, reference_count, metadata,
    request_id
) VALUES (
    %(tenant)s, %(id)s, %(ref)s, %(butler)s, %(session_id)s, %(content)s, %(content_hash)s, %(importance)s,
    %(tags)s, 'active', 'pending', 0, %(observed_at)s, %(now)s, %(expires_at)s, 0, %(metadata)s, %(request_id)s
);

-- name: set_validity
-- Withdraw an episode from use, or bring it back.
UPDATE {schema}.episodes SET validity = %(validity)s WHERE tenant_id = %(tenant)s AND id = %(id)s;

-- name: get
-- One episode by id or by reference.
SELECT * FROM {schema}.episodes
WHERE tenant_id = %(tenant)s AND (id = %(id)s::uuid OR ref = %(ref)s::text);

-- name: find_tombstone
-- What is left of an episode that was deleted.
SELECT * FROM {schema}.episode_tombstones
WHERE tenant_id = %(tenant)s AND (episode_id = %(id)s::uuid OR ref = %(ref)s::text);
