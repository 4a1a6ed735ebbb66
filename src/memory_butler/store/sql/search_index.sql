-- name: add_postings
-- Index the words of memories, and count those among what can be found by words that have any. Beside them stand the
-- names that a memory stands under (@anna_schmidt) and what else it answers to (#anna, #billing_service), which no text
-- search makes of a word and which are not counted.
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

-- name: add_passages
-- Index the meaning of memories, passage by passage. Their vectors come as one long row of numbers.
WITH given AS (SELECT %(vectors)s::real[] AS numbers)
INSERT INTO {schema}.passages (tenant_id, memory_type, memory_id, ordinal, embedding_version, embedding)
SELECT %(tenant)s, p.memory_type, p.memory_id, p.ordinal, %(embedding_version)s,
    g.numbers[(p.place - 1) * %(dimensions)s::int + 1 : p.place * %(dimensions)s::int]::{vector}.vector
FROM given g
CROSS JOIN unnest(%(types)s::text[], %(ids)s::uuid[], %(ordinals)s::smallint[])
    WITH ORDINALITY AS p (memory_type, memory_id, ordinal, place);

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

-- part: words_after
-- The memories of the tenant after an id, with the words they are indexed by.
SELECT 'fact' AS type, id, subject_label, predicate_label, content, tags FROM {schema}.facts
WHERE tenant_id = %(tenant)s AND id > %(after)s
UNION ALL
SELECT 'rule', id, NULL, NULL, content, tags FROM {schema}.rules
WHERE tenant_id = %(tenant)s AND id > %(after)s
UNION ALL
SELECT 'episode', id, NULL, NULL, content, tags FROM {schema}.episodes
WHERE tenant_id = %(tenant)s AND id > %(after)s

-- name: after
-- The next memories of the tenant by id, with the words they are indexed by.
{words_after}
ORDER BY id
LIMIT %(limit)s;

-- part: nearness
-- How near a passage is: vectors have length 1, so the inner product is the cosine. A memory's best passage counts.
round(1e6 * -({vector_index.distance})) / 1e6

-- part: best
-- A memory is as near as its best passage: only that is rounded.
id, round(1e6 * -min(distance)) / 1e6 AS score

-- part: distances
-- Every passage with its distance. It is worked out below any grouping, which would else copy a vector for each memory.
SELECT p.memory_id AS id, {vector_index.distance} AS distance
FROM {tables}.passages p
WHERE p.tenant_id = %(tenant)s AND p.embedding_version = %(embedding_version)s
    AND (SELECT embedding FROM asked) IS NOT NULL

-- part: of_facts
-- Those of facts, where no index has told them.
{distances} AND p.memory_type = 'fact' AND %(with_facts)s AND NOT EXISTS (SELECT FROM by_index WHERE memory_type = 'fact')

-- part: seen_fact
-- Keeps the facts of a list that the caller may see.
CROSS JOIN LATERAL (SELECT FROM {tables}.facts f WHERE f.tenant_id = %(tenant)s AND f.id = n.id
    AND {schema}.readable(f.validity, f.scope, {schema}.worth(f.pinned, f.confidence, f.decay_rate,
        f.last_confirmed_at, f.created_at, %(now)s), %(scopes)s, %(min_confidence)s)
    AND (%(permanences)s::text[] IS NULL OR f.permanence = ANY(%(permanences)s))
    AND (%(time_from)s::timestamptz IS NULL OR coalesce(f.valid_at, f.created_at) >= %(time_from)s)
    AND (%(time_to)s::timestamptz IS NULL OR coalesce(f.valid_at, f.created_at) < %(time_to)s) OFFSET 0) seen

-- part: seen_rule
-- Keeps the rules of a list that the caller may see.
CROSS JOIN LATERAL (SELECT FROM {tables}.rules r WHERE r.tenant_id = %(tenant)s AND r.id = n.id
    AND {schema}.readable(r.validity, r.scope, CASE r.maturity WHEN 'anti_pattern' THEN 1 ELSE
        {schema}.worth(r.pinned, r.confidence, r.decay_rate, r.last_confirmed_at, r.created_at, %(now)s) END,
        %(scopes)s, %(min_confidence)s)
    AND (%(maturities)s::text[] IS NULL OR r.maturity = ANY(%(maturities)s))
    AND (%(time_from)s::timestamptz IS NULL OR r.created_at >= %(time_from)s)
    AND (%(time_to)s::timestamptz IS NULL OR r.created_at < %(time_to)s) OFFSET 0) seen

-- part: seen_episode
-- Keeps the episodes of a list that the caller may see.
CROSS JOIN LATERAL (SELECT FROM {tables}.episodes e WHERE e.tenant_id = %(tenant)s AND e.id = n.id
    AND e.validity = 'active' AND (e.pinned OR e.expires_at > %(now)s)
    AND (%(butlers)s::text[] IS NULL OR e.butler = ANY(%(butlers)s))
    AND (%(time_from)s::timestamptz IS NULL OR e.observed_at >= %(time_from)s)
    AND (%(time_to)s::timestamptz IS NULL OR e.observed_at < %(time_to)s) OFFSET 0) seen

-- part: asks
-- Does a text end with a question, whatever is noted in brackets behind it?
~ '[?？]["''”’)*]*\s*(\[[^][]*\]\s*)?$'

-- part: sought
-- What is looked for: the words of the question, the names it asks about, and those names where a text says them.
SELECT lexeme, 'word' AS kind FROM unnest(tsvector_to_array(to_tsvector(%(config)s::regconfig, %(words)s))) AS w (lexeme)
UNION ALL
SELECT DISTINCT lexeme, 'name' FROM named
UNION ALL
(SELECT lexeme, 'mention'
FROM unnest(tsvector_to_array(to_tsvector(%(config)s::regconfig, %(mentions)s))) AS m (lexeme)
EXCEPT SELECT lexeme, 'mention' FROM unnest(tsvector_to_array(to_tsvector(%(config)s::regconfig, %(words)s))) AS w (lexeme))

-- part: weighed
-- BM25 over everything the tenant has, whoever may see it, so that a word weighs the same for every reader.
SELECT a.lexeme, a.kind, t.base, t.slope, t.unit,
    (%(k1)s::float8 + 1)
        * ln(1 + (greatest(t.documents, c.spread) - c.spread + 0.5::float8) / (c.spread + 0.5::float8)) AS gain
FROM (
    SELECT documents, %(k1)s::float8 * (1 - %(b)s::float8) AS base,
        %(k1)s::float8 * %(b)s::float8 * documents / greatest(document_words, 1) AS slope,
        -- What a word is worth that only one memory has.
        (%(k1)s::float8 + 1) * ln(1 + (greatest(documents, 1) - 0.5::float8) / 1.5) AS unit
    FROM {tables}.tenants WHERE tenant_id = %(tenant)s OFFSET 0
) t
CROSS JOIN sought a
CROSS JOIN LATERAL (SELECT count(*) AS spread FROM {tables}.postings
    WHERE tenant_id = %(tenant)s AND lexeme = a.lexeme) c

-- part: saturation
-- How much of a word's worth a memory has: more the oftener it says it, less the longer it is.
p.frequency::float8 / (p.frequency + w.base + w.slope * p.words)

-- name: search
-- The raw candidates, the best of each type by meaning and by words. Both lists are weighed whole and walked from the
-- top until enough of what the caller may see is found: no limit can cut a result that a filter would have let through.
-- With each come the signals that policy judges by. Asked to, it also names what stood among the nearest and is hidden
-- from the caller, and why. Rows of the types `name` and `unheard` say which names of the question the tenant knows, and
-- which it has never heard of; one of the type `tenant`, how many memories it has.
WITH asked AS MATERIALIZED (
    -- Read once: a cached plan would read the query's vector anew for every passage it is compared with.
    SELECT %(embedding)s::{vector}.vector AS embedding
), by_index AS MATERIALIZED (
    {vector_index.by_index}
), facts_ahead AS MATERIALIZED (
    -- The list of facts is the long one. Its head, which a heap finds without grouping and sorting all of it, mostly
    -- suffices. OFFSET 0 keeps any vector index away from it: this list is to be exact.
    SELECT {best} FROM (
        SELECT id, distance FROM ({of_facts} OFFSET 0) d ORDER BY distance, id LIMIT 4 * %(candidates)s
    ) h GROUP BY id
), facts_near AS MATERIALIZED (
    SELECT n.id, n.score FROM (SELECT id, score FROM facts_ahead ORDER BY score DESC, id) n
    {seen_fact} ORDER BY n.score DESC, n.id LIMIT %(candidates)s
), rules_by_meaning AS MATERIALIZED (
    SELECT {best} FROM ({distances} AND p.memory_type = 'rule' AND %(with_rules)s
        AND NOT EXISTS (SELECT FROM by_index WHERE memory_type = 'rule') ORDER BY id OFFSET 0) p GROUP BY id ORDER BY id
), episodes_by_meaning AS MATERIALIZED (
    SELECT {best} FROM ({distances} AND p.memory_type = 'episode' AND %(with_episodes)s
        AND NOT EXISTS (SELECT FROM by_index WHERE memory_type = 'episode') ORDER BY id OFFSET 0) p GROUP BY id ORDER BY id
), named AS MATERIALIZED (
    {aliases.names_asked}
), sought AS MATERIALIZED (
    {sought}
), weighed AS MATERIALIZED (
    {weighed}
), by_words AS MATERIALIZED (
    -- The type by its first letter: the greatest of texts would be copied for every posting.
    SELECT max(m.initial) AS initial, m.memory_id AS id, round(1e6 * sum(w.gain * m.saturation)) / 1e6 AS score,
        sum(w.said * m.saturation) AS said, sum(w.share) AS covered, max(w.is_name) AS is_named
    FROM (
        SELECT lexeme, base, slope, gain, CASE kind WHEN 'word' THEN gain / unit ELSE 0 END AS said,
            CASE kind WHEN 'word' THEN gain / sum(gain) FILTER (WHERE kind = 'word') OVER () ELSE 0 END AS share,
            (kind = 'name')::int AS is_name
        FROM weighed OFFSET 0
    ) w
    -- Word by word: a plan made for a small tenant would merge them with all postings of a large one.
    CROSS JOIN LATERAL (
        SELECT ascii(p.memory_type) AS initial, p.memory_id, {saturation} AS saturation
        FROM {tables}.postings p WHERE p.tenant_id = %(tenant)s AND p.lexeme = w.lexeme OFFSET 0
    ) m
    GROUP BY m.memory_id
), near AS MATERIALIZED (
    SELECT memory_type, id, score FROM by_index WHERE NOT ahead
    UNION ALL
    SELECT 'fact' AS memory_type, id, score FROM facts_near
    UNION ALL
    (SELECT 'fact' AS memory_type, n.id, n.score
    FROM (SELECT {best} FROM ({of_facts} AND (SELECT count(*) < %(candidates)s FROM facts_near) OFFSET 0) h
        WHERE id NOT IN (SELECT id FROM facts_ahead) GROUP BY id ORDER BY score DESC, id) n
    {seen_fact} ORDER BY n.score DESC, n.id LIMIT %(candidates)s - (SELECT count(*) FROM facts_near))
    UNION ALL
    (SELECT 'rule' AS memory_type, n.id, n.score
    FROM (SELECT id, score FROM rules_by_meaning ORDER BY score DESC, id) n
    {seen_rule} ORDER BY n.score DESC, n.id LIMIT %(candidates)s)
    UNION ALL
    (SELECT 'episode' AS memory_type, n.id, n.score
    FROM (SELECT id, score FROM episodes_by_meaning ORDER BY score DESC, id) n
    {seen_episode} ORDER BY n.score DESC, n.id LIMIT %(candidates)s)
), facts_worded_ahead AS MATERIALIZED (
    -- The same of the list by words.
    SELECT id, score FROM by_words WHERE initial = ascii('fact') AND %(with_facts)s
    ORDER BY score DESC, id LIMIT 4 * %(candidates)s
), facts_worded AS MATERIALIZED (
    SELECT n.id, n.score FROM facts_worded_ahead n {seen_fact} ORDER BY n.score DESC, n.id LIMIT %(candidates)s
), worded AS MATERIALIZED (
    SELECT 'fact' AS memory_type, id, score FROM facts_worded
    UNION ALL
    (SELECT 'fact' AS memory_type, n.id, n.score
    FROM (SELECT id, score FROM by_words
        WHERE initial = ascii('fact') AND %(with_facts)s AND (SELECT count(*) < %(candidates)s FROM facts_worded)
        ORDER BY score DESC, id OFFSET (SELECT count(*) FROM facts_worded_ahead)) n
    {seen_fact} ORDER BY n.score DESC, n.id LIMIT %(candidates)s - (SELECT count(*) FROM facts_worded))
    UNION ALL
    (SELECT 'rule' AS memory_type, n.id, n.score
    FROM (SELECT id, score FROM by_words WHERE initial = ascii('rule') AND %(with_rules)s ORDER BY score DESC, id) n
    {seen_rule} ORDER BY n.score DESC, n.id LIMIT %(candidates)s)
    UNION ALL
    (SELECT 'episode' AS memory_type, n.id, n.score
    FROM (SELECT id, score FROM by_words WHERE initial = ascii('episode') AND %(with_episodes)s ORDER BY score DESC, id) n
    {seen_episode} ORDER BY n.score DESC, n.id LIMIT %(candidates)s)
), minded AS MATERIALIZED (
    -- For a task: the most important facts of those it names and of whoever gives it, however far down they are on the
    -- lists. A bounded number of theirs is looked through.
    SELECT n.id, (SELECT max({nearness}) FROM {tables}.passages p
        WHERE p.tenant_id = %(tenant)s AND p.memory_type = 'fact' AND p.memory_id = n.id
            AND p.embedding_version = %(embedding_version)s) AS similarity
    FROM (
        SELECT i.id, i.importance FROM (
            SELECT id FROM by_words WHERE is_named = 1 AND initial = ascii('fact') AND %(important_from)s::int IS NOT NULL
            ORDER BY score DESC, id LIMIT 1000
        ) w CROSS JOIN LATERAL (
            SELECT f.id, f.importance FROM {tables}.facts f
            WHERE f.tenant_id = %(tenant)s AND f.id = w.id AND f.importance >= %(important_from)s::int OFFSET 0
        ) i
        UNION
        SELECT o.id, o.importance FROM (
            SELECT f.id, f.importance FROM {tables}.facts f
            WHERE f.tenant_id = %(tenant)s AND f.subject = ANY(%(askers)s::text[]) AND %(important_from)s::int IS NOT NULL
            ORDER BY f.subject, f.predicate, f.id LIMIT 1000
        ) o WHERE o.importance >= %(important_from)s::int
        ORDER BY importance DESC, id
    ) n
    {seen_fact}
    WHERE n.id NOT IN (SELECT id FROM near) AND n.id NOT IN (SELECT id FROM worded)
    ORDER BY n.importance DESC, n.id LIMIT %(most_important)s
), hidden AS MATERIALIZED (
    SELECT 'fact' AS memory_type, f.id,
        CASE WHEN %(scopes)s::text[] IS NULL OR f.scope = ANY(%(scopes)s) THEN 'confidence' ELSE 'scope' END AS hidden_by
    FROM (SELECT id FROM (SELECT id, score FROM facts_ahead UNION ALL
        SELECT id, score FROM by_index WHERE ahead AND memory_type = 'fact') h WHERE %(with_hidden)s ORDER BY score DESC, id LIMIT %(candidates)s) n
    JOIN {tables}.facts f ON f.tenant_id = %(tenant)s AND f.id = n.id
    WHERE f.validity IN ('active', 'fading') AND n.id NOT IN (SELECT id FROM near)
    UNION ALL
    SELECT 'rule', r.id,
        CASE WHEN %(scopes)s::text[] IS NULL OR r.scope = ANY(%(scopes)s) THEN 'confidence' ELSE 'scope' END
    FROM (SELECT id FROM (SELECT id, score FROM rules_by_meaning UNION ALL
        SELECT id, score FROM by_index WHERE ahead AND memory_type = 'rule') h WHERE %(with_hidden)s ORDER BY score DESC, id LIMIT %(candidates)s) n
    JOIN {tables}.rules r ON r.tenant_id = %(tenant)s AND r.id = n.id
    WHERE r.validity IN ('active', 'fading') AND n.id NOT IN (SELECT id FROM near)
), listed AS MATERIALIZED (
    SELECT memory_type, id, near.score AS semantic_score, worded.score AS keyword_score, coalesce(near.score, (
        SELECT max({nearness})
        FROM {tables}.passages p
        WHERE p.tenant_id = %(tenant)s AND p.memory_type = worded.memory_type AND p.memory_id = worded.id
            AND p.embedding_version = %(embedding_version)s
    )) AS similarity, NULL AS hidden_by
    FROM near FULL JOIN worded USING (memory_type, id)
    UNION ALL
    SELECT 'fact', id, similarity, NULL, similarity, NULL FROM minded
    UNION ALL
    SELECT memory_type, id, NULL, NULL, NULL, hidden_by FROM hidden
), candidates AS MATERIALIZED (
    SELECT l.*, coalesce(round(1e6 * w.said) / 1e6, 0) AS said, coalesce(round(1e6 * w.covered) / 1e6, 0) AS covered,
        coalesce(w.is_named, 0) = 1 AS named
    FROM listed l LEFT JOIN (
        -- One pass over the many words: a join would build a table of all of them for the few.
        SELECT id, said, covered, is_named FROM by_words WHERE (id IN (SELECT id FROM listed)) IS TRUE
    ) w USING (id)
), turns AS MATERIALIZED (
    -- Episodes in their sessions: a question just before may be what this one answers.
    SELECT e.id, e.ref, c.semantic_score, c.keyword_score, c.similarity, c.hidden_by, e.butler, e.content, e.importance,
        e.tags, e.validity, e.created_at, e.last_referenced_at, e.observed_at, e.session_id, c.said, c.covered, c.named,
        b.id AS previous, b.content {asks} AS answers
    FROM candidates c
    JOIN {tables}.episodes e ON e.tenant_id = %(tenant)s AND e.id = c.id
    LEFT JOIN LATERAL (
        SELECT n.id, n.content FROM {tables}.episodes n
        WHERE n.tenant_id = %(tenant)s AND n.butler = e.butler AND n.session_id = e.session_id
            AND (n.observed_at, n.created_at, n.id) < (e.observed_at, e.created_at, e.id) AND n.validity = 'active'
            AND (n.pinned OR n.expires_at > %(now)s)
        ORDER BY n.observed_at DESC, n.created_at DESC, n.id DESC LIMIT 1
    ) b ON true
    WHERE c.memory_type = 'episode'
), statements AS MATERIALIZED (
    -- Facts with the episode they came from, where the caller may see it.
    SELECT f.id, f.ref, c.semantic_score, c.keyword_score, c.similarity, c.hidden_by, f.scope, f.source_butler,
        f.subject_label, f.predicate_label, f.content, f.importance, f.tags, f.validity, f.permanence, f.confidence,
        CASE WHEN f.pinned THEN 0 ELSE f.decay_rate END AS decay_rate, f.created_at, f.last_confirmed_at,
        f.last_referenced_at, f.valid_at, c.said, c.covered, c.named, e.id AS source, CASE WHEN e.id IS NOT NULL THEN (
            SELECT max({nearness})
            FROM {tables}.passages p
            WHERE p.tenant_id = %(tenant)s AND p.memory_type = 'episode' AND p.memory_id = e.id
                AND p.embedding_version = %(embedding_version)s
        ) END AS source_similarity
    FROM candidates c
    JOIN {tables}.facts f ON f.tenant_id = %(tenant)s AND f.id = c.id
    LEFT JOIN {tables}.episodes e ON e.tenant_id = %(tenant)s AND e.id = f.source_episode_id
        AND e.validity = 'active' AND (e.pinned OR e.expires_at > %(now)s)
        AND (%(butlers)s::text[] IS NULL OR e.butler = ANY(%(butlers)s))
    WHERE c.memory_type = 'fact'
), beside AS MATERIALIZED (
    -- The words of what stands beside the candidates. One pass: a join would compare each of the few with all of the many.
    SELECT id, said, covered FROM by_words
    WHERE (id IN (SELECT previous FROM turns WHERE answers UNION ALL SELECT source FROM statements WHERE source IS NOT NULL)) IS TRUE
)
SELECT 'fact' AS type, f.id, f.ref, f.semantic_score, f.keyword_score, f.similarity, f.hidden_by, f.scope,
    f.source_butler AS butler, f.subject_label, f.predicate_label, f.content, f.importance, f.tags, f.validity,
    f.permanence, NULL::text AS maturity, f.confidence, f.decay_rate, f.created_at, f.last_confirmed_at,
    f.last_referenced_at, f.valid_at, NULL::timestamptz AS observed_at, NULL::text AS session_id,
    NULL::text[] AS harmful_reasons, f.said, f.covered, f.named, 0::float8 AS asked_before, false AS opens,
    f.source_similarity, coalesce(round(1e6 * b.said) / 1e6, 0) AS source_said,
    coalesce(round(1e6 * b.covered) / 1e6, 0) AS source_covered
FROM statements f LEFT JOIN beside b ON b.id = f.source
UNION ALL
SELECT 'rule', r.id, r.ref, c.semantic_score, c.keyword_score, c.similarity, c.hidden_by, r.scope, r.source_butler,
    NULL, NULL, r.content, NULL, r.tags, r.validity, NULL, r.maturity, r.confidence,
    CASE WHEN r.pinned OR r.maturity = 'anti_pattern' THEN 0 ELSE r.decay_rate END, r.created_at,
    r.last_confirmed_at, r.last_referenced_at, NULL, NULL, NULL, r.harmful_reasons, c.said, c.covered, c.named,
    0, false, NULL, 0, 0
FROM candidates c JOIN {tables}.rules r ON r.tenant_id = %(tenant)s AND r.id = c.id
WHERE c.memory_type = 'rule'
UNION ALL
SELECT 'episode', t.id, t.ref, t.semantic_score, t.keyword_score, t.similarity, t.hidden_by, t.butler, t.butler,
    NULL, NULL, t.content, t.importance, t.tags, t.validity, NULL, NULL, 1, 0, t.created_at, NULL,
    t.last_referenced_at, NULL, t.observed_at, t.session_id, NULL, t.said, t.covered, t.named,
    coalesce(round(1e6 * w.said) / 1e6, 0), t.session_id IS NOT NULL AND t.previous IS NULL, NULL, 0, 0
FROM turns t LEFT JOIN beside w ON w.id = t.previous AND t.answers
UNION ALL
SELECT 'name', NULL, asked, NULL, NULL, NULL, NULL, lexeme, '', NULL, NULL, '', NULL, NULL, CASE WHEN is_name THEN 'name' ELSE 'word' END,
    NULL, NULL, 0, 0, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, true, 0, false, NULL, 0, 0
FROM named
UNION ALL
SELECT 'tenant', NULL, '', NULL, NULL, NULL, NULL, '', '', NULL, NULL, '', least(documents, 2000000000)::int, NULL, '',
    NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, false, 0, false, NULL, 0, 0
FROM {tables}.tenants WHERE tenant_id = %(tenant)s
UNION ALL
SELECT 'unheard', NULL, g.name, NULL, NULL, NULL, NULL, '', '', NULL, NULL, '', NULL, NULL, '', NULL, NULL, 0, 0, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, false, 0, false, NULL, 0, 0
FROM unnest(%(guessed)s::text[]) AS g (name)
WHERE NOT EXISTS (SELECT FROM named n WHERE n.asked = g.name)
    AND NOT EXISTS (SELECT FROM unnest(tsvector_to_array(to_tsvector(%(config)s::regconfig, g.name))) AS l (lexeme)
        CROSS JOIN LATERAL (SELECT FROM {tables}.postings p
            WHERE p.tenant_id = %(tenant)s AND p.lexeme = l.lexeme AND {aliases.leads_somewhere} LIMIT 1) known);
