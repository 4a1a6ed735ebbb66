-- name: insert
-- Link pairs of memories; existing links are unchanged.
INSERT INTO {schema}.memory_links (
    tenant_id, source_type, source_id, target_type, target_id, relation, created_at, request_id
)
SELECT %(tenant)s, n.source_type, n.source_id, n.target_type, n.target_id, n.relation, n.created_at, n.request_id
FROM json_to_recordset(%(links)s::json) AS n (source_type text, source_id uuid, target_type text, target_id uuid,
    relation text, created_at timestamptz, request_id text)
ON CONFLICT DO NOTHING;

-- name: written
-- The relations and targets of a memory's links that callers may write.
SELECT relation, target_id FROM {schema}.memory_links
WHERE tenant_id = %(tenant)s AND source_id = %(id)s AND relation = ANY(%(relations)s::text[]);

-- name: withdraw
-- Remove links that a caller wrote, for an undo.
SELECT {schema}.unlink(%(links)s::json);

-- part: ends
-- The links of a memory in both directions, with the other end and its owner: the butler of an episode, also of a
-- deleted one, or the scope of a fact or rule.
SELECT {end} FROM (
    SELECT l.*, l.target_type AS other_type, l.target_id AS other_id
    FROM {schema}.memory_links l WHERE l.tenant_id = %(tenant)s AND l.source_id = %(id)s
    UNION ALL
    SELECT l.*, l.source_type, l.source_id
    FROM {schema}.memory_links l WHERE l.tenant_id = %(tenant)s AND l.target_id = %(id)s
) b
{other}

-- part: end
-- A link b with the owner and the state of its other end.
b.*, coalesce(f.scope, r.scope, p.butler, t.butler) AS owner,
    CASE WHEN coalesce(f.id, r.id, p.id) IS NOT NULL THEN 'available'
        WHEN t.episode_id IS NOT NULL THEN 'expired' ELSE 'unknown' END AS availability,
    coalesce(f.ref, r.ref, p.ref, t.ref) AS other_ref

-- part: other
-- The memory at the other end of a link b, or its tombstone.
LEFT JOIN {schema}.facts f ON b.other_type = 'fact' AND f.tenant_id = %(tenant)s AND f.id = b.other_id
LEFT JOIN {schema}.rules r ON b.other_type = 'rule' AND r.tenant_id = %(tenant)s AND r.id = b.other_id
LEFT JOIN {schema}.episodes p ON b.other_type = 'episode' AND p.tenant_id = %(tenant)s AND p.id = b.other_id
LEFT JOIN {schema}.episode_tombstones t
    ON b.other_type = 'episode' AND t.tenant_id = %(tenant)s AND t.episode_id = b.other_id

-- part: visible
-- True if the caller may see the other end. If its owner is unknown, only admins may.
(%(eyes)s::text IS NULL OR l.owner = %(eyes)s::text OR (l.owner = 'global' AND l.other_type <> 'episode'))

-- part: columns
-- The columns of a link.
l.source_type, l.source_id, l.target_type, l.target_id, l.relation, l.created_at, l.availability, l.other_ref

-- name: around
-- The newest links of a memory that the caller may see, and whether the other end still exists.
SELECT * FROM (
    SELECT {columns} FROM ({ends}) l WHERE {visible}
    ORDER BY l.created_at DESC, l.relation, l.source_id, l.target_id LIMIT %(limit)s
) n ORDER BY created_at, relation, source_id, target_id;

-- name: hidden
-- The number of links of a memory that the caller may not see.
SELECT count(*) AS count FROM ({ends}) l WHERE NOT coalesce({visible}, false);

-- name: owned
-- Those of some episodes, including deleted ones, that belong to a butler.
SELECT id FROM {schema}.episodes WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s) AND butler = %(eyes)s
UNION
SELECT episode_id FROM {schema}.episode_tombstones
WHERE tenant_id = %(tenant)s AND episode_id = ANY(%(ids)s) AND butler = %(eyes)s;
