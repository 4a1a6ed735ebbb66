-- name: outdated
-- The next memories by id without passages of the current embedding version or without a current domain profile, with
-- their indexed text.
SELECT type, id, subject_label, predicate_label, content, tags, is_sealed, butlers
FROM (
    {search_index.words_after}
) m
WHERE NOT EXISTS (
    SELECT FROM {schema}.passages p
    WHERE p.tenant_id = %(tenant)s AND p.memory_type = m.type AND p.memory_id = m.id
        AND p.embedding_version = %(version)s
) OR NOT EXISTS (
    SELECT FROM {schema}.profiles p
    WHERE p.tenant_id = %(tenant)s AND p.memory_type = m.type AND p.memory_id = m.id
        AND p.version = %(profile_version)s
)
ORDER BY id
LIMIT %(limit)s;

-- name: present
-- Those of some memories that still exist: one may be deleted while it is embedded.
SELECT id FROM {schema}.facts WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s)
UNION ALL
SELECT id FROM {schema}.rules WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s)
UNION ALL
SELECT id FROM {schema}.episodes WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s);
