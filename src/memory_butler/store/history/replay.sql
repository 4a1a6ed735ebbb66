-- name: take_turn
-- Lock the schema for one replay at a time, until the connection ends.
SELECT pg_try_advisory_lock(hashtextextended(%(key)s, 0)) AS mine;

-- name: release_turn
-- Unlock the schema for the next replay.
SELECT pg_advisory_unlock(hashtextextended(%(key)s, 0));

-- name: drop_scratch
-- Drop the schema of a replay.
DROP SCHEMA IF EXISTS {scratch} CASCADE;

-- name: let_facts_come_in_any_order
-- Defer the foreign key of facts: they are rebuilt by id, so one may come before the fact it replaced. The key is
-- checked at the end.
ALTER TABLE {scratch}.facts DROP CONSTRAINT facts_tenant_id_supersedes_id_fkey;

-- name: make_wordless
-- Create the table of memories whose texts no longer exist.
CREATE TABLE {scratch}.wordless (entity_type text NOT NULL, id uuid NOT NULL);

-- name: share_wordless
-- Grant the program's role access to that table.
GRANT SELECT, INSERT ON {scratch}.wordless TO {app_role};

-- name: begin
-- Insert the tenant into the rebuilt schema.
INSERT INTO {scratch}.tenants (tenant_id, created_at) VALUES (%(tenant)s, %(now)s);

-- name: length
-- The number of events of the log.
SELECT coalesce(max(seq), 0) AS events FROM {schema}.memory_events WHERE tenant_id = %(tenant)s;

-- name: milestones
-- Ids that divide the log, ordered by memory, into parts of a given number of events.
SELECT DISTINCT entity_id
FROM (
    SELECT entity_id, row_number() OVER (ORDER BY entity_id) AS place
    FROM {schema}.memory_events WHERE tenant_id = %(tenant)s AND entity_id IS NOT NULL
) walked
WHERE place %% %(size)s = 0
ORDER BY entity_id;

-- name: rebuild_references
-- Rebuild the references of memories from a part of the log.
WITH made AS (
    INSERT INTO {scratch}.memory_references (tenant_id, memory_id, seq, referenced_at, session_id)
    SELECT DISTINCT e.tenant_id, b.id::uuid, e.seq, e.occurred_at, e.session_id
    FROM {schema}.memory_events e
    CROSS JOIN LATERAL jsonb_array_elements_text(e.payload -> 'ids') AS b (id)
    WHERE e.tenant_id = %(tenant)s AND e.entity_id IS NULL AND e.seq > %(after)s AND e.seq <= %(upto)s
        AND (%(until)s::timestamptz IS NULL OR e.occurred_at <= %(until)s)
    RETURNING 1
)
SELECT count(*) AS made FROM made;

-- name: rebuild_tombstones
-- Rebuild the tombstones of deleted episodes from a part of the log; returns their number and that of purged memories.
WITH made AS (
    INSERT INTO {scratch}.episode_tombstones
    SELECT m.*
    FROM {schema}.memory_events e
    CROSS JOIN LATERAL jsonb_populate_record(NULL::{scratch}.episode_tombstones, e.payload -> 'tombstone') m
    WHERE e.tenant_id = %(tenant)s AND e.seq > %(after)s AND e.seq <= %(upto)s AND e.entity_type = 'episode'
        AND e.payload ? 'tombstone'
    RETURNING 1
)
SELECT (SELECT count(*) FROM made) + (
    SELECT count(*) FROM {schema}.memory_events e
    WHERE e.tenant_id = %(tenant)s AND e.seq > %(after)s AND e.seq <= %(upto)s AND e.payload ? 'purged') AS made;

