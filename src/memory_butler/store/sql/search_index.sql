-- name: add_postings
-- Index the words of a memory.
INSERT INTO {schema}.postings (tenant_id, memory_id, lexeme, frequency)
SELECT %(tenant)s, %(memory_id)s, lexeme, least(cardinality(positions), 32767)
FROM unnest(to_tsvector(%(config)s::regconfig, %(words)s));

-- name: add_passage
-- Index the meaning of one passage of a memory.
INSERT INTO {schema}.passages (tenant_id, memory_id, ordinal, embedding_version, embedding)
VALUES (%(tenant)s, %(memory_id)s, %(ordinal)s, %(embedding_version)s, %(embedding)s::float8[]::{vector}.vector);

-- name: clear_postings
-- Take memories out of the keyword index.
DELETE FROM {schema}.postings WHERE tenant_id = %(tenant)s AND memory_id = ANY(%(ids)s);

-- name: clear_passages
-- Take memories out of the vector index.
DELETE FROM {schema}.passages WHERE tenant_id = %(tenant)s AND memory_id = ANY(%(ids)s);

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

-- name: search
-- Everything the caller may see is weighed by meaning and by words, and the best of each list come back raw:
-- `visible` holds every filter, so no limit can cut a result that a filter would have let through.
WITH visible AS MATERIALIZED (
    SELECT f.id, octet_length(f.subject) + octet_length(f.predicate) + octet_length(f.content) AS length
    FROM {schema}.facts f
    WHERE f.tenant_id = %(tenant)s AND %(with_facts)s AND f.validity IN ('active', 'fading')
        AND (%(scopes)s::text[] IS NULL OR f.scope = ANY(%(scopes)s))
        AND {schema}.effective_confidence(f.confidence, f.decay_rate, coalesce(f.last_confirmed_at, f.created_at),
            %(now)s) >= %(min_confidence)s
    UNION ALL
    SELECT r.id, octet_length(r.content)
    FROM {schema}.rules r
    WHERE r.tenant_id = %(tenant)s AND %(with_rules)s AND r.validity IN ('active', 'fading')
        AND (%(scopes)s::text[] IS NULL OR r.scope = ANY(%(scopes)s))
        AND (r.maturity = 'anti_pattern' OR {schema}.effective_confidence(r.confidence, r.decay_rate,
            coalesce(r.last_confirmed_at, r.created_at), %(now)s) >= %(min_confidence)s)
    UNION ALL
    SELECT e.id, octet_length(e.content)
    FROM {schema}.episodes e
    WHERE e.tenant_id = %(tenant)s AND %(with_episodes)s AND e.validity = 'active' AND e.expires_at > %(now)s
        AND (%(butlers)s::text[] IS NULL OR e.butler = ANY(%(butlers)s))
), corpus AS MATERIALIZED (
    SELECT count(*)::double precision AS documents, greatest(avg(length), 1)::double precision AS mean_length
    FROM visible
), matches AS MATERIALIZED (
    SELECT p.lexeme, v.id, v.length, p.frequency::double precision AS frequency
    FROM {schema}.postings p JOIN visible v ON v.id = p.memory_id
    WHERE p.tenant_id = %(tenant)s
        AND p.lexeme = ANY(tsvector_to_array(to_tsvector(%(config)s::regconfig, %(words)s)))
), rarity AS MATERIALIZED (
    SELECT lexeme, ln(1 + (documents - count(*)::double precision + 0.5) / (count(*)::double precision + 0.5)) AS weight
    FROM matches CROSS JOIN corpus
    GROUP BY lexeme, documents
), by_words AS MATERIALIZED (
    SELECT m.id, round(1e6 * sum(r.weight * m.frequency * (%(k1)s::double precision + 1)
            / (m.frequency + %(k1)s * (1 - %(b)s::double precision + %(b)s * m.length / c.mean_length)))) / 1e6 AS score
    FROM matches m JOIN rarity r USING (lexeme) CROSS JOIN corpus c
    GROUP BY m.id
    ORDER BY score DESC, m.id
    LIMIT %(candidates)s
), asked AS MATERIALIZED (
    -- Read once: a cached plan would read the query's vector anew for every passage it is compared with.
    SELECT %(embedding)s::float8[]::{vector}.vector AS embedding WHERE %(embedding)s::float8[] IS NOT NULL
), likeness AS MATERIALIZED (
    -- Vectors have length 1, so the inner product is the cosine. It is taken before anything is sorted or joined:
    -- a plan that carries the vectors themselves along is several times slower.
    SELECT p.memory_id, -(p.embedding OPERATOR({vector}.<#>) a.embedding) AS cosine
    FROM asked a CROSS JOIN {schema}.passages p
    WHERE p.tenant_id = %(tenant)s
), by_meaning AS MATERIALIZED (
    SELECT v.id, round(1e6 * max(l.cosine)) / 1e6 AS score
    FROM likeness l JOIN visible v ON v.id = l.memory_id
    GROUP BY v.id
    ORDER BY score DESC, v.id
    LIMIT %(candidates)s
), candidates AS MATERIALIZED (
    SELECT id, s.score AS semantic_score, k.score AS keyword_score
    FROM by_meaning s FULL JOIN by_words k USING (id)
)
SELECT 'fact' AS type, f.id, f.ref, c.semantic_score, c.keyword_score, f.scope, f.source_butler AS butler,
    f.subject_label, f.predicate_label, f.content, f.importance, f.tags, f.validity, f.permanence,
    NULL::text AS maturity, f.confidence, f.decay_rate, f.created_at, f.last_confirmed_at, f.last_referenced_at,
    f.valid_at, NULL::timestamptz AS observed_at, NULL::text AS session_id, NULL::text[] AS harmful_reasons
FROM candidates c JOIN {schema}.facts f ON f.tenant_id = %(tenant)s AND f.id = c.id
UNION ALL
SELECT 'rule', r.id, r.ref, c.semantic_score, c.keyword_score, r.scope, r.source_butler, NULL, NULL, r.content, NULL,
    r.tags, r.validity, NULL, r.maturity, r.confidence, r.decay_rate, r.created_at, r.last_confirmed_at,
    r.last_referenced_at, NULL, NULL, NULL, r.harmful_reasons
FROM candidates c JOIN {schema}.rules r ON r.tenant_id = %(tenant)s AND r.id = c.id
UNION ALL
SELECT 'episode', e.id, e.ref, c.semantic_score, c.keyword_score, e.butler, e.butler, NULL, NULL, e.content,
    e.importance, e.tags, e.validity, NULL, NULL, 1, 0, e.created_at, NULL, e.last_referenced_at, NULL, e.observed_at,
    e.session_id, NULL
FROM candidates c JOIN {schema}.episodes e ON e.tenant_id = %(tenant)s AND e.id = c.id;
