-- The search: five statements and one for each type of memory, sent in one pipeline. A statement leaves its list for
-- the next one in a setting of the transaction, because a temporary table cannot be made on a read replica:
--   names       the names in the question            → memory_butler.names
--   by_meaning  the nearest memories of each type    → memory_butler.near_types, _ids, _scores
--   candidates  the best by words, and all scores    → memory_butler.candidate_facts, _rules, _episodes, .best
--   more        for a briefing: further candidates   → the same, extended
--   facts, rules, episodes                             the columns of the candidates
--   profiles    for a briefing: their domain profiles
-- Two of them have two forms. `usual` is for a search of vectors of the current version only, in a tenant without
-- vector index, that does not ask for hidden memories; `full` is for all others and for briefings. Starting a statement
-- takes time for each part of it, also for one that finds nothing: in a small tenant as long as running it.

-- name: names
-- Find the names in the question. Returns the known ones, those names and words that no memory has, names that begin
-- like them, the names of the user, the number of the tenant's memories, and the number of those with vectors of each
-- embedding version.
WITH known AS MATERIALIZED (
    {aliases.names_asked}
), unheard AS MATERIALIZED (
    SELECT g.name FROM unnest(%(guessed)s::text[] || %(spelled)s::text[]) AS g (name)
    WHERE NOT EXISTS (SELECT FROM known k WHERE k.asked = g.name)
        AND NOT EXISTS (
            SELECT FROM unnest(tsvector_to_array(to_tsvector(%(config)s::regconfig, g.name))) AS l (lexeme)
            CROSS JOIN LATERAL (SELECT FROM {tables}.postings p
                WHERE p.tenant_id = %(tenant)s AND p.lexeme = l.lexeme AND {aliases.leads_somewhere} LIMIT 1) said
        )
)
SELECT set_config('memory_butler.names', (SELECT coalesce(json_agg(k), '[]')::text FROM known k), true) AS known,
    ARRAY(SELECT u.name FROM unheard u) AS unknown,
    ARRAY({aliases.similar_names}) AS similar_names,
    ARRAY(
        SELECT a.alias FROM {tables}.aliases a
        WHERE a.tenant_id = %(tenant)s AND a.subject = ANY(%(user_keys)s::text[]) AND a.validity = 'active'
            AND {aliases.was_known}
        ORDER BY a.alias LIMIT 50
    ) AS user_names,
    (SELECT documents FROM {tables}.tenants WHERE tenant_id = %(tenant)s) AS memories,
    (SELECT coalesce(json_object_agg(c.version, c.memories), '{}')::text FROM (
        SELECT embedding_version AS version, sum(memories)::bigint AS memories FROM {schema}.embedding_counts
        WHERE tenant_id = %(tenant)s AND memories > 0 GROUP BY embedding_version ORDER BY embedding_version
    ) c) AS versions;

-- part: query
-- The vector of the query. Read once: a cached plan would decode the parameter for every passage.
SELECT %(embedding)s::{vector}.vector AS embedding

-- part: earlier
-- The vectors of the query for memories that only have vectors of another embedding version. `scale` and `shift` bring
-- their cosines to the scale of the current one.
SELECT e.version, e.embedding::text::{vector}.vector AS embedding, e.scale, e.shift
FROM json_to_recordset(%(earlier)s::json) AS e (version smallint, embedding json, scale float8, shift float8)

