-- name: take_turn
-- One migration of the indexes of a schema at a time; the turn ends with the connection, if not before.
SELECT pg_try_advisory_lock(hashtextextended(%(key)s, 0)) AS mine, pg_backend_pid() AS pid,
    set_config('statement_timeout', '0', false),
    set_config('maintenance_work_mem', %(memory)s, false);

-- name: end_turn
-- The migration is over.
SELECT pg_advisory_unlock(hashtextextended(%(key)s, 0));

-- part: digest
-- What stands for the tenant in the name of an index: a tenant's own name may be too long for one.
left(encode(sha256(convert_to(%(tenant)s, 'UTF8')), 'hex'), 24)

-- part: ready
-- The tenant's indexes that can be used, with the type of memory each is for.
SELECT split_part(c.relname, '_', 3) AS memory_type, c.reltuples AS rows, o.lists
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
CROSS JOIN LATERAL (SELECT max(option_value::int) FILTER (WHERE option_name = 'lists') AS lists
    FROM pg_options_to_table(c.reloptions)) o
WHERE i.indisvalid AND i.indexrelid IN (
    to_regclass('{schema}.passages_near_fact_' || {digest}),
    to_regclass('{schema}.passages_near_rule_' || {digest}),
    to_regclass('{schema}.passages_near_episode_' || {digest}))

-- part: walk
-- How many passages an HNSW index may walk past before the list it gives is no longer trusted.
greatest(8 * %(candidates)s::int, ceil(%(scan_share)s::float8 * r.rows)::int)

-- name: prepare
-- Set how the tenant's indexes are read, and that the next statement is planned for this very tenant: an index for one
-- tenant is no use to a plan that is to serve all of them. In that statement only an index may bring passages in order.
SELECT
    set_config('plan_cache_mode', 'force_custom_plan', true),
    set_config('enable_sort', 'off', true),
    set_config('hnsw.iterative_scan', 'relaxed_order', true),
    set_config('hnsw.ef_search', %(ef_search)s::int::text, true),
    set_config('hnsw.max_scan_tuples', ({walk})::text, true),
    set_config('ivfflat.iterative_scan', 'relaxed_order', true),
    set_config('ivfflat.probes', r.probes::text, true),
    set_config('ivfflat.max_probes',
        least(32768, greatest(2 * r.probes, ceil(%(scan_share)s::float8 * r.lists)::int))::text, true)
FROM (
    SELECT max(rows) AS rows, max(lists) AS lists,
        coalesce(%(probes)s::int, ceil(3 * sqrt(max(lists)))::int, 1) AS probes
    FROM ({ready}) indexes
    HAVING count(*) > 0
) r;

