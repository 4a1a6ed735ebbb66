-- name: page
-- The next texts of all memories, current and past, with the memory that each belongs to.
SELECT t.memory_id, t.hash, t.body,
    CASE WHEN f.id IS NOT NULL THEN 'fact' WHEN r.id IS NOT NULL THEN 'rule' WHEN p.id IS NOT NULL THEN 'episode' END
        AS type,
    coalesce(f.ref, r.ref, p.ref) AS ref, coalesce(f.validity, r.validity, p.validity) AS validity,
    coalesce(f.content, r.content, p.content) AS content, f.predicate_label
FROM {schema}.texts t
LEFT JOIN {schema}.facts f ON f.tenant_id = %(tenant)s AND f.id = t.memory_id
LEFT JOIN {schema}.rules r ON r.tenant_id = %(tenant)s AND r.id = t.memory_id
LEFT JOIN {schema}.episodes p ON p.tenant_id = %(tenant)s AND p.id = t.memory_id
WHERE t.tenant_id = %(tenant)s AND (t.memory_id, t.hash) > (%(after_id)s, %(after_hash)s)
ORDER BY t.memory_id, t.hash
LIMIT %(size)s;

-- name: count
-- The number of stored texts.
SELECT count(*) AS texts FROM {schema}.texts WHERE tenant_id = %(tenant)s;
