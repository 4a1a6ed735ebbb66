-- name: insert
-- Join memories, two by two; joining them twice changes nothing.
INSERT INTO {schema}.memory_links (
    tenant_id, source_type, source_id, target_type, target_id, relation, created_at, request_id
)
SELECT %(tenant)s, n.source_type, n.source_id, n.target_type, n.target_id, n.relation, n.created_at, n.request_id
FROM json_to_recordset(%(links)s::json) AS n (source_type text, source_id uuid, target_type text, target_id uuid,
    relation text, created_at timestamptz, request_id text)
ON CONFLICT DO NOTHING;

-- part: shown
-- The links in `ends`, each saying whether its other end is still there.
SELECT e.source_type, e.source_id, e.target_type, e.target_id, e.relation, e.created_at,
    CASE WHEN coalesce(f.id, r.id, p.id) IS NOT NULL THEN 'available'
        WHEN t.episode_id IS NOT NULL THEN 'expired' ELSE 'unknown' END AS availability,
    coalesce(f.ref, r.ref, p.ref, t.ref) AS other_ref
FROM ends e
LEFT JOIN {schema}.facts f ON e.other_type = 'fact' AND f.tenant_id = %(tenant)s AND f.id = e.other_id
LEFT JOIN {schema}.rules r ON e.other_type = 'rule' AND r.tenant_id = %(tenant)s AND r.id = e.other_id
LEFT JOIN {schema}.episodes p ON e.other_type = 'episode' AND p.tenant_id = %(tenant)s AND p.id = e.other_id
LEFT JOIN {schema}.episode_tombstones t
    ON e.other_type = 'episode' AND t.tenant_id = %(tenant)s AND t.episode_id = e.other_id
ORDER BY e.created_at, e.relation, e.source_id, e.target_id

-- name: around
-- The links of a memory in both directions, of many the newest, each saying whether its other end is still there.
WITH both_ways AS (
    SELECT l.*, l.target_type AS other_type, l.target_id AS other_id
    FROM {schema}.memory_links l WHERE l.tenant_id = %(tenant)s AND l.source_id = %(id)s
    UNION ALL
    SELECT l.*, l.source_type, l.source_id
    FROM {schema}.memory_links l WHERE l.tenant_id = %(tenant)s AND l.target_id = %(id)s
), ends AS (
    SELECT * FROM both_ways ORDER BY created_at DESC, relation, source_id, target_id LIMIT %(limit)s
)
{shown};