-- name: drop_references
-- Delete the references of a memory before its deletion. The planner has no statistics of rebuilt tables: here and
-- below they are read by key.
DELETE FROM {scratch}.memory_references r
WHERE r.tenant_id = %(tenant)s AND r.memory_id = ANY (ARRAY(
    SELECT e.entity_id FROM {schema}.memory_events e
    WHERE e.tenant_id = %(tenant)s AND e.seq > %(after)s AND e.seq <= %(upto)s AND e.payload ?| '{tombstone,purged}'
        AND e.entity_id IS NOT NULL
)) AND EXISTS (
    SELECT FROM {schema}.memory_events e
    WHERE e.tenant_id = %(tenant)s AND e.entity_id = r.memory_id AND e.seq > r.seq AND e.seq <= %(upto)s
        AND e.payload ?| '{tombstone,purged}'
);

-- name: drop_old_references
-- Delete the references that the retention has dropped, as a part of the log says; their counts are in the memories.
DELETE FROM {scratch}.memory_references r
WHERE r.tenant_id = %(tenant)s AND r.seq <= (
    SELECT max({references.dropped_upto}) FROM {schema}.memory_events e
    WHERE e.tenant_id = %(tenant)s AND e.seq > %(after)s AND e.seq <= %(upto)s
        AND e.event_type = 'store.references_dropped'
);

