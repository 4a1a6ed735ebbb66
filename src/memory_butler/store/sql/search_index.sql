-- name: add_postings
-- Index the words of a memory, and count it among what can be found by words if it has any.
WITH found AS (
    SELECT lexeme, least(cardinality(positions), 32767) AS frequency
    FROM unnest(to_tsvector(%(config)s::regconfig, %(words)s))
), measured AS (
    SELECT sum(frequency) AS words FROM found
), counted AS (
    UPDATE {schema}.tenants SET documents = documents + 1, document_words = document_words + m.words
    FROM measured m
    WHERE tenant_id = %(tenant)s AND m.words > 0
)
INSERT INTO {schema}.postings (tenant_id, memory_type, memory_id, lexeme, frequency, words)
SELECT %(tenant)s, %(memory_type)s, %(memory_id)s, lexeme, frequency, m.words
FROM found CROSS JOIN measured m;

-- name: add_passage
-- Index the meaning of one passage of a memory.
INSERT INTO {schema}.passages (tenant_id, memory_type, memory_id, ordinal, embedding_version, embedding)
VALUES (%(tenant)s, %(memory_type)s, %(memory_id)s, %(ordinal)s, %(embedding_version)s,
    %(embedding)s::{vector}.vector);

-- name: clear_postings
-- Take memories out of the keyword index.
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
-- Take memories out of the vector index.
DELETE FROM {schema}.passages
WHERE tenant_id = %(tenant)s AND memory_type IN ('episode', 'fact', 'rule') AND memory_id = ANY(%(ids)s);

-- name: find_text_search
-- Is there such a text search configuration?
SELECT 1 AS known FROM pg_ts_config WHERE cfgname = %(config)s;

-- name: after
-- The next memories of the tenant by id, with the words they are indexed by.
SELECT 'fact' AS type, id, subject_label, predicate_label, content, tags FROM {schema}.facts
WHERE tenant_id = %(tenant)s AND id > %(after)s
UNION ALL
SELECT 'rule', id, NULL, NULL, content, tags FROM {schema}.rules
WHERE tenant_id = %(tenant)s AND id > %(after)s
UNION ALL
SELECT 'episode', id, NULL, NULL, content, tags FROM {schema}.episodes
WHERE tenant_id = %(tenant)s AND id > %(after)s
ORDER BY id
LIMIT %(limit)s;