-- part: distance
-- How far a passage is from the question.
p.embedding OPERATOR({vector}.<#>) (SELECT embedding FROM asked)

-- part: walk_along
-- The tenant's passages, each with its place on the walk through the index.
SELECT p.memory_id AS id, {distance} AS distance, row_number() OVER () AS place
FROM {schema}.passages p
WHERE p.tenant_id = %(tenant)s

-- part: best
-- A memory is as near as its best passage, and was found once the walk had come to its last.
w.id, round(1e6 * max(w.nearness)) / 1e6 AS score, max(w.place) AS place

-- part: best_first
-- Each memory once, the nearest first, as many as are looked at.
GROUP BY w.id ORDER BY score DESC, w.id LIMIT %(candidates)s

-- part: facts_in_order
-- The facts next to the question, as the index gives their passages: a walk that ends when enough are found.
{walk_along} AND p.memory_type = 'fact' AND %(with_facts)s
    AND p.embedding_version = %(embedding_version)s
    AND EXISTS (SELECT FROM ready WHERE memory_type = 'fact')
ORDER BY {distance}

-- part: rules_in_order
-- The rules next to the question, as the index gives their passages: a walk that ends when enough are found.
{walk_along} AND p.memory_type = 'rule' AND %(with_rules)s
    AND p.embedding_version = %(embedding_version)s
    AND EXISTS (SELECT FROM ready WHERE memory_type = 'rule')
ORDER BY {distance}

-- part: episodes_in_order
-- The episodes next to the question, as the index gives their passages: a walk that ends when enough are found.
{walk_along} AND p.memory_type = 'episode' AND %(with_episodes)s
    AND p.embedding_version = %(embedding_version)s
    AND EXISTS (SELECT FROM ready WHERE memory_type = 'episode')
ORDER BY {distance}

-- name: near
-- Where the tenant has an index: the nearest memories that the caller may see, left in a setting of this transaction for
-- the search that follows. A type is there with a full list or not at all; then the search looks at every memory of it.
-- Asked to, it also leaves the nearest of all (`ahead`), whoever may see them.
WITH asked AS MATERIALIZED (
    SELECT %(embedding)s::{vector}.vector AS embedding
), ready AS MATERIALIZED (
    {ready}
), found AS MATERIALIZED (
    (SELECT 'fact' AS memory_type, {best}, false AS ahead
    FROM (
        SELECT n.id, n.place, -n.distance AS nearness
        FROM ({facts_in_order}) n
        {search_index.seen_fact}
        ORDER BY n.distance
        LIMIT 2 * %(candidates)s
    ) w
    {best_first})
    UNION ALL
    (SELECT 'rule' AS memory_type, {best}, false AS ahead
    FROM (
        SELECT n.id, n.place, -n.distance AS nearness
        FROM ({rules_in_order}) n
        {search_index.seen_rule}
        ORDER BY n.distance
        LIMIT 2 * %(candidates)s
    ) w
    {best_first})
    UNION ALL
    (SELECT 'episode' AS memory_type, {best}, false AS ahead
    FROM (
        SELECT n.id, n.place, -n.distance AS nearness
        FROM ({episodes_in_order}) n
        {search_index.seen_episode}
        ORDER BY n.distance
        LIMIT 2 * %(candidates)s
    ) w
    {best_first})
    UNION ALL
    (SELECT 'fact' AS memory_type, {best}, true AS ahead
    FROM (
        SELECT n.id, n.place, -n.distance AS nearness
        FROM ({facts_in_order}) n
        WHERE %(with_hidden)s
        ORDER BY n.distance
        LIMIT %(candidates)s
    ) w
    {best_first})
    UNION ALL
    (SELECT 'rule' AS memory_type, {best}, true AS ahead
    FROM (
        SELECT n.id, n.place, -n.distance AS nearness
        FROM ({rules_in_order}) n
        WHERE %(with_hidden)s
        ORDER BY n.distance
        LIMIT %(candidates)s
    ) w
    {best_first})
), full_lists AS (
    -- Past what it was to walk, an HNSW index empties its pockets: what it then gives is no longer the nearest.
    SELECT f.memory_type FROM found f JOIN ready r USING (memory_type) WHERE NOT f.ahead
        AND (r.lists IS NOT NULL OR f.place <= {walk})
    GROUP BY f.memory_type HAVING count(*) >= %(candidates)s
)
SELECT
    set_config('memory_butler.near', coalesce(jsonb_agg(to_jsonb(f) - 'place'), '[]')::text, true),
    -- The search itself has a plan for all tenants.
    set_config('plan_cache_mode', 'force_generic_plan', true),
    set_config('enable_sort', 'on', true)
FROM found f WHERE f.memory_type IN (SELECT memory_type FROM full_lists);

-- part: by_index
-- What the statement above has left: memory_type, id, score, ahead. Nothing where it was not sent.
SELECT n.memory_type, n.id, n.score, n.ahead
FROM jsonb_to_recordset(nullif(current_setting('memory_butler.near', true), '')::jsonb)
    AS n (memory_type text, id uuid, score float8, ahead boolean)

-- name: usable
-- Whose memories of which types have an index that can be used: the digest of the tenant, and the type.
SELECT right(c.relname, 24) AS digest, split_part(c.relname, '_', 3) AS memory_type
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = to_regclass('{schema}.passages') AND i.indisvalid
    AND c.relname ~ '^passages_near_(fact|rule|episode)_[0-9a-f]+$';

-- name: listed
-- The last list that was left by an index, as rows.
{by_index};

-- name: indexes
-- Every index of ours, whole or not, with the tenant it is for; none, if that is gone.
SELECT c.relname AS name, t.tenant_id AS tenant, split_part(c.relname, '_', 2) AS stage,
    split_part(c.relname, '_', 3) AS memory_type, a.amname AS kind, i.indisvalid AS valid,
    pg_relation_size(c.oid) AS bytes, obj_description(c.oid, 'pg_class') AS note,
    ARRAY(SELECT ARRAY[option_name, option_value] FROM pg_options_to_table(c.reloptions)) AS options
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
JOIN pg_catalog.pg_am a ON a.oid = c.relam
LEFT JOIN {schema}.tenants t ON left(encode(sha256(convert_to(t.tenant_id, 'UTF8')), 'hex'), 24) = right(c.relname, 24)
WHERE i.indrelid = to_regclass('{schema}.passages')
    AND c.relname ~ '^passages_(near|next|past)_(fact|rule|episode)_[0-9a-f]+$'
ORDER BY t.tenant_id, 4, 3;

-- name: tenants
-- Tenants that can have so many passages or are among the largest, by the number of their memories.
SELECT tenant_id AS tenant, documents AS memories FROM {schema}.tenants
WHERE documents >= %(at_least)s
    OR tenant_id IN (SELECT tenant_id FROM {schema}.tenants ORDER BY documents DESC, tenant_id LIMIT %(largest)s)
ORDER BY documents DESC, tenant_id;

-- name: passages
-- How many passages a tenant has of each type.
SELECT memory_type, count(*) AS passages FROM {schema}.passages WHERE tenant_id = %(tenant)s
GROUP BY memory_type ORDER BY memory_type;

-- name: write_build
-- The statement that builds an index beside the one in use, if any. It cannot take parameters, so it is written out here.
SELECT format('CREATE INDEX CONCURRENTLY %%I ON {schema}.passages USING %%I (embedding {vector}.vector_ip_ops)'
        ' WITH (%%s) WHERE tenant_id = %%L AND memory_type = %%L',
    'passages_next_' || %(memory_type)s::text || '_' || {digest}, %(kind)s::text,
    (SELECT string_agg(format('%%I = %%s', o.name, o.value), ', ')
    FROM unnest(%(names)s::text[], %(values)s::int[]) AS o (name, value)),
    %(tenant)s::text, %(memory_type)s::text) AS statement;

-- name: write_note
-- The statement that notes on a new index how large it was when it was new.
SELECT format('COMMENT ON INDEX {schema}.%%I IS %%L', c.relname, json_build_object(
    'rows', %(rows)s::bigint, 'bytes', pg_relation_size(c.oid), 'built_at', %(now)s::timestamptz)) AS statement
FROM pg_catalog.pg_class c
WHERE c.oid = to_regclass('{schema}.passages_next_' || %(memory_type)s::text || '_' || {digest});

-- name: write_rename
-- The statement that gives an index of a tenant another part to play.
SELECT format('ALTER INDEX IF EXISTS {schema}.%%I RENAME TO %%I',
    'passages_' || %(stage)s::text || '_' || %(memory_type)s::text || '_' || {digest},
    'passages_' || %(becomes)s::text || '_' || %(memory_type)s::text || '_' || {digest}) AS statement;

-- name: write_drop
-- The statement that drops an index while others read and write.
SELECT format('DROP INDEX CONCURRENTLY IF EXISTS {schema}.%%I', %(name)s::text) AS statement;

-- name: analyze
-- Let the planner know how many rows there are, of the index and of what is looked up by it.
ANALYZE {schema}.passages, {schema}.facts, {schema}.rules, {schema}.episodes;

-- name: progress
-- How far a backend is with building an index.
SELECT phase, tuples_done, tuples_total, blocks_done, blocks_total FROM pg_catalog.pg_stat_progress_create_index
WHERE pid = %(pid)s;

-- name: keep_question
-- Keep the vector of a question, in the place of the one that was there.
INSERT INTO {schema}.recent_questions (tenant_id, slot, embedding_version, embedding, asked_at)
VALUES (%(tenant)s, %(slot)s, %(embedding_version)s, %(embedding)s::{vector}.vector, %(asked_at)s)
ON CONFLICT (tenant_id, slot) DO UPDATE
SET embedding_version = excluded.embedding_version, embedding = excluded.embedding, asked_at = excluded.asked_at;

-- name: recent_questions
-- Questions to measure an index with: the vectors of those that were asked last.
SELECT embedding::real[] AS embedding FROM {schema}.recent_questions
WHERE tenant_id = %(tenant)s AND embedding_version = %(embedding_version)s
ORDER BY asked_at DESC, slot
LIMIT %(limit)s;

-- name: drop_needless_questions
-- Questions are kept to measure an index with: where there is none, they go.
DELETE FROM {schema}.recent_questions WHERE tenant_id = %(tenant)s AND NOT EXISTS ({ready});

-- name: sample
-- What stands in for questions where too few were asked: passages of the tenant, half its newest, half drawn from all.
(SELECT memory_id, embedding::real[] AS embedding FROM {schema}.passages
WHERE tenant_id = %(tenant)s AND memory_type = %(memory_type)s AND ordinal = 0
    AND embedding_version = %(embedding_version)s
ORDER BY memory_id DESC LIMIT %(half)s)
UNION ALL
(SELECT p.memory_id, p.embedding::real[] FROM (
    SELECT memory_id, ordinal FROM {schema}.passages
    WHERE tenant_id = %(tenant)s AND memory_type = %(memory_type)s
    ORDER BY hashtextextended(memory_id::text, %(seed)s), ordinal LIMIT %(half)s
) drawn
JOIN {schema}.passages p ON p.tenant_id = %(tenant)s AND p.memory_type = %(memory_type)s
    AND p.memory_id = drawn.memory_id AND p.ordinal = drawn.ordinal
WHERE p.embedding_version = %(embedding_version)s);

-- name: exact
-- The same list of one type, found by looking at every memory of it.
WITH asked AS MATERIALIZED (
    SELECT %(embedding)s::{vector}.vector AS embedding
)
(SELECT n.id, n.score FROM (
    SELECT p.memory_id AS id, max({search_index.nearness}) AS score
    FROM {schema}.passages p
    WHERE p.tenant_id = %(tenant)s AND p.memory_type = 'fact' AND %(with_facts)s
        AND p.embedding_version = %(embedding_version)s
    GROUP BY p.memory_id ORDER BY score DESC, p.memory_id
) n
{search_index.seen_fact} ORDER BY n.score DESC, n.id LIMIT %(candidates)s)
UNION ALL
(SELECT n.id, n.score FROM (
    SELECT p.memory_id AS id, max({search_index.nearness}) AS score
    FROM {schema}.passages p
    WHERE p.tenant_id = %(tenant)s AND p.memory_type = 'rule' AND %(with_rules)s
        AND p.embedding_version = %(embedding_version)s
    GROUP BY p.memory_id ORDER BY score DESC, p.memory_id
) n
{search_index.seen_rule} ORDER BY n.score DESC, n.id LIMIT %(candidates)s)
UNION ALL
(SELECT n.id, n.score FROM (
    SELECT p.memory_id AS id, max({search_index.nearness}) AS score
    FROM {schema}.passages p
    WHERE p.tenant_id = %(tenant)s AND p.memory_type = 'episode' AND %(with_episodes)s
        AND p.embedding_version = %(embedding_version)s
    GROUP BY p.memory_id ORDER BY score DESC, p.memory_id
) n
{search_index.seen_episode} ORDER BY n.score DESC, n.id LIMIT %(candidates)s)
ORDER BY score DESC, id;