-- name: rebuild_states
-- Rebuild the memories of a range of ids: the state after the last event, the text, and the references counted since.
-- Memories whose text no longer exists are recorded.
WITH newest AS (
    SELECT entity_id, max(seq) AS seq
    FROM {schema}.memory_events
    WHERE tenant_id = %(tenant)s AND entity_id > %(after)s AND entity_id <= %(upto)s
        AND (%(until)s::timestamptz IS NULL OR occurred_at <= %(until)s)
    GROUP BY entity_id
), states AS MATERIALIZED (
    SELECT e.entity_type, e.entity_id,
        CASE WHEN e.text_hash IS NULL OR t.body IS NOT NULL THEN
            -- What was written before there were pins was not pinned; before there were origins, by an agent.
            '{"pinned": false, "origin": "agent"}' || (e.payload -> 'state') || coalesce(t.body::jsonb, '{}')
            || CASE WHEN r.times = 0 THEN '{}' ELSE
                jsonb_build_object('reference_count', (e.payload #>> '{state,reference_count}')::int + r.times,
                    'last_referenced_at', greatest(r.at, (e.payload #>> '{state,last_referenced_at}')::timestamptz)) END
        END AS state
    FROM newest n
    JOIN {schema}.memory_events e ON e.tenant_id = %(tenant)s AND e.entity_id = n.entity_id AND e.seq = n.seq
    LEFT JOIN {schema}.texts t ON t.tenant_id = %(tenant)s AND t.memory_id = e.entity_id AND t.hash = e.text_hash
    CROSS JOIN LATERAL (
        SELECT count(*) AS times, max(b.referenced_at) AS at FROM {scratch}.memory_references b
        WHERE b.tenant_id = %(tenant)s AND b.memory_id = e.entity_id AND b.seq > e.seq
    ) r
    WHERE e.payload ? 'state' AND NOT e.payload ? 'tombstone'
), episodes AS (
    INSERT INTO {scratch}.episodes ({episodes.columns})
    SELECT {episodes.columns}
    FROM states s CROSS JOIN LATERAL jsonb_populate_record(NULL::{scratch}.episodes, s.state) m
    WHERE s.entity_type = 'episode' AND s.state IS NOT NULL
), facts AS (
    INSERT INTO {scratch}.facts
    SELECT m.* FROM states s CROSS JOIN LATERAL jsonb_populate_record(NULL::{scratch}.facts, s.state) m
    WHERE s.entity_type = 'fact' AND s.state IS NOT NULL
), rules AS (
    INSERT INTO {scratch}.rules
    SELECT m.* FROM states s CROSS JOIN LATERAL jsonb_populate_record(NULL::{scratch}.rules, s.state) m
    WHERE s.entity_type = 'rule' AND s.state IS NOT NULL
), aliases AS (
    INSERT INTO {scratch}.aliases
    SELECT m.* FROM states s CROSS JOIN LATERAL jsonb_populate_record(NULL::{scratch}.aliases, s.state) m
    WHERE s.entity_type = 'alias' AND s.state IS NOT NULL
), wordless AS (
    INSERT INTO {scratch}.wordless (entity_type, id) SELECT entity_type, entity_id FROM states WHERE state IS NULL
)
SELECT count(*) AS made FROM states;

-- name: drop_baseless_facts
-- Delete facts that depend on a fact whose text was removed.
WITH RECURSIVE baseless AS (
    SELECT f.id FROM {scratch}.facts f
    WHERE f.tenant_id = %(tenant)s AND f.supersedes_id IS NOT NULL AND NOT EXISTS (
        SELECT FROM {scratch}.facts o WHERE o.tenant_id = %(tenant)s AND o.id = f.supersedes_id)
    UNION ALL
    SELECT f.id FROM baseless b JOIN {scratch}.facts f ON f.tenant_id = %(tenant)s AND f.supersedes_id = b.id
)
DELETE FROM {scratch}.facts WHERE tenant_id = %(tenant)s AND id = ANY (ARRAY(SELECT id FROM baseless));

-- name: rebuild_applications
-- Rebuild the applications of rules from a part of the log, with the reason unless it was removed.
WITH made AS (
    INSERT INTO {scratch}.rule_applications
    SELECT m.*
    FROM {schema}.memory_events e
    LEFT JOIN {schema}.texts t ON t.tenant_id = %(tenant)s AND t.memory_id = e.entity_id
        AND t.hash = decode(e.payload #>> '{application,reason_hash}', 'hex')
    CROSS JOIN LATERAL jsonb_populate_record(NULL::{scratch}.rule_applications, e.payload -> 'application'
        || jsonb_build_object('tenant_id', e.tenant_id, 'reason', t.body::jsonb -> 'reason')) m
    WHERE e.tenant_id = %(tenant)s AND e.seq > %(after)s AND e.seq <= %(upto)s AND e.entity_type = 'rule'
        AND e.payload ? 'application' AND {scratch}.memory_exists(m.tenant_id, 'rule', m.rule_id)
    RETURNING 1
)
SELECT count(*) AS made FROM made;

-- name: rebuild_links
-- Rebuild links from a part of the log, in order; duplicates are ignored, and links that a later undo withdrew.
WITH made AS (
    INSERT INTO {scratch}.memory_links
    SELECT m.*
    FROM {schema}.memory_events e
    CROSS JOIN LATERAL jsonb_array_elements(e.payload -> 'links') WITH ORDINALITY AS l (link, n)
    CROSS JOIN LATERAL jsonb_populate_record(NULL::{scratch}.memory_links,
        l.link || jsonb_build_object('tenant_id', e.tenant_id)) m
    WHERE e.tenant_id = %(tenant)s AND e.seq > %(after)s AND e.seq <= %(upto)s AND e.payload ? 'links'
        AND {scratch}.memory_exists(m.tenant_id, m.source_type, m.source_id)
        AND {scratch}.memory_exists(m.tenant_id, m.target_type, m.target_id)
        AND NOT (m.relation IN ('supports', 'contradicts', 'related_to') AND EXISTS (
            SELECT FROM {schema}.memory_events u
            WHERE u.tenant_id = %(tenant)s AND u.entity_id = m.source_id AND u.seq > e.seq
                AND u.payload -> 'unlinked' @> jsonb_build_array(
                    jsonb_build_object('relation', m.relation, 'target_id', m.target_id))))
    ORDER BY e.seq, l.n
    ON CONFLICT DO NOTHING
    RETURNING 1
)
SELECT count(*) AS made FROM made;

-- name: removed_texts
-- Log entries whose texts no longer exist.
SELECT w.entity_type || ' ' || w.id AS owner FROM {scratch}.wordless w
UNION ALL
SELECT 'reason of ' || (e.payload #>> '{application,id}')
FROM {schema}.memory_events e
WHERE e.tenant_id = %(tenant)s AND e.payload #> '{application,reason_hash}' IS NOT NULL AND NOT EXISTS (
    SELECT FROM {schema}.texts t WHERE t.tenant_id = %(tenant)s AND t.memory_id = e.entity_id
        AND t.hash = decode(e.payload #>> '{application,reason_hash}', 'hex'))
ORDER BY 1
LIMIT %(limit)s;

-- part: verdict
-- The difference between a live row (l) and a rebuilt row (r).
l.tenant_id IS NOT NULL AS is_live, r.tenant_id IS NOT NULL AS is_rebuilt,
    CASE WHEN row(l.*) IS DISTINCT FROM row(r.*) THEN jsonb_build_object(
        'kind', CASE WHEN l.tenant_id IS NULL THEN 'only rebuilt' WHEN r.tenant_id IS NULL THEN 'only live'
            ELSE 'different' END,
        'columns', (SELECT coalesce(jsonb_agg(c.key ORDER BY c.key), '[]') FROM jsonb_each(to_jsonb(l)) c
            WHERE r.tenant_id IS NOT NULL AND c.value IS DISTINCT FROM to_jsonb(r) -> c.key)) END AS difference

-- part: pair
-- each: episodes=id, facts=id, rules=id, rule_applications=id, aliases=id, episode_tombstones=episode_id
-- each: memory_links=source_id, memory_references=memory_id
-- The live and the rebuilt rows of a table (`kind`) in a range of ids (the column `table`), side by side.
(SELECT * FROM {schema}.{kind} WHERE tenant_id = %(tenant)s AND {table} > %(after)s AND {table} <= %(upto)s) l
FULL JOIN
    (SELECT * FROM {scratch}.{kind} WHERE tenant_id = %(tenant)s AND {table} > %(after)s AND {table} <= %(upto)s) r
    ON r.{table} = l.{table}

-- name: compare
-- Compare all live and rebuilt tables for a range of ids: number of rows, number of differences, and the first of them.
WITH pairs AS (
    SELECT 'episodes' AS name, coalesce(l.id, r.id)::text AS key, {verdict} FROM {pair:episodes}
    UNION ALL SELECT 'episode_tombstones', coalesce(l.episode_id, r.episode_id)::text, {verdict}
    FROM {pair:episode_tombstones}
    UNION ALL SELECT 'facts', coalesce(l.id, r.id)::text, {verdict} FROM {pair:facts}
    UNION ALL SELECT 'rules', coalesce(l.id, r.id)::text, {verdict} FROM {pair:rules}
    UNION ALL SELECT 'rule_applications', coalesce(l.id, r.id)::text, {verdict} FROM {pair:rule_applications}
    UNION ALL SELECT 'aliases', coalesce(l.id, r.id)::text, {verdict} FROM {pair:aliases}
    UNION ALL SELECT 'memory_links', concat_ws(' ', coalesce(l.source_id, r.source_id),
        coalesce(l.relation, r.relation), coalesce(l.target_id, r.target_id)), {verdict}
    FROM {pair:memory_links} AND r.relation = l.relation AND r.target_id = l.target_id
    UNION ALL SELECT 'memory_references', concat_ws(' ', coalesce(l.memory_id, r.memory_id), coalesce(l.seq, r.seq)),
        {verdict}
    FROM {pair:memory_references} AND r.seq = l.seq
)
SELECT name, count(*) FILTER (WHERE is_live) AS live, count(*) FILTER (WHERE is_rebuilt) AS rebuilt,
    count(difference) AS differences,
    to_jsonb((array_agg(difference || jsonb_build_object('key', key) ORDER BY key)
        FILTER (WHERE difference IS NOT NULL))[1:%(limit)s::int]) AS examples
FROM pairs
GROUP BY name;
