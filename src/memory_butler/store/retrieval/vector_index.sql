-- name: take_turn
-- Lock the schema for one index migration at a time, until `end_turn` or the end of the connection.
SELECT pg_try_advisory_lock(hashtextextended(%(key)s, 0)) AS mine, pg_backend_pid() AS pid,
    set_config('statement_timeout', '0', false),
    set_config('maintenance_work_mem', %(memory)s, false);

-- name: end_turn
-- Release that lock.
SELECT pg_advisory_unlock(hashtextextended(%(key)s, 0));

-- part: digest
-- The embedding version and the digest of the tenant, as in an index name: a tenant's name may be too long.
%(embedding_version)s::int || '_' || left(encode(sha256(convert_to(%(tenant)s, 'UTF8')), 'hex'), 24)

-- part: ready
-- The tenant's usable indexes of an embedding version and stage, with their type of memory.
SELECT split_part(c.relname, '_', 3) AS memory_type, c.reltuples AS rows, o.lists
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
CROSS JOIN LATERAL (SELECT max(option_value::int) FILTER (WHERE option_name = 'lists') AS lists
    FROM pg_options_to_table(c.reloptions)) o
WHERE i.indisvalid AND i.indexrelid IN (
    to_regclass('{schema}.passages_' || %(stage)s::text || '_fact_' || {digest}),
    to_regclass('{schema}.passages_' || %(stage)s::text || '_rule_' || {digest}),
    to_regclass('{schema}.passages_' || %(stage)s::text || '_episode_' || {digest}))

-- part: walk
-- The maximum number of passages that an HNSW scan visits; beyond it the list is not reliable.
greatest(8 * %(candidates)s::int, ceil(%(scan_share)s::float8 * r.rows)::int)

