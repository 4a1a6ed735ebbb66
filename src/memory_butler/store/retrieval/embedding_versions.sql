-- name: find
-- The id of an embedding version, if it is registered.
SELECT id FROM {schema}.embedding_versions
WHERE name = %(name)s AND digest = %(digest)s AND passage_policy = %(passage_policy)s;

-- name: add
-- Register an embedding version. It is the one that was chosen last.
INSERT INTO {schema}.embedding_versions (name, dimensions, digest, passage_policy, created_at, chosen_at, used_at)
VALUES (%(name)s, %(dimensions)s, %(digest)s, %(passage_policy)s, %(now)s, %(now)s, %(now)s)
ON CONFLICT DO NOTHING;

-- name: all
-- The embedding versions.
SELECT id, name, digest, dimensions, passage_policy FROM {schema}.embedding_versions ORDER BY id;

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