-- part: nearness
-- How near a memory's passages are: vectors have length 1, so the inner product is the cosine; the best passage counts.
round(1e6 * max(-(p.embedding OPERATOR({vector}.<#>) (SELECT embedding FROM asked)))) / 1e6

-- part: facts_by_meaning
-- Every fact with its nearness. The order is the index's own: it keeps a plan made for small tenants from hashing the
-- passages of a large one.
SELECT p.memory_id AS id, {nearness} AS score
FROM {tables}.passages p
WHERE p.tenant_id = %(tenant)s AND p.memory_type = 'fact' AND %(with_facts)s
    AND (SELECT embedding FROM asked) IS NOT NULL AND p.embedding_version = %(embedding_version)s

-- part: seen_fact
-- Keeps the facts of a list that the caller may see.
CROSS JOIN LATERAL (SELECT FROM {tables}.facts f WHERE f.tenant_id = %(tenant)s AND f.id = n.id
    AND {schema}.readable(f.validity, f.scope, {schema}.worth(f.pinned, f.confidence, f.decay_rate,
        f.last_confirmed_at, f.created_at, %(now)s), %(scopes)s, %(min_confidence)s)
    AND (%(permanences)s::text[] IS NULL OR f.permanence = ANY(%(permanences)s)) OFFSET 0) seen

-- part: seen_rule
-- Keeps the rules of a list that the caller may see.
CROSS JOIN LATERAL (SELECT FROM {tables}.rules r WHERE r.tenant_id = %(tenant)s AND r.id = n.id
    AND {schema}.readable(r.validity, r.scope, CASE r.maturity WHEN 'anti_pattern' THEN 1 ELSE
        {schema}.worth(r.pinned, r.confidence, r.decay_rate, r.last_confirmed_at, r.created_at, %(now)s) END,
        %(scopes)s, %(min_confidence)s)
    AND (%(maturities)s::text[] IS NULL OR r.maturity = ANY(%(maturities)s)) OFFSET 0) seen

-- part: seen_episode
-- Keeps the episodes of a list that the caller may see.
CROSS JOIN LATERAL (SELECT FROM {tables}.episodes e WHERE e.tenant_id = %(tenant)s AND e.id = n.id
    AND e.validity = 'active' AND (e.pinned OR e.expires_at > %(now)s)
    AND (%(butlers)s::text[] IS NULL OR e.butler = ANY(%(butlers)s)) OFFSET 0) seen

-- name: search
-- The raw candidates, the best of each type by meaning and by words. Both lists are weighed whole and walked from the
-- top until enough of what the caller may see is found: no limit can cut a result that a filter would have let through.
-- Asked to, it also names what stood among the nearest and is hidden from the caller, and why.
WITH asked AS MATERIALIZED (
    -- Read once: a cached plan would read the query's vector anew for every passage it is compared with.
    SELECT %(embedding)s::{vector}.vector AS embedding
), facts_ahead AS MATERIALIZED (
    -- The list of facts is the long one. Its head, which a heap finds without sorting all of it, mostly suffices.
    {facts_by_meaning}
    GROUP BY p.memory_id ORDER BY score DESC, p.memory_id LIMIT 4 * %(candidates)s
), facts_near AS MATERIALIZED (
    SELECT n.id, n.score FROM facts_ahead n {seen_fact} ORDER BY n.score DESC, n.id LIMIT %(candidates)s
), rules_by_meaning AS MATERIALIZED (
    SELECT p.memory_id AS id, {nearness} AS score
    FROM {tables}.passages p
    WHERE p.tenant_id = %(tenant)s AND p.memory_type = 'rule' AND %(with_rules)s
        AND (SELECT embedding FROM asked) IS NOT NULL AND p.embedding_version = %(embedding_version)s
    GROUP BY p.memory_id ORDER BY p.memory_id
), episodes_by_meaning AS MATERIALIZED (
    SELECT p.memory_id AS id, {nearness} AS score
    FROM {tables}.passages p
    WHERE p.tenant_id = %(tenant)s AND p.memory_type = 'episode' AND %(with_episodes)s
        AND (SELECT embedding FROM asked) IS NOT NULL AND p.embedding_version = %(embedding_version)s
    GROUP BY p.memory_id ORDER BY p.memory_id
), by_words AS MATERIALIZED (
    -- BM25 over everything the tenant has, whoever may see it, so that a word weighs the same for every reader.
    SELECT max(p.memory_type) AS memory_type, p.memory_id AS id,
        round(1e6 * sum(s.gain * p.frequency / (p.frequency + t.base + t.slope * p.words))) / 1e6 AS score
    FROM (
        SELECT documents, %(k1)s::float8 * (1 - %(b)s::float8) AS base,
            %(k1)s::float8 * %(b)s::float8 * documents / greatest(document_words, 1) AS slope
        FROM {tables}.tenants WHERE tenant_id = %(tenant)s OFFSET 0
    ) t
    CROSS JOIN unnest(tsvector_to_array(to_tsvector(%(config)s::regconfig, %(words)s))) AS asked (lexeme)
    CROSS JOIN LATERAL (
        SELECT (%(k1)s::float8 + 1)
            * ln(1 + (greatest(t.documents, c.spread) - c.spread + 0.5::float8) / (c.spread + 0.5::float8)) AS gain
        FROM (SELECT count(*) AS spread FROM {tables}.postings
            WHERE tenant_id = %(tenant)s AND lexeme = asked.lexeme) c
        OFFSET 0
    ) s
    CROSS JOIN LATERAL (
        SELECT memory_type, memory_id, frequency::float8 AS frequency, words::float8 AS words
        FROM {tables}.postings WHERE tenant_id = %(tenant)s AND lexeme = asked.lexeme
    ) p
    GROUP BY p.memory_id
), near AS MATERIALIZED (
    SELECT 'fact' AS memory_type, id, score FROM facts_near
    UNION ALL
    (SELECT 'fact' AS memory_type, n.id, n.score
    FROM ({facts_by_meaning} AND (SELECT count(*) < %(candidates)s FROM facts_near)
        GROUP BY p.memory_id ORDER BY score DESC, p.memory_id OFFSET 4 * %(candidates)s) n
    {seen_fact} ORDER BY n.score DESC, n.id LIMIT %(candidates)s)
    UNION ALL
    (SELECT 'rule' AS memory_type, n.id, n.score
    FROM (SELECT id, score FROM rules_by_meaning ORDER BY score DESC, id) n
    {seen_rule} ORDER BY n.score DESC, n.id LIMIT %(candidates)s)
    UNION ALL
    (SELECT 'episode' AS memory_type, n.id, n.score
    FROM (SELECT id, score FROM episodes_by_meaning ORDER BY score DESC, id) n
    {seen_episode} ORDER BY n.score DESC, n.id LIMIT %(candidates)s)
), worded AS MATERIALIZED (
    (SELECT 'fact' AS memory_type, n.id, n.score
    FROM (SELECT id, score FROM by_words WHERE memory_type = 'fact' AND %(with_facts)s ORDER BY score DESC, id) n
    {seen_fact} ORDER BY n.score DESC, n.id LIMIT %(candidates)s)
    UNION ALL
    (SELECT 'rule' AS memory_type, n.id, n.score
    FROM (SELECT id, score FROM by_words WHERE memory_type = 'rule' AND %(with_rules)s ORDER BY score DESC, id) n
    {seen_rule} ORDER BY n.score DESC, n.id LIMIT %(candidates)s)
    UNION ALL
    (SELECT 'episode' AS memory_type, n.id, n.score
    FROM (SELECT id, score FROM by_words WHERE memory_type = 'episode' AND %(with_episodes)s ORDER BY score DESC, id) n
    {seen_episode} ORDER BY n.score DESC, n.id LIMIT %(candidates)s)
), hidden AS MATERIALIZED (
    SELECT 'fact' AS memory_type, f.id,
        CASE WHEN %(scopes)s::text[] IS NULL OR f.scope = ANY(%(scopes)s) THEN 'confidence' ELSE 'scope' END AS hidden_by
    FROM (SELECT id FROM facts_ahead WHERE %(with_hidden)s ORDER BY score DESC, id LIMIT %(candidates)s) n
    JOIN {tables}.facts f ON f.tenant_id = %(tenant)s AND f.id = n.id
    WHERE f.validity IN ('active', 'fading') AND f.id NOT IN (SELECT id FROM near)
    UNION ALL
    SELECT 'rule', r.id,
        CASE WHEN %(scopes)s::text[] IS NULL OR r.scope = ANY(%(scopes)s) THEN 'confidence' ELSE 'scope' END
    FROM (SELECT id FROM rules_by_meaning WHERE %(with_hidden)s ORDER BY score DESC, id LIMIT %(candidates)s) n
    JOIN {tables}.rules r ON r.tenant_id = %(tenant)s AND r.id = n.id
    WHERE r.validity IN ('active', 'fading') AND r.id NOT IN (SELECT id FROM near)
), candidates AS MATERIALIZED (
    SELECT memory_type, id, near.score AS semantic_score, worded.score AS keyword_score, coalesce(near.score, (
        SELECT {nearness}
        FROM {tables}.passages p
        WHERE p.tenant_id = %(tenant)s AND p.memory_type = worded.memory_type AND p.memory_id = worded.id
            AND p.embedding_version = %(embedding_version)s
    )) AS similarity, NULL AS hidden_by
    FROM near FULL JOIN worded USING (memory_type, id)
    UNION ALL
    SELECT memory_type, id, NULL, NULL, NULL, hidden_by FROM hidden
)
SELECT 'fact' AS type, f.id, f.ref, c.semantic_score, c.keyword_score, c.similarity, c.hidden_by, f.scope,
    f.source_butler AS butler, f.subject_label, f.predicate_label, f.content, f.importance, f.tags, f.validity,
    f.permanence, NULL::text AS maturity, f.confidence, CASE WHEN f.pinned THEN 0 ELSE f.decay_rate END AS decay_rate,
    f.created_at, f.last_confirmed_at,
    f.last_referenced_at, f.valid_at, NULL::timestamptz AS observed_at, NULL::text AS session_id,
    NULL::text[] AS harmful_reasons
FROM candidates c JOIN {tables}.facts f ON f.tenant_id = %(tenant)s AND f.id = c.id
WHERE c.memory_type = 'fact'
UNION ALL
SELECT 'rule', r.id, r.ref, c.semantic_score, c.keyword_score, c.similarity, c.hidden_by, r.scope, r.source_butler,
    NULL, NULL, r.content, NULL, r.tags, r.validity, NULL, r.maturity, r.confidence,
    CASE WHEN r.pinned OR r.maturity = 'anti_pattern' THEN 0 ELSE r.decay_rate END, r.created_at,
    r.last_confirmed_at, r.last_referenced_at, NULL, NULL, NULL, r.harmful_reasons
FROM candidates c JOIN {tables}.rules r ON r.tenant_id = %(tenant)s AND r.id = c.id
WHERE c.memory_type = 'rule'
UNION ALL
SELECT 'episode', e.id, e.ref, c.semantic_score, c.keyword_score, c.similarity, c.hidden_by, e.butler, e.butler,
    NULL, NULL, e.content, e.importance, e.tags, e.validity, NULL, NULL, 1, 0, e.created_at, NULL,
    e.last_referenced_at, NULL, e.observed_at, e.session_id, NULL
FROM candidates c JOIN {tables}.episodes e ON e.tenant_id = %(tenant)s AND e.id = c.id
WHERE c.memory_type = 'episode';
