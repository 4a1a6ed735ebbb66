-- name: find
-- The id of an embedding version, if it is registered.
SELECT id, used_at FROM {schema}.embedding_versions
WHERE name = %(name)s AND digest = %(digest)s AND passage_policy = %(passage_policy)s;

-- name: add
-- Register an embedding version. It is the one that was chosen last.
INSERT INTO {schema}.embedding_versions (name, dimensions, digest, passage_policy, created_at, chosen_at, used_at)
VALUES (%(name)s, %(dimensions)s, %(digest)s, %(passage_policy)s, %(now)s, {chosen_now}, %(now)s)
ON CONFLICT DO NOTHING;

-- name: all
-- The embedding versions.
SELECT id, name, digest, dimensions, passage_policy FROM {schema}.embedding_versions ORDER BY id;

-- part: chosen_now
-- The time of the latest choice, whatever the clocks of other machines say.
greatest(%(now)s, (SELECT max(chosen_at) + interval '1 microsecond' FROM {schema}.embedding_versions))

-- name: use
-- Note that a version is in use. It becomes the chosen one on request, or if none that was chosen later is in use.
UPDATE {schema}.embedding_versions v SET used_at = %(now)s,
    chosen_at = CASE WHEN %(choose)s OR NOT EXISTS (
        SELECT FROM {schema}.embedding_versions o WHERE o.chosen_at > v.chosen_at AND o.used_at > %(unused_since)s
    ) THEN {chosen_now} ELSE v.chosen_at END
WHERE v.id = %(version)s AND (%(choose)s OR v.used_at < %(noted_since)s);

-- part: is_chosen
-- True if no version was chosen later than the current one.
NOT EXISTS (
    SELECT FROM {schema}.embedding_versions v JOIN {schema}.embedding_versions o ON o.chosen_at > v.chosen_at
    WHERE v.id = %(version)s
)

-- name: standing
-- How many memories of the tenant have vectors of another version, whether the current one is to replace them, and
-- since when that is paused.
SELECT {is_chosen} AS is_chosen,
    (SELECT paused_at FROM {schema}.reembedding_pauses WHERE tenant_id = %(tenant)s) AS paused_at,
    (SELECT coalesce(sum(memories), 0)::bigint FROM {schema}.embedding_counts
        WHERE tenant_id = %(tenant)s AND embedding_version <> %(version)s) AS earlier;

-- name: counts
-- The number of a tenant's memories by embedding version.
SELECT v.id AS version, v.name, v.passage_policy, sum(c.memories)::bigint AS memories
FROM {schema}.embedding_counts c JOIN {schema}.embedding_versions v ON v.id = c.embedding_version
WHERE c.tenant_id = %(tenant)s AND c.memories > 0
GROUP BY v.id ORDER BY v.chosen_at DESC, v.id DESC;

-- name: pause
-- Do not embed the tenant's memories again for now.
INSERT INTO {schema}.reembedding_pauses (tenant_id, paused_at) VALUES (%(tenant)s, %(now)s)
ON CONFLICT DO NOTHING;

-- name: resume
-- Go on embedding the tenant's memories.
DELETE FROM {schema}.reembedding_pauses WHERE tenant_id = %(tenant)s;

-- part: with_other_vectors
-- each: fact=facts, rule=rules, episode=episodes
-- Memories of a type with vectors of another version.
SELECT m.id, m.created_at, m.last_referenced_at, m.reference_count
FROM {schema}.passages p JOIN {schema}.{table} m ON m.tenant_id = p.tenant_id AND m.id = p.memory_id
WHERE p.tenant_id = %(tenant)s AND p.memory_type = '{kind}' AND p.ordinal = 0
    AND p.embedding_version <> %(version)s

-- name: next
-- The memories to embed next: the newest and last used first, a day earlier for each time that one was used.
SELECT m.id
FROM (
    {with_other_vectors:fact} UNION ALL {with_other_vectors:rule} UNION ALL {with_other_vectors:episode}
) m
ORDER BY greatest(m.created_at, m.last_referenced_at) + least(m.reference_count, 365) * interval '1 day' DESC, m.id DESC
LIMIT %(limit)s;

-- name: texts
-- Those of some memories that have vectors of another version, with their indexed text and the passage policy of the
-- vectors.
SELECT m.type, m.id, m.subject_label, m.predicate_label, m.content, m.tags, m.is_sealed, m.butlers, v.passage_policy
FROM (
    {search_index.words_of}
) m
JOIN {schema}.passages p ON p.tenant_id = %(tenant)s AND p.memory_type = m.type AND p.memory_id = m.id
    AND p.ordinal = 0 AND p.embedding_version <> %(version)s
JOIN {schema}.embedding_versions v ON v.id = p.embedding_version
ORDER BY m.id;

-- name: drop_orphans
-- Delete vectors of other versions that belong to no memory.
DELETE FROM {schema}.passages p
WHERE p.tenant_id = %(tenant)s AND p.embedding_version <> %(version)s
    AND NOT EXISTS (SELECT FROM {schema}.facts WHERE tenant_id = %(tenant)s AND id = p.memory_id)
    AND NOT EXISTS (SELECT FROM {schema}.rules WHERE tenant_id = %(tenant)s AND id = p.memory_id)
    AND NOT EXISTS (SELECT FROM {schema}.episodes WHERE tenant_id = %(tenant)s AND id = p.memory_id);

-- name: forget_counts
-- Delete the counts of a tenant, to count again.
DELETE FROM {schema}.embedding_counts WHERE tenant_id = %(tenant)s;

-- name: count_again
-- Count the tenant's passages.
INSERT INTO {schema}.embedding_counts (tenant_id, memory_type, embedding_version, memories, passages)
SELECT %(tenant)s, memory_type, embedding_version, count(*) FILTER (WHERE ordinal = 0), count(*)
FROM {schema}.passages WHERE tenant_id = %(tenant)s
GROUP BY memory_type, embedding_version;

-- name: outdated
-- The next memories by id without any passages, or whose passages are current and whose domain profile is not, with
-- their indexed text.
SELECT m.type, m.id, m.subject_label, m.predicate_label, m.content, m.tags, m.is_sealed, m.butlers
FROM (
    {search_index.words_after}
) m
LEFT JOIN {schema}.passages v
    ON v.tenant_id = %(tenant)s AND v.memory_type = m.type AND v.memory_id = m.id AND v.ordinal = 0
WHERE v.memory_id IS NULL OR v.embedding_version = %(version)s AND NOT EXISTS (
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
