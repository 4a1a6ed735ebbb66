-- name: add_postings
-- Index the words of memories, and count the memories that have any. Also index the names of a memory's subject
-- (@anna_schmidt), the parts of such names (#anna, #billing_service) and the n-grams of other languages (~müh); text
-- search never produces these lexemes, and they are not counted.
WITH given AS (
    SELECT g.memory_type, g.id, g.words, g.names
    FROM json_to_recordset(%(memories)s::json) AS g (memory_type text, id uuid, words text, names text[])
), found AS (
    SELECT g.memory_type, g.id, w.lexeme, least(cardinality(w.positions), 32767) AS frequency
    FROM given g CROSS JOIN LATERAL unnest(to_tsvector(%(config)s::regconfig, g.words)) w
), measured AS (
    SELECT id, sum(frequency) AS words FROM found GROUP BY id
), counted AS (
    UPDATE {schema}.tenants t SET documents = t.documents + m.memories, document_words = t.document_words + m.words
    FROM (SELECT count(*) AS memories, sum(words) AS words FROM measured) m
    WHERE t.tenant_id = %(tenant)s AND m.memories > 0
)
INSERT INTO {schema}.postings (tenant_id, memory_type, memory_id, lexeme, frequency, words)
SELECT %(tenant)s, f.memory_type, f.id, f.lexeme, f.frequency, m.words
FROM measured m
JOIN (
    SELECT memory_type, id, lexeme, frequency FROM found
    UNION ALL
    SELECT g.memory_type, g.id, n.name, 1 FROM given g CROSS JOIN LATERAL unnest(g.names) AS n (name)
) f ON f.id = m.id;

-- name: add_vectors
-- Index the vectors of memories, one per passage, count the memories, and store their domain profiles. All vectors come
-- as one array of numbers, and so do the profiles.
WITH given AS (
    SELECT %(vectors)s::real[] AS numbers, %(profiles)s::real[] AS profiles
), counted AS (
    INSERT INTO {schema}.embedding_counts AS c (tenant_id, memory_type, embedding_version, memories, passages)
    SELECT %(tenant)s, memory_type, %(embedding_version)s, count(*) FILTER (WHERE ordinal = 0), count(*)
    FROM unnest(%(types)s::text[], %(ordinals)s::smallint[]) AS p (memory_type, ordinal) GROUP BY memory_type
    ON CONFLICT (tenant_id, memory_type, embedding_version) DO UPDATE
    SET memories = c.memories + excluded.memories, passages = c.passages + excluded.passages
), profiled AS (
    INSERT INTO {schema}.profiles (tenant_id, memory_type, memory_id, version, profile)
    SELECT %(tenant)s, p.memory_type, p.memory_id, %(profile_version)s,
        g.profiles[(p.place - 1) * %(domains)s::int + 1 : p.place * %(domains)s::int]::{vector}.vector
    FROM given g
    CROSS JOIN unnest(%(profile_types)s::text[], %(profile_ids)s::uuid[])
        WITH ORDINALITY AS p (memory_type, memory_id, place)
)
INSERT INTO {schema}.passages (tenant_id, memory_type, memory_id, ordinal, embedding_version, embedding)
SELECT %(tenant)s, p.memory_type, p.memory_id, p.ordinal, %(embedding_version)s,
    g.numbers[(p.place - 1) * %(dimensions)s::int + 1 : p.place * %(dimensions)s::int]::{vector}.vector
FROM given g
CROSS JOIN unnest(%(types)s::text[], %(ids)s::uuid[], %(ordinals)s::smallint[])
    WITH ORDINALITY AS p (memory_type, memory_id, ordinal, place);

-- name: clear_postings
-- Delete memories from the keyword index.
WITH gone AS (
    DELETE FROM {schema}.postings WHERE tenant_id = %(tenant)s AND memory_id = ANY(%(ids)s)
    RETURNING memory_id, words
), memories AS (
    SELECT DISTINCT memory_id, words FROM gone
)
UPDATE {schema}.tenants
SET documents = documents - (SELECT count(*) FROM memories),
    document_words = document_words - (SELECT coalesce(sum(words), 0) FROM memories)
WHERE tenant_id = %(tenant)s;

-- name: clear_passages
-- Delete memories from the vector index.
WITH gone AS (
    DELETE FROM {schema}.passages
    WHERE tenant_id = %(tenant)s AND memory_type IN ('episode', 'fact', 'rule') AND memory_id = ANY(%(ids)s)
    RETURNING memory_type, embedding_version, ordinal
)
UPDATE {schema}.embedding_counts c SET memories = c.memories - g.memories, passages = c.passages - g.passages
FROM (
    SELECT memory_type, embedding_version, count(*) FILTER (WHERE ordinal = 0) AS memories, count(*) AS passages
    FROM gone GROUP BY memory_type, embedding_version
) g
WHERE c.tenant_id = %(tenant)s AND c.memory_type = g.memory_type AND c.embedding_version = g.embedding_version;

-- name: clear_profiles
-- Delete the domain profiles of memories.
DELETE FROM {schema}.profiles
WHERE tenant_id = %(tenant)s AND memory_type IN ('episode', 'fact', 'rule') AND memory_id = ANY(%(ids)s);

-- name: find_text_search
-- True if a text search configuration exists.
SELECT 1 AS known FROM pg_ts_config WHERE cfgname = %(config)s;

-- part: fact_words
-- Facts with their indexed text and with what decides about encryption.
SELECT 'fact' AS type, id, subject_label, predicate_label, content, tags, content LIKE 'enc:v1:%%' AS is_sealed,
    ARRAY[source_butler, scope] AS butlers
FROM {schema}.facts

-- part: rule_words
-- The same for rules.
SELECT 'rule', id, NULL, NULL, content, tags, content LIKE 'enc:v1:%%', ARRAY[source_butler, scope]
FROM {schema}.rules

-- part: episode_words
-- The same for episodes.
SELECT 'episode', id, NULL, NULL, content, tags, content LIKE 'enc:v1:%%', ARRAY[butler]
FROM {schema}.episodes

-- part: words_after
-- The tenant's memories after an id.
{fact_words} WHERE tenant_id = %(tenant)s AND id > %(after)s
UNION ALL {rule_words} WHERE tenant_id = %(tenant)s AND id > %(after)s
UNION ALL {episode_words} WHERE tenant_id = %(tenant)s AND id > %(after)s

-- part: words_of
-- Some of the tenant's memories.
{fact_words} WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s)
UNION ALL {rule_words} WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s)
UNION ALL {episode_words} WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s)

-- name: after
-- The next memories of the tenant by id, with their indexed text.
{words_after}
ORDER BY id
LIMIT %(limit)s;