-- part: earlier_distance
-- The distance of a passage p by the vector e of its own embedding version.
e.scale * (p.embedding OPERATOR({vector}.<#>) e.embedding) - e.shift

-- part: similarity
-- Cosine of a passage p and the query: vectors have length 1, so it is the inner product.
round(1e6 * -({vector_index.distance})) / 1e6

-- part: best_similarity_usual
-- A memory m is as similar as its best passage.
(SELECT max({similarity}) FROM {tables}.passages p
WHERE p.tenant_id = %(tenant)s AND p.memory_type = m.memory_type AND p.memory_id = m.id
    AND p.embedding_version = %(embedding_version)s)

-- part: best_similarity_full
-- The same for all embedding versions. All passages of a memory have one.
coalesce({best_similarity_usual},
    (SELECT max(round(1e6 * -({earlier_distance})) / 1e6)
    FROM earlier e JOIN {tables}.passages p ON p.embedding_version = e.version
    WHERE p.tenant_id = %(tenant)s AND p.memory_type = m.memory_type AND p.memory_id = m.id))

-- part: best_passage
-- The same for a group of passages: only the best distance is rounded.
id, round(1e6 * -min(distance)) / 1e6 AS score

-- part: distances_usual
-- each: fact=facts, rule=rules, episode=episodes
-- The distance of every passage of a type. Computed below any grouping, which would copy a vector for each memory.
SELECT p.memory_id AS id, {vector_index.distance} AS distance
FROM {tables}.passages p
WHERE p.tenant_id = %(tenant)s AND p.embedding_version = %(embedding_version)s
    AND p.memory_type = '{kind}' AND %(with_{table})s

-- part: distances_full
-- each: fact=facts, rule=rules, episode=episodes
-- The same for all embedding versions, unless an index has ranked them.
{distances_usual:{kind}}
    AND NOT EXISTS (SELECT FROM by_index WHERE memory_type = '{kind}' AND version = %(embedding_version)s)
UNION ALL
SELECT o.id, o.distance
FROM earlier e CROSS JOIN LATERAL (
    SELECT p.memory_id AS id, {earlier_distance} AS distance
    FROM {tables}.passages p
    WHERE p.tenant_id = %(tenant)s AND p.embedding_version = e.version
        AND p.memory_type = '{kind}' AND %(with_{table})s
        AND NOT EXISTS (SELECT FROM by_index WHERE memory_type = '{kind}' AND version = e.version)
    OFFSET 0
) o

-- part: hidden_by
-- Reason why the caller may not see a memory m.
CASE WHEN %(scopes)s::text[] IS NULL OR m.scope = ANY(%(scopes)s) THEN 'confidence' ELSE 'scope' END AS hidden_by

-- part: hidden_usual
-- Without the nearest facts and rules that the caller may not see.
SELECT NULL::text AS hidden_by WHERE false

-- part: hidden_full
-- The nearest facts and rules that the caller may not see, on request.
SELECT {hidden_by}
FROM (
    SELECT id FROM (SELECT id, score FROM facts_head
        UNION ALL SELECT id, score FROM by_index WHERE ahead AND memory_type = 'fact') h
    WHERE %(with_hidden)s ORDER BY score DESC, id LIMIT %(candidates)s
) n
CROSS JOIN LATERAL ({visible.fact_by_id} ANY(ARRAY[n.id]) ORDER BY id OFFSET 0) m
WHERE m.validity IN ('active', 'fading') AND n.id NOT IN (SELECT id FROM near)
UNION ALL
SELECT {hidden_by}
FROM (
    SELECT id FROM (SELECT id, score FROM rules_ranked
        UNION ALL SELECT id, score FROM by_index WHERE ahead AND memory_type = 'rule') h
    WHERE %(with_hidden)s ORDER BY score DESC, id LIMIT %(candidates)s
) n
CROSS JOIN LATERAL ({visible.rule_by_id} ANY(ARRAY[n.id]) ORDER BY id OFFSET 0) m
WHERE m.validity IN ('active', 'fading') AND n.id NOT IN (SELECT id FROM near)

-- part: given_usual
-- The vector of the query.
query AS MATERIALIZED ({query})

-- part: given_full
-- All vectors of the query, and the lists from indexes.
query AS MATERIALIZED ({query}), earlier AS MATERIALIZED ({earlier}), by_index AS MATERIALIZED ({vector_index.by_index})

-- part: indexed_usual
-- No memory is ranked by an index.
SELECT NULL::text AS memory_type, NULL::uuid AS id, NULL::float8 AS score WHERE false

-- part: indexed_full
-- The memories that an index has ranked.
SELECT memory_type, id, score FROM by_index WHERE NOT ahead

-- name: by_meaning
-- each: usual=usual, full=full
-- Rank the memories of each type by meaning. The ranking is complete, and is read from the top until enough visible
-- memories are found: no limit cuts off a result that passes the filters. Returns how many of the nearest are hidden.
WITH {given_{kind}}, facts_head AS MATERIALIZED (
    -- Facts are many. The head of their ranking, which a heap finds without grouping and sorting all of them, mostly
    -- suffices. OFFSET 0 keeps the planner from using a vector index: this ranking is exact.
    SELECT {best_passage} FROM (
        SELECT id, distance FROM ({distances_{kind}:fact} OFFSET 0) d ORDER BY distance, id LIMIT 4 * %(candidates)s
    ) h GROUP BY id
), facts_near AS MATERIALIZED (
    SELECT n.id, n.score FROM (SELECT id, score FROM facts_head ORDER BY score DESC, id) n
    {visible.fact} ORDER BY n.score DESC, n.id LIMIT %(candidates)s
), rules_ranked AS MATERIALIZED (
    SELECT {best_passage} FROM (SELECT * FROM ({distances_{kind}:rule}) u ORDER BY id OFFSET 0) p
    GROUP BY id ORDER BY id
), episodes_ranked AS MATERIALIZED (
    SELECT {best_passage} FROM (SELECT * FROM ({distances_{kind}:episode}) u ORDER BY id OFFSET 0) p
    GROUP BY id ORDER BY id
), near AS MATERIALIZED (
    {indexed_{kind}}
    UNION ALL
    SELECT 'fact', id, score FROM facts_near
    UNION ALL
    -- The rest of the facts, if the head had too few visible ones.
    (SELECT 'fact', n.id, n.score FROM (
        SELECT {best_passage} FROM ({distances_{kind}:fact} OFFSET 0) d
        WHERE (SELECT count(*) < %(candidates)s FROM facts_near) AND id NOT IN (SELECT id FROM facts_head)
        GROUP BY id ORDER BY score DESC, id
    ) n {visible.fact} ORDER BY n.score DESC, n.id LIMIT %(candidates)s - (SELECT count(*) FROM facts_near))
    UNION ALL
    (SELECT 'rule', n.id, n.score FROM (SELECT id, score FROM rules_ranked ORDER BY score DESC, id) n
    {visible.rule} ORDER BY n.score DESC, n.id LIMIT %(candidates)s)
    UNION ALL
    (SELECT 'episode', n.id, n.score FROM (SELECT id, score FROM episodes_ranked ORDER BY score DESC, id) n
    {visible.episode} ORDER BY n.score DESC, n.id LIMIT %(candidates)s)
)
SELECT h.by_scope, h.by_confidence
FROM (
    SELECT count(*) FILTER (WHERE hidden_by = 'scope') AS by_scope,
        count(*) FILTER (WHERE hidden_by = 'confidence') AS by_confidence
    FROM ({hidden_{kind}}) h
) h, (
    SELECT coalesce(array_agg(memory_type), '{}')::text AS types, coalesce(array_agg(id), '{}')::text AS ids,
        coalesce(array_agg(score), '{}')::text AS scores FROM near
) n
WHERE set_config('memory_butler.near_types', n.types, true) || set_config('memory_butler.near_ids', n.ids, true)
    || set_config('memory_butler.near_scores', n.scores, true) IS NOT NULL;

-- part: query_lexemes
-- The lexemes to look up: the words of the question, the names in it (`named`), the words of those names, and the
-- n-grams of a question that is not in English.
SELECT lexeme, 'word' AS kind
FROM unnest(tsvector_to_array(to_tsvector(%(config)s::regconfig, %(words)s))) AS w (lexeme)
UNION ALL
SELECT DISTINCT lexeme, 'name' FROM named
UNION ALL
SELECT '~' || gram, 'gram' FROM unnest(%(grams)s::text[]) AS g (gram)
UNION ALL
(SELECT lexeme, 'mention'
FROM unnest(tsvector_to_array(to_tsvector(%(config)s::regconfig, %(mentions)s))) AS m (lexeme)
EXCEPT
SELECT lexeme, 'mention'
FROM unnest(tsvector_to_array(to_tsvector(%(config)s::regconfig, %(words)s))) AS w (lexeme))

-- part: bm25_terms
-- BM25 weights of the lexemes, over all memories of the tenant, so that a word has the same weight for every caller.
SELECT a.lexeme, a.kind, t.base, t.slope, t.unit, c.frequency,
    (%(k1)s::float8 + 1)
        * ln(1 + (greatest(t.documents, c.frequency) - c.frequency + 0.5::float8) / (c.frequency + 0.5::float8)) AS gain
FROM (
    SELECT documents, %(k1)s::float8 * (1 - %(b)s::float8) AS base,
        %(k1)s::float8 * %(b)s::float8 * documents / greatest(document_words, 1) AS slope,
        -- The weight of a word that only one memory has.
        (%(k1)s::float8 + 1) * ln(1 + (greatest(documents, 1) - 0.5::float8) / 1.5) AS unit
    FROM {tables}.tenants WHERE tenant_id = %(tenant)s OFFSET 0
) t
CROSS JOIN query_lexemes a
CROSS JOIN LATERAL (SELECT count(*) AS frequency FROM {tables}.postings
    WHERE tenant_id = %(tenant)s AND lexeme = a.lexeme) c

-- part: saturation
-- BM25's term frequency factor: grows with the frequency of the word, falls with the length of the memory.
p.frequency::float8 / (p.frequency + w.base + w.slope * p.words)

-- part: weighted_terms
-- The lexemes with their weights for the five figures of `word_scores`. In a large tenant the rare ones are read, as
-- many as `scan_limit` allows; the frequent rest is `late`: it says little, and is looked up for the best memories.
SELECT lexeme, base, slope, gain, CASE kind WHEN 'word' THEN gain / unit ELSE 0 END AS unit_gain,
    CASE kind WHEN 'mention' THEN gain / unit ELSE 0 END AS mention_gain,
    CASE kind WHEN 'word' THEN gain / sum(gain) FILTER (WHERE kind = 'word') OVER () ELSE 0 END AS share,
    CASE kind WHEN 'name' THEN gain / unit ELSE 0 END AS name_rarity,
    sum(frequency) OVER rare_first > %(scan_limit)s::int AND row_number() OVER rare_first > 1 AS is_late
FROM bm25_terms WINDOW rare_first AS (ORDER BY frequency, lexeme, kind)

-- part: word_sums
-- BM25; the same of the question's words alone, in units of a word that only one memory has; the share of the
-- question's words that a memory has, by weight; the score of the words of names in the question, in the same units;
-- and the rarity of its rarest name, 1 if no other memory has it.
sum(w.gain * m.saturation) AS score, sum(w.unit_gain * m.saturation) AS word_score, sum(w.share) AS word_coverage,
    max(w.name_rarity) AS name_rarity, sum(w.mention_gain * m.saturation) AS mention_score

-- part: word_scores
-- The scores of every memory that has one of the lexemes that are read. Of a single lexeme that is more frequent than
-- that, the newest memories.
SELECT max(m.initial) AS initial, m.memory_id AS id, {word_sums}
FROM (SELECT * FROM weighted_terms WHERE NOT is_late OFFSET 0) w
-- Word by word: a plan made for a small tenant would merge them with all postings of a large one. The type by its first
-- letter: max() of a text would copy it for every posting.
CROSS JOIN LATERAL (
    SELECT ascii(p.memory_type) AS initial, p.memory_id, {saturation} AS saturation
    FROM {tables}.postings p WHERE p.tenant_id = %(tenant)s AND p.lexeme = w.lexeme
    ORDER BY p.memory_id DESC LIMIT %(scan_limit)s::int
) m
GROUP BY m.memory_id

-- part: late_head
-- each: fact=facts, rule=rules, episode=episodes
-- The best memories of a type so far.
(SELECT id FROM rare_scores WHERE initial = ascii('{kind}') AND %(with_{table})s
    AND EXISTS (SELECT FROM weighted_terms WHERE is_late)
ORDER BY score DESC, id LIMIT 4 * %(candidates)s)

-- part: late_scores
-- The scores of the best memories and of those ranked by meaning for the late lexemes.
SELECT max(m.initial) AS initial, h.id, {word_sums}
FROM (
    {late_head:fact} UNION {late_head:rule} UNION {late_head:episode}
    UNION SELECT id FROM near WHERE EXISTS (SELECT FROM weighted_terms WHERE is_late)
) h
CROSS JOIN (SELECT * FROM weighted_terms WHERE is_late OFFSET 0) w
CROSS JOIN LATERAL (
    SELECT ascii(p.memory_type) AS initial, {saturation} AS saturation
    FROM {tables}.postings p WHERE p.tenant_id = %(tenant)s AND p.lexeme = w.lexeme AND p.memory_id = h.id OFFSET 0
) m
GROUP BY h.id

-- part: all_word_scores
-- Both together.
SELECT initial, id, round(1e6 * score) / 1e6 AS score, word_score, word_coverage, name_rarity, mention_score
FROM rare_scores WHERE NOT EXISTS (SELECT FROM weighted_terms WHERE is_late)
UNION ALL
SELECT coalesce(r.initial, l.initial), id, round(1e6 * (coalesce(r.score, 0) + coalesce(l.score, 0))) / 1e6,
    coalesce(r.word_score, 0) + coalesce(l.word_score, 0), coalesce(r.word_coverage, 0) + coalesce(l.word_coverage, 0),
    greatest(r.name_rarity, l.name_rarity), coalesce(r.mention_score, 0) + coalesce(l.mention_score, 0)
FROM rare_scores r FULL JOIN ({late_scores}) l USING (id)
WHERE EXISTS (SELECT FROM weighted_terms WHERE is_late)

-- part: important_facts
-- For a briefing: the most important facts about the subjects that the question names, wherever they are on the lists.
-- Looks at no more than 1000 of them.
SELECT 'fact' AS memory_type, n.id
FROM (
    SELECT i.id, i.importance FROM (
        SELECT id FROM by_words WHERE name_rarity > 0 AND initial = ascii('fact') AND %(for_briefing)s
        ORDER BY score DESC, id LIMIT 1000
    ) w CROSS JOIN LATERAL (
        {visible.fact_by_id} ANY(ARRAY[w.id]) ORDER BY id OFFSET 0
    ) i
    ORDER BY importance DESC, id
) n
{visible.fact}
WHERE n.id NOT IN (SELECT id FROM near) AND n.id NOT IN (SELECT id FROM worded)
ORDER BY n.importance DESC, n.id LIMIT %(important_facts)s

-- part: asks
-- Does a text end with a question? A note in brackets may follow it.
~ '[?？]["''”’)*]*\s*(\[[^][]*\]\s*)?$'

-- part: contexts
-- each: usual=usual, full=full
-- The episode that belongs to a candidate: the source of a fact, if the caller may see it, and the previous episode in
-- the session of an episode, whose words matter if it asks a question.
SELECT m.fact_id AS id, m.id AS context_id, true AS matters, {best_similarity_{kind}} AS similarity
FROM (
    SELECT f.id AS fact_id, 'episode' AS memory_type, s.id
    FROM ({visible.fact_by_id} ANY(ARRAY(SELECT id FROM listed WHERE memory_type = 'fact')) ORDER BY id OFFSET 0) f
    CROSS JOIN LATERAL ({visible.episode_by_id} ANY(ARRAY[f.source_episode_id]) ORDER BY id OFFSET 0) s
    WHERE f.source_episode_id IS NOT NULL AND s.validity = 'active' AND (s.pinned OR s.expires_at > %(now)s)
        AND (%(butlers)s::text[] IS NULL OR s.butler = ANY(%(butlers)s))
) m
UNION ALL
SELECT e.id, p.id, p.content {asks}, NULL
FROM ({visible.episode_by_id} ANY(ARRAY(SELECT id FROM listed WHERE memory_type = 'episode')) ORDER BY id OFFSET 0) e
CROSS JOIN LATERAL (
    SELECT n.id, n.content FROM (
        SELECT * FROM {tables}.episodes n
        WHERE n.tenant_id = %(tenant)s AND n.butler = e.butler AND n.session_id = e.session_id
            AND (n.observed_at, n.created_at, n.id) < (e.observed_at, e.created_at, e.id)
        ORDER BY n.observed_at DESC, n.created_at DESC, n.id DESC OFFSET 0
    ) n
    WHERE n.validity = 'active' AND (n.pinned OR n.expires_at > %(now)s)
    ORDER BY n.observed_at DESC, n.created_at DESC, n.id DESC LIMIT 1
) p

-- part: best
-- The best of all, from which a briefing looks one step further.
SELECT l.id FROM listed l LEFT JOIN words w ON w.id = l.id WHERE %(for_briefing)s
ORDER BY coalesce(l.similarity, 0) + coalesce(w.word_score, 0) / 2 DESC, l.id LIMIT %(sources)s

-- part: left_usual
-- The candidates of each type, left in settings for the statements that follow.
SELECT set_config('memory_butler.candidate_' || t.name,
    (SELECT coalesce(array_agg(l.id), '{}')::text FROM listed l WHERE l.memory_type = t.type), true)
FROM (VALUES ('facts', 'fact'), ('rules', 'rule'), ('episodes', 'episode')) AS t (name, type)

-- part: left_full
-- The same, and the best of all.
{left_usual}
UNION ALL
SELECT set_config('memory_butler.best', (SELECT coalesce(array_agg(b.id), '{}')::text FROM best b), true)

-- part: on_a_list
-- each: usual=usual, full=full
-- The memories of both lists.
SELECT memory_type, id, near.score AS semantic_score, m.score AS keyword_score,
    coalesce(near.score, {best_similarity_{kind}}) AS similarity
FROM near FULL JOIN worded m USING (memory_type, id)

-- part: listed_usual
-- The memories of both lists.
{on_a_list:usual}

-- part: listed_full
-- The same, and the most important facts for a briefing.
{on_a_list:full}
UNION ALL
SELECT m.memory_type, m.id, m.similarity, NULL, m.similarity
FROM (SELECT m.memory_type, m.id, {best_similarity_full} AS similarity FROM ({important_facts}) m) m

-- name: candidates
-- each: usual=usual, full=full
-- Rank the memories of each type by words, add those ranked by meaning, and return the scores of all. Like the ranking
-- by meaning, this one is complete and read from the top.
WITH {given_{kind}}, near AS MATERIALIZED (
    SELECT memory_type, id, score
    FROM unnest(nullif(current_setting('memory_butler.near_types', true), '')::text[],
        nullif(current_setting('memory_butler.near_ids', true), '')::uuid[],
        nullif(current_setting('memory_butler.near_scores', true), '')::float8[]) AS n (memory_type, id, score)
), named AS MATERIALIZED (
    SELECT lexeme FROM json_to_recordset(nullif(current_setting('memory_butler.names', true), '')::json)
        AS n (lexeme text)
), query_lexemes AS MATERIALIZED (
    {query_lexemes}
), bm25_terms AS MATERIALIZED (
    {bm25_terms}
), weighted_terms AS MATERIALIZED (
    {weighted_terms}
), rare_scores AS MATERIALIZED (
    {word_scores}
), by_words AS MATERIALIZED (
    {all_word_scores}
), facts_head AS MATERIALIZED (
    SELECT id, score FROM by_words WHERE initial = ascii('fact') AND %(with_facts)s
    ORDER BY score DESC, id LIMIT 4 * %(candidates)s
), facts_worded AS MATERIALIZED (
    SELECT n.id, n.score FROM facts_head n {visible.fact} ORDER BY n.score DESC, n.id LIMIT %(candidates)s
), worded AS MATERIALIZED (
    SELECT 'fact' AS memory_type, id, score FROM facts_worded
    UNION ALL
    (SELECT 'fact', n.id, n.score FROM (
        SELECT id, score FROM by_words
        WHERE initial = ascii('fact') AND %(with_facts)s AND (SELECT count(*) < %(candidates)s FROM facts_worded)
        ORDER BY score DESC, id OFFSET (SELECT count(*) FROM facts_head)
    ) n {visible.fact} ORDER BY n.score DESC, n.id LIMIT %(candidates)s - (SELECT count(*) FROM facts_worded))
    UNION ALL
    (SELECT 'rule', n.id, n.score FROM (
        SELECT id, score FROM by_words WHERE initial = ascii('rule') AND %(with_rules)s ORDER BY score DESC, id
    ) n {visible.rule} ORDER BY n.score DESC, n.id LIMIT %(candidates)s)
    UNION ALL
    (SELECT 'episode', n.id, n.score FROM (
        SELECT id, score FROM by_words WHERE initial = ascii('episode') AND %(with_episodes)s ORDER BY score DESC, id
    ) n {visible.episode} ORDER BY n.score DESC, n.id LIMIT %(candidates)s)
), listed AS MATERIALIZED (
    {listed_{kind}}
), contexts AS MATERIALIZED (
    {contexts:{kind}}
), words AS MATERIALIZED (
    -- One pass over the many: a join would build a table of all of them for the few.
    SELECT id, round(1e6 * word_score) / 1e6 AS word_score, round(1e6 * word_coverage) / 1e6 AS word_coverage,
        round(1e6 * name_rarity) / 1e6 AS name_rarity, round(1e6 * mention_score) / 1e6 AS mention_score
    FROM by_words
    WHERE (id IN (SELECT id FROM listed UNION ALL SELECT context_id FROM contexts WHERE matters)) IS TRUE
), best AS MATERIALIZED (
    {best}
), left_for_details AS MATERIALIZED (
    {left_{kind}}
)
SELECT m.id, m.semantic_score, m.keyword_score, m.similarity, coalesce(w.word_score, 0) AS word_score,
    coalesce(w.word_coverage, 0) AS word_coverage, coalesce(w.name_rarity, 0) > 0 AS is_named,
    c.id IS NOT NULL AS has_context, c.similarity AS context_similarity,
    coalesce(o.word_score, 0) AS context_word_score, coalesce(o.word_coverage, 0) AS context_word_coverage,
    coalesce(w.mention_score, 0) AS mention_score, coalesce(w.name_rarity, 0) AS name_rarity, c.context_id
FROM listed m
LEFT JOIN words w ON w.id = m.id
LEFT JOIN contexts c ON c.id = m.id
LEFT JOIN words o ON o.id = c.context_id AND c.matters
WHERE (SELECT count(*) FROM left_for_details) > 0;

-- part: named_subjects
-- The subjects of the best candidates, and those that their texts name; not the user, whom everything is about.
SELECT DISTINCT f.subject, f.subject_label
FROM (
    SELECT id FROM best
    UNION ALL
    SELECT n.memory_id
    FROM (
        SELECT e.content FROM best b
        CROSS JOIN LATERAL ({visible.episode_by_id} ANY(ARRAY[b.id]) ORDER BY id OFFSET 0) e
        UNION ALL
        SELECT r.content FROM best b
        CROSS JOIN LATERAL ({visible.rule_by_id} ANY(ARRAY[b.id]) ORDER BY id OFFSET 0) r
    ) t
    CROSS JOIN LATERAL unnest(tsvector_to_array(to_tsvector('simple', left(t.content, 2000)))) AS w (lexeme)
    CROSS JOIN LATERAL (
        SELECT p.memory_id FROM {tables}.postings p
        WHERE p.tenant_id = %(tenant)s AND p.lexeme IN ('@' || w.lexeme, '#' || w.lexeme) AND p.memory_type = 'fact'
        ORDER BY p.memory_id LIMIT 1
    ) n
) m
-- One by one: a plan made for a small tenant would read all facts of a large one.
CROSS JOIN LATERAL ({visible.fact_by_id} ANY(ARRAY[m.id]) ORDER BY id OFFSET 0) f
WHERE f.subject <> ALL(%(user_keys)s::text[]) AND NOT EXISTS (
    SELECT FROM {tables}.aliases a
    WHERE a.tenant_id = %(tenant)s AND a.alias = f.subject AND a.subject = ANY(%(user_keys)s::text[])
        AND a.validity = 'active'
)

-- part: one_step_away
-- Facts about the named subjects, most important first, and rules and episodes that mention one of them.
SELECT 'fact' AS memory_type, f.id
FROM named_subjects s
CROSS JOIN LATERAL (
    SELECT f.id FROM (SELECT * FROM {tables}.facts WHERE tenant_id = %(tenant)s AND subject = s.subject
        ORDER BY predicate OFFSET 0) f
    WHERE f.validity IN ('active', 'fading')
    ORDER BY f.importance DESC, f.id LIMIT %(important_facts)s
) f
UNION ALL
SELECT p.memory_type, p.memory_id
FROM named_subjects s
CROSS JOIN LATERAL unnest(tsvector_to_array(to_tsvector(%(config)s::regconfig, s.subject_label))) AS w (lexeme)
CROSS JOIN LATERAL (
    SELECT p.memory_type, p.memory_id FROM {tables}.postings p
    WHERE p.tenant_id = %(tenant)s AND p.lexeme = w.lexeme AND p.memory_type IN ('rule', 'episode')
    ORDER BY p.memory_id DESC LIMIT %(important_facts)s
) p

-- part: by_kind
-- Memories for the task's kind of work: the product of the two domain profiles.
SELECT p.memory_id AS id,
    round(1e4 * -(p.profile OPERATOR({vector}.<#>) (SELECT profile FROM kind_of_work))) AS score
FROM {tables}.profiles p
WHERE p.tenant_id = %(tenant)s AND p.version = ANY(%(profile_versions)s::int[])
    AND (SELECT profile IS NOT NULL FROM kind_of_work)

-- part: facts_by_kind
-- The facts among them; in a large tenant the newest. The score is computed once for each.
{by_kind} AND p.memory_type = 'fact' ORDER BY p.memory_id DESC LIMIT %(scan_limit)s::int

-- name: more
-- For a briefing: candidates that the two lists need not hold. Memories for the same kind of work, one step away from
-- the best candidates, pinned ones, and the most recent episodes.
WITH query AS MATERIALIZED (
    {query}
), earlier AS MATERIALIZED (
    {earlier}
), kind_of_work AS MATERIALIZED (
    SELECT %(kind_of_work)s::{vector}.vector AS profile
), best AS MATERIALIZED (
    SELECT unnest(nullif(current_setting('memory_butler.best', true), '')::uuid[]) AS id
), facts_head AS MATERIALIZED (
    -- As in the ranking by meaning: the head of the list mostly suffices.
    SELECT id, score FROM ({facts_by_kind}) p WHERE score > 0 ORDER BY score DESC, id LIMIT 4 * %(candidates)s
), facts_of_kind AS MATERIALIZED (
    SELECT n.id FROM facts_head n {visible.fact} ORDER BY n.score DESC, n.id LIMIT %(candidates)s
), named_subjects AS MATERIALIZED (
    {named_subjects}
), listed AS MATERIALIZED (
    SELECT t.name, t.type, nullif(current_setting('memory_butler.candidate_' || t.name, true), '')::uuid[] AS ids
    FROM (VALUES ('facts', 'fact'), ('rules', 'rule'), ('episodes', 'episode')) AS t (name, type)
), wanted AS MATERIALIZED (
    -- Those that the caller may not see are still among them.
    SELECT w.memory_type, w.id
    FROM (
        {one_step_away}
        UNION
        (SELECT 'fact', id FROM {tables}.facts WHERE tenant_id = %(tenant)s AND pinned ORDER BY id LIMIT %(candidates)s)
        UNION
        (SELECT 'rule', id FROM {tables}.rules WHERE tenant_id = %(tenant)s AND pinned ORDER BY id LIMIT %(candidates)s)
    ) AS w (memory_type, id)
    JOIN listed l ON l.type = w.memory_type AND w.id <> ALL(l.ids)
), added AS MATERIALIZED (
    SELECT 'fact' AS memory_type, id FROM facts_of_kind
    UNION
    (SELECT 'fact', n.id FROM (
        SELECT id, score FROM ({facts_by_kind}) p
        WHERE score > 0 AND (SELECT count(*) < %(candidates)s FROM facts_of_kind)
        ORDER BY score DESC, id OFFSET (SELECT count(*) FROM facts_head)
    ) n {visible.fact} ORDER BY n.score DESC, n.id LIMIT %(candidates)s - (SELECT count(*) FROM facts_of_kind))
    UNION
    (SELECT 'rule', n.id FROM (
        {by_kind} AND p.memory_type = 'rule' ORDER BY score DESC, id
    ) n {visible.rule} ORDER BY n.score DESC, n.id LIMIT %(candidates)s)
    UNION
    (SELECT 'episode', n.id FROM (
        SELECT id, observed_at FROM {tables}.episodes WHERE tenant_id = %(tenant)s ORDER BY observed_at DESC, id DESC
    ) n {visible.episode} ORDER BY n.observed_at DESC, n.id DESC LIMIT %(recent_episodes)s)
    UNION
    SELECT 'fact', n.id FROM wanted n {visible.fact} WHERE n.memory_type = 'fact'
    UNION
    SELECT 'rule', n.id FROM wanted n {visible.rule} WHERE n.memory_type = 'rule'
    UNION
    SELECT 'episode', n.id FROM wanted n {visible.episode} WHERE n.memory_type = 'episode'
), unlisted AS MATERIALIZED (
    SELECT m.memory_type, m.id FROM added m JOIN listed l ON l.type = m.memory_type WHERE m.id <> ALL(l.ids)
), extended AS MATERIALIZED (
    SELECT set_config('memory_butler.candidate_' || l.name,
        (l.ids || ARRAY(SELECT u.id FROM unlisted u WHERE u.memory_type = l.type))::text, true) FROM listed l
)
SELECT m.id, m.similarity AS semantic_score, NULL::float8 AS keyword_score, m.similarity, 0::float8 AS word_score,
    0::float8 AS word_coverage, false AS is_named, false AS has_context, NULL::float8 AS context_similarity,
    0::float8 AS context_word_score, 0::float8 AS context_word_coverage, 0::float8 AS mention_score,
    0::float8 AS name_rarity, NULL::uuid AS context_id
FROM (SELECT m.id, {best_similarity_full} AS similarity FROM unlisted m OFFSET 0) m
WHERE (SELECT count(*) FROM extended) > 0;

-- part: ids
-- each: fact=facts, rule=rules, episode=episodes
-- The candidates of a type, as the statements before left them.
nullif(current_setting('memory_butler.candidate_{table}', true), '')::uuid[]

-- name: facts
-- The candidates that are facts, unless one was withdrawn since the statement before. A pinned fact does not decay.
-- `since_changed`: a newer note that the caller may see corrects it, `replaced_by`.
SELECT f.id, f.ref, f.source_butler, f.content, f.tags, f.validity, f.created_at, f.last_referenced_at, f.scope,
    f.importance, f.confidence, CASE WHEN f.pinned THEN 0 ELSE f.decay_rate END AS decay_rate, f.last_confirmed_at,
    f.subject_label, f.predicate_label, f.permanence, f.valid_at, f.pinned, f.origin,
    newer.id IS NOT NULL AS since_changed, newer.id AS replaced_by
FROM ({visible.fact_by_id} ANY({ids:fact}) ORDER BY id OFFSET 0) f
LEFT JOIN (
    SELECT DISTINCT ON (l.target_id) l.target_id, n.id FROM {schema}.memory_links l
    CROSS JOIN LATERAL ({visible.fact_by_id} ANY(ARRAY[l.source_id]) ORDER BY id OFFSET 0) n
    WHERE l.tenant_id = %(tenant)s AND l.target_id = ANY({ids:fact}) AND l.relation = 'contradicts'
        AND n.validity IN ('active', 'fading') AND (%(scopes)s::text[] IS NULL OR n.scope = ANY(%(scopes)s::text[]))
    ORDER BY l.target_id, n.created_at DESC, n.id DESC
) newer ON newer.target_id = f.id
WHERE f.validity IN ('active', 'fading');

-- name: rules
-- The candidates that are rules. Neither a pinned rule nor a warning decays. `since_changed`: a newer rule or note that
-- the caller may see corrects it, `replaced_by`.
SELECT r.id, r.ref, r.source_butler, r.content, r.tags, r.validity, r.created_at, r.last_referenced_at, r.scope,
    r.confidence, CASE WHEN r.pinned OR r.maturity = 'anti_pattern' THEN 0 ELSE r.decay_rate END AS decay_rate,
    r.last_confirmed_at, r.maturity, r.harmful_reasons, r.pinned, r.origin,
    newer.id IS NOT NULL AS since_changed, newer.id AS replaced_by
FROM ({visible.rule_by_id} ANY({ids:rule}) ORDER BY id OFFSET 0) r
LEFT JOIN (
    SELECT DISTINCT ON (l.target_id) l.target_id, l.source_id AS id FROM {schema}.memory_links l
    LEFT JOIN LATERAL ({visible.rule_by_id} ANY(ARRAY[l.source_id]) ORDER BY id OFFSET 0) n ON l.source_type = 'rule'
    LEFT JOIN LATERAL ({visible.fact_by_id} ANY(ARRAY[l.source_id]) ORDER BY id OFFSET 0) f ON l.source_type = 'fact'
    WHERE l.tenant_id = %(tenant)s AND l.target_id = ANY({ids:rule}) AND l.relation = 'contradicts'
        AND coalesce(n.validity, f.validity) IN ('active', 'fading')
        AND (%(scopes)s::text[] IS NULL OR coalesce(n.scope, f.scope) = ANY(%(scopes)s::text[]))
    ORDER BY l.target_id, l.created_at DESC, l.source_id DESC
) newer ON newer.target_id = r.id
WHERE r.validity IN ('active', 'fading');

-- name: episodes
-- The candidates that are episodes. `since_changed`: a fact that came from it has been replaced, by `replaced_by`.
SELECT e.id, e.ref, e.butler, e.content, e.tags, e.validity, e.created_at, e.last_referenced_at, e.butler AS scope,
    e.importance, e.observed_at, e.session_id, e.pinned, old.id IS NOT NULL AS since_changed, old.replaced_by,
    e.origin
FROM ({visible.episode_by_id} ANY({ids:episode}) ORDER BY id OFFSET 0) e
LEFT JOIN (
    SELECT DISTINCT ON (f.source_episode_id) f.source_episode_id, f.id, n.id AS replaced_by
    FROM (SELECT * FROM {tables}.facts WHERE tenant_id = %(tenant)s AND source_episode_id = ANY({ids:episode})
        ORDER BY source_episode_id OFFSET 0) f
    LEFT JOIN {tables}.facts n ON n.tenant_id = %(tenant)s AND n.subject = f.subject AND n.predicate = f.predicate
        AND n.scope = f.scope AND n.validity IN ('active', 'fading')
    WHERE f.validity = 'superseded'
    ORDER BY f.source_episode_id, n.id
) old ON old.source_episode_id = e.id
WHERE e.validity = 'active';

-- part: profiles
-- each: fact=facts, rule=rules, episode=episodes
-- The domain profiles of the candidates of a type.
SELECT memory_id, profile FROM {tables}.profiles
WHERE tenant_id = %(tenant)s AND memory_type = '{kind}' AND memory_id = ANY({ids:{kind}})
    AND version = ANY(%(profile_versions)s::int[])

-- name: profiles
-- For a briefing: the domain profiles of the candidates.
{profiles:fact} UNION ALL {profiles:rule} UNION ALL {profiles:episode};