-- name: prepare
-- Configure the scan of the tenant's indexes, and plan the next statement for this tenant: a generic plan cannot use an
-- index of one tenant. In that statement only an index may return passages in order.
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
-- The distance of a passage from the question.
p.embedding OPERATOR({vector}.<#>) (SELECT embedding FROM query)

-- part: rough_distance
-- The distance by which an index has ordered the passages, with half the precision. A function of the column and of the
-- size of the vectors, which the plan of one call knows: the expression of the index, but with a parameter.
{vector}.vector_to_halfvec(p.embedding, %(dimensions)s::int, true)
    OPERATOR({vector}.<#>) (SELECT {vector}.vector_to_halfvec(embedding, %(dimensions)s::int, true) FROM query)

-- part: walk_along
-- The tenant's passages, numbered in the order of the index scan.
SELECT p.memory_id AS id, {rough_distance} AS rough, {distance} AS distance, row_number() OVER () AS place
FROM {schema}.passages p
WHERE p.tenant_id = %(tenant)s

-- part: best
-- The distance of a memory is that of its best passage; its position is that of its last passage in the scan. `walked`
-- is how far the scan went.
w.id, round(1e6 * (%(scale)s::float8 * max(w.nearness) + %(shift)s::float8)) / 1e6 AS score, max(w.place) AS place,
    max(max(w.place)) OVER () AS walked

-- part: best_first
-- Each memory once, nearest first, up to the limit.
GROUP BY w.id ORDER BY score DESC, w.id LIMIT %(candidates)s

-- part: in_order
-- each: fact=facts, rule=rules, episode=episodes
-- The nearest memories of a type by index scan, which stops when enough are found.
{walk_along} AND p.memory_type = '{kind}' AND %(with_{table})s
    AND p.embedding_version = %(embedding_version)s
    AND EXISTS (SELECT FROM ready WHERE memory_type = '{kind}')
ORDER BY {rough_distance}

-- part: nearest_visible
-- each: fact=facts, rule=rules, episode=episodes
-- The nearest memories of a type that the caller may see.
(SELECT '{kind}' AS memory_type, {best}, false AS ahead
FROM (
    SELECT n.id, n.place, -n.distance AS nearness FROM ({in_order:{kind}}) n {visible.{kind}}
    ORDER BY n.rough
    LIMIT 2 * %(candidates)s
) w
{best_first})

-- part: nearest
-- each: fact=facts, rule=rules
-- The nearest memories of a type regardless of visibility, if the scan for the visible ones passed any that is not.
(SELECT '{kind}' AS memory_type, {best}, true AS ahead
FROM (
    SELECT n.id, n.place, -n.distance AS nearness FROM ({in_order:{kind}}) n
    WHERE %(with_hidden)s AND (SELECT coalesce(max(walked), 0) <> 2 * %(candidates)s FROM visible
        WHERE memory_type = '{kind}')
    ORDER BY n.rough
    LIMIT %(candidates)s
) w
{best_first})

-- name: near
-- The nearest visible memories by the tenant's indexes, stored in a setting of this transaction for the following
-- search, after those of other embedding versions. A type has a full list or none; without a list the search scans all
-- memories of the type and version. On request it also stores the nearest memories regardless of visibility (`ahead`).
WITH query AS MATERIALIZED (
    {search.query}
), ready AS MATERIALIZED (
    {ready}
), visible AS MATERIALIZED (
    {nearest_visible:fact} UNION ALL {nearest_visible:rule} UNION ALL {nearest_visible:episode}
), found AS MATERIALIZED (
    SELECT * FROM visible UNION ALL {nearest:fact} UNION ALL {nearest:rule}
), full_lists AS (
    -- Past what it was to walk, an HNSW index empties its pockets: what it then gives is no longer the nearest.
    SELECT f.memory_type FROM found f JOIN ready r USING (memory_type) WHERE NOT f.ahead
        AND (r.lists IS NOT NULL OR f.place <= {walk})
    GROUP BY f.memory_type HAVING count(*) >= %(candidates)s
)
SELECT
    set_config('memory_butler.by_index',
        (coalesce(nullif(current_setting('memory_butler.by_index', true), '')::jsonb, '[]')
            || coalesce(jsonb_agg(to_jsonb(f) - 'place' - 'walked'
                || jsonb_build_object('version', %(embedding_version)s::int)), '[]'))::text, true),
    -- The search itself has a plan for all tenants.
    set_config('plan_cache_mode', 'force_generic_plan', true),
    set_config('enable_sort', 'on', true)
FROM found f WHERE f.memory_type IN (SELECT memory_type FROM full_lists);

-- part: by_index
-- The list that `near` stored: memory_type, id, score, ahead, version. Empty if `near` was not sent.
SELECT n.memory_type, n.id, n.score, n.ahead, n.version
FROM jsonb_to_recordset(nullif(current_setting('memory_butler.by_index', true), '')::jsonb)
    AS n (memory_type text, id uuid, score float8, ahead boolean, version smallint)

-- name: usable
-- Usable indexes: the digest of the tenant, and the embedding version.
SELECT DISTINCT right(c.relname, 24) AS digest, split_part(c.relname, '_', 4)::smallint AS version
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = to_regclass('{schema}.passages') AND i.indisvalid
    AND c.relname ~ '^passages_near_(fact|rule|episode)_[0-9]+_[0-9a-f]+$';

-- name: listed
-- The list that `near` stored last, as rows.
{by_index};

-- name: indexes
-- All our indexes, valid or not, with their tenant; NULL if the tenant no longer exists.
SELECT c.relname AS name, t.tenant_id AS tenant, split_part(c.relname, '_', 2) AS stage,
    split_part(c.relname, '_', 3) AS memory_type, split_part(c.relname, '_', 4)::int AS version, a.amname AS kind,
    i.indisvalid AS valid, pg_relation_size(c.oid) AS bytes, obj_description(c.oid, 'pg_class') AS note,
    ARRAY(SELECT ARRAY[option_name, option_value] FROM pg_options_to_table(c.reloptions)) AS options
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
JOIN pg_catalog.pg_am a ON a.oid = c.relam
LEFT JOIN {schema}.tenants t ON left(encode(sha256(convert_to(t.tenant_id, 'UTF8')), 'hex'), 24) = right(c.relname, 24)
WHERE i.indrelid = to_regclass('{schema}.passages')
    AND c.relname ~ '^passages_(near|next|past)_(fact|rule|episode)_[0-9]+_[0-9a-f]+$'
ORDER BY t.tenant_id, 4, 5, 3;

-- name: tenants
-- Tenants that may have enough passages or are among the largest, by number of memories.
SELECT tenant_id AS tenant, documents AS memories FROM {schema}.tenants
WHERE documents >= %(at_least)s
    OR tenant_id IN (SELECT tenant_id FROM {schema}.tenants ORDER BY documents DESC, tenant_id LIMIT %(largest)s)
ORDER BY documents DESC, tenant_id;

-- name: passages
-- The number of passages of a tenant by type and embedding version, with the size of their vectors.
SELECT c.memory_type, c.embedding_version, v.dimensions, c.passages
FROM {schema}.embedding_counts c JOIN {schema}.embedding_versions v ON v.id = c.embedding_version
WHERE c.tenant_id = %(tenant)s AND c.passages > 0
ORDER BY c.memory_type, c.embedding_version;

-- name: write_build
-- Returns the statement that builds an index beside the one in use. CREATE INDEX takes no parameters.
SELECT format('CREATE INDEX CONCURRENTLY %%I ON {schema}.passages USING %%I'
        ' ((embedding::{vector}.halfvec(%%s)) {vector}.halfvec_ip_ops) WITH (%%s)'
        ' WHERE tenant_id = %%L AND memory_type = %%L AND embedding_version = %%L',
    'passages_next_' || %(memory_type)s::text || '_' || {digest}, %(kind)s::text, %(dimensions)s::int,
    (SELECT string_agg(format('%%I = %%s', o.name, o.value), ', ')
    FROM unnest(%(names)s::text[], %(values)s::int[]) AS o (name, value)),
    %(tenant)s::text, %(memory_type)s::text, %(embedding_version)s::int) AS statement;

-- name: write_note
-- Returns the statement that stores the initial size on a new index, as a comment.
SELECT format('COMMENT ON INDEX {schema}.%%I IS %%L', c.relname, json_build_object(
    'rows', %(rows)s::bigint, 'bytes', pg_relation_size(c.oid), 'built_at', %(now)s::timestamptz)) AS statement
FROM pg_catalog.pg_class c
WHERE c.oid = to_regclass('{schema}.passages_next_' || %(memory_type)s::text || '_' || {digest});

-- name: write_rename
-- Returns the statement that renames an index of a tenant.
SELECT format('ALTER INDEX IF EXISTS {schema}.%%I RENAME TO %%I',
    'passages_' || %(stage)s::text || '_' || %(memory_type)s::text || '_' || {digest},
    'passages_' || %(becomes)s::text || '_' || %(memory_type)s::text || '_' || {digest}) AS statement;

-- name: write_drop
-- Returns the statement that drops an index concurrently.
SELECT format('DROP INDEX CONCURRENTLY IF EXISTS {schema}.%%I', %(name)s::text) AS statement;

-- name: analyze
-- Update the planner's statistics of the index and its tables.
ANALYZE {schema}.passages, {schema}.facts, {schema}.rules, {schema}.episodes;

-- name: progress
-- The progress of an index build by a backend.
SELECT phase, tuples_done, tuples_total, blocks_done, blocks_total FROM pg_catalog.pg_stat_progress_create_index
WHERE pid = %(pid)s;

-- name: keep_question
-- Store the vector of a question, replacing the one in its slot.
INSERT INTO {schema}.recent_questions (tenant_id, slot, embedding_version, embedding, asked_at)
VALUES (%(tenant)s, %(slot)s, %(embedding_version)s, %(embedding)s::{vector}.vector, %(asked_at)s)
ON CONFLICT (tenant_id, slot) DO UPDATE
SET embedding_version = excluded.embedding_version, embedding = excluded.embedding, asked_at = excluded.asked_at;

-- name: recent_questions
-- The vectors of the latest questions, to measure an index with.
SELECT embedding::real[] AS embedding FROM {schema}.recent_questions
WHERE tenant_id = %(tenant)s AND embedding_version = %(embedding_version)s
ORDER BY asked_at DESC, slot
LIMIT %(limit)s;

-- name: drop_needless_questions
-- Delete the stored questions of an embedding version for which the tenant has no index.
DELETE FROM {schema}.recent_questions
WHERE tenant_id = %(tenant)s AND embedding_version = %(embedding_version)s AND NOT EXISTS ({ready});

-- name: sample
-- Substitutes for missing questions: passages of the tenant, half the newest, half random.
(SELECT memory_id, embedding::real[] AS embedding FROM {schema}.passages
WHERE tenant_id = %(tenant)s AND memory_type = %(memory_type)s AND ordinal = 0
    AND embedding_version = %(embedding_version)s
ORDER BY memory_id DESC LIMIT %(half)s)
UNION ALL
(SELECT p.memory_id, p.embedding::real[] FROM (
    SELECT memory_id, ordinal FROM {schema}.passages
    WHERE tenant_id = %(tenant)s AND memory_type = %(memory_type)s AND embedding_version = %(embedding_version)s
    ORDER BY hashtextextended(memory_id::text, %(seed)s), ordinal LIMIT %(half)s
) drawn
JOIN {schema}.passages p ON p.tenant_id = %(tenant)s AND p.memory_type = %(memory_type)s
    AND p.memory_id = drawn.memory_id AND p.ordinal = drawn.ordinal);

-- part: exactly
-- each: fact=facts, rule=rules, episode=episodes
-- The nearest memories of a type by exact search.
(SELECT n.id, n.score FROM (
    SELECT p.memory_id AS id, max({search.similarity}) AS score
    FROM {schema}.passages p
    WHERE p.tenant_id = %(tenant)s AND p.memory_type = '{kind}' AND %(with_{table})s
        AND p.embedding_version = %(embedding_version)s
    GROUP BY p.memory_id ORDER BY score DESC, p.memory_id
) n
{visible.{kind}} ORDER BY n.score DESC, n.id LIMIT %(candidates)s)

-- name: exact
-- The same list for one type by exact search.
WITH query AS MATERIALIZED (
    {search.query}
)
{exactly:fact} UNION ALL {exactly:rule} UNION ALL {exactly:episode}
ORDER BY score DESC, id;
