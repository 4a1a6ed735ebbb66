-- name: take_turn
-- One replay at a time in a schema; the turn ends with the connection.
SELECT pg_try_advisory_lock(hashtextextended(%(key)s, 0)) AS mine;

-- name: drop_scratch
-- Remove the schema that a replay rebuilds into.
DROP SCHEMA IF EXISTS {scratch} CASCADE;

-- name: make_final_states
-- Where a replay gathers the last known state of every memory.
CREATE TABLE {scratch}.final_states (
    entity_type text NOT NULL,
    id uuid NOT NULL,
    state jsonb,
    PRIMARY KEY (id)
);

-- name: share_final_states
-- Let the program's role gather there.
GRANT SELECT, INSERT ON {scratch}.final_states TO {app_role};

-- name: begin
-- Make the tenant known where its memories are rebuilt.
INSERT INTO {scratch}.tenants (tenant_id, created_at) VALUES (%(tenant)s, %(now)s);

-- name: gather
-- A memory's final state is that of its last event, with its words, and the references counted after that event.
-- The state of a memory whose words were removed is left empty.
WITH last AS (
    SELECT DISTINCT ON (entity_id) entity_type, entity_id, seq, payload, text_hash
    FROM {schema}.memory_events
    WHERE tenant_id = %(tenant)s AND entity_id IS NOT NULL
    ORDER BY entity_id, seq DESC
), bumps AS (
    SELECT b.id::uuid AS id, e.seq, e.occurred_at
    FROM {schema}.memory_events e
    CROSS JOIN LATERAL (SELECT DISTINCT jsonb_array_elements_text(e.payload -> 'ids') AS id) b
    WHERE e.tenant_id = %(tenant)s AND e.entity_type = 'reference'
), referenced AS (
    SELECT l.entity_id, count(*) AS times, max(b.occurred_at) AS at
    FROM last l JOIN bumps b ON b.id = l.entity_id AND b.seq > l.seq
    GROUP BY l.entity_id
)
INSERT INTO {scratch}.final_states (entity_type, id, state)
SELECT l.entity_type, l.entity_id,
    CASE WHEN l.text_hash IS NULL OR t.body IS NOT NULL THEN
        (l.payload -> 'state') || coalesce(t.body::jsonb, '{}') || CASE WHEN r.times IS NULL THEN '{}' ELSE
            jsonb_build_object('reference_count', (l.payload #>> '{state,reference_count}')::int + r.times,
                'last_referenced_at', greatest(r.at, (l.payload #>> '{state,last_referenced_at}')::timestamptz)) END
    END
FROM last l
LEFT JOIN {schema}.texts t ON t.tenant_id = %(tenant)s AND t.memory_id = l.entity_id AND t.hash = l.text_hash
LEFT JOIN referenced r ON r.entity_id = l.entity_id
WHERE l.payload ? 'state' AND NOT l.payload ? 'tombstone';

-- name: rebuild_episodes
-- Episodes as they must be now.
INSERT INTO {scratch}.episodes (
    tenant_id, id, ref, butler, session_id, content, content_hash, importance, tags, validity,
    consolidation_status, consolidation_attempts, last_consolidation_error, next_consolidation_retry_at, observed_at,
    created_at, expires_at, last_referenced_at, reference_count, metadata, request_id, pinned
)
SELECT m.tenant_id, m.id, m.ref, m.butler, m.session_id, m.content, m.content_hash, m.importance, m.tags, m.validity,
    m.consolidation_status, m.consolidation_attempts, m.last_consolidation_error, m.next_consolidation_retry_at,
    m.observed_at, m.created_at, m.expires_at, m.last_referenced_at, m.reference_count, m.metadata, m.request_id, m.pinned
FROM {scratch}.final_states s
CROSS JOIN LATERAL jsonb_populate_record(NULL::{scratch}.episodes,
    '{"pinned": false}' || s.state) m
WHERE s.entity_type = 'episode' AND s.state IS NOT NULL;

-- name: rebuild_tombstones
-- What is left of deleted episodes.
INSERT INTO {scratch}.episode_tombstones
SELECT m.*
FROM {schema}.memory_events e
CROSS JOIN LATERAL jsonb_populate_record(NULL::{scratch}.episode_tombstones, e.payload -> 'tombstone') m
WHERE e.tenant_id = %(tenant)s AND e.entity_type = 'episode' AND e.payload ? 'tombstone';

-- name: rebuild_facts
-- Facts as they must be now; one that stands on a fact whose words were removed cannot stand without it.
WITH RECURSIVE broken AS (
    SELECT id FROM {scratch}.final_states WHERE state IS NULL
    UNION ALL
    SELECT s.id FROM {scratch}.final_states s JOIN broken b ON (s.state ->> 'supersedes_id')::uuid = b.id
)
INSERT INTO {scratch}.facts
SELECT m.*
FROM {scratch}.final_states s
CROSS JOIN LATERAL jsonb_populate_record(NULL::{scratch}.facts,
    '{"pinned": false}' || s.state) m
WHERE s.entity_type = 'fact' AND s.id NOT IN (SELECT id FROM broken);

-- name: rebuild_rules
-- Rules as they must be now.
INSERT INTO {scratch}.rules
SELECT m.*
FROM {scratch}.final_states s
CROSS JOIN LATERAL jsonb_populate_record(NULL::{scratch}.rules,
    '{"pinned": false}' || s.state) m
WHERE s.entity_type = 'rule' AND s.state IS NOT NULL;

-- name: rebuild_aliases
-- Other names of subjects.
INSERT INTO {scratch}.aliases
SELECT m.*
FROM {scratch}.final_states s
CROSS JOIN LATERAL jsonb_populate_record(NULL::{scratch}.aliases, s.state) m
WHERE s.entity_type = 'alias' AND s.state IS NOT NULL;

-- name: rebuild_applications
-- Every application of a rule, with its reason unless that was removed.
INSERT INTO {scratch}.rule_applications
SELECT m.*
FROM {schema}.memory_events e
LEFT JOIN {schema}.texts t ON t.tenant_id = %(tenant)s AND t.memory_id = e.entity_id
    AND t.hash = decode(e.payload #>> '{application,reason_hash}', 'hex')
CROSS JOIN LATERAL jsonb_populate_record(NULL::{scratch}.rule_applications, e.payload -> 'application'
    || jsonb_build_object('tenant_id', e.tenant_id, 'reason', t.body::jsonb -> 'reason')) m
JOIN {scratch}.rules r ON r.tenant_id = m.tenant_id AND r.id = m.rule_id
WHERE e.tenant_id = %(tenant)s AND e.entity_type = 'rule' AND e.payload ? 'application';

-- name: rebuild_links
-- Links in the order they were made; making one again changed nothing.
INSERT INTO {scratch}.memory_links
SELECT DISTINCT ON (m.source_id, m.relation, m.target_id) m.*
FROM {schema}.memory_events e
CROSS JOIN LATERAL jsonb_array_elements(e.payload -> 'links') WITH ORDINALITY AS l (link, n)
CROSS JOIN LATERAL jsonb_populate_record(NULL::{scratch}.memory_links,
    l.link || jsonb_build_object('tenant_id', e.tenant_id)) m
WHERE e.tenant_id = %(tenant)s AND e.payload ? 'links'
    AND {scratch}.memory_exists(m.tenant_id, m.source_type, m.source_id)
    AND {scratch}.memory_exists(m.tenant_id, m.target_type, m.target_id)
ORDER BY m.source_id, m.relation, m.target_id, e.seq, l.n;

-- name: removed_texts
-- What the log speaks of in words that are no longer kept.
SELECT s.entity_type || ' ' || s.id AS owner FROM {scratch}.final_states s WHERE s.state IS NULL
UNION ALL
SELECT 'reason of ' || (e.payload #>> '{application,id}')
FROM {schema}.memory_events e
WHERE e.tenant_id = %(tenant)s AND e.payload #> '{application,reason_hash}' IS NOT NULL AND NOT EXISTS (
    SELECT FROM {schema}.texts t WHERE t.tenant_id = %(tenant)s AND t.memory_id = e.entity_id
        AND t.hash = decode(e.payload #>> '{application,reason_hash}', 'hex'))
ORDER BY 1
LIMIT %(limit)s;

-- name: compare
-- Every table live and rebuilt, row by row: how many rows, how many differ, and the first that do.
WITH pairs AS (
    SELECT 'episodes' AS name, coalesce(l.id, r.id)::text AS key, to_jsonb(l) AS live, to_jsonb(r) AS rebuilt
    FROM (SELECT * FROM {schema}.episodes WHERE tenant_id = %(tenant)s) l
    FULL JOIN (SELECT * FROM {scratch}.episodes WHERE tenant_id = %(tenant)s) r USING (id)
    UNION ALL
    SELECT 'episode_tombstones', coalesce(l.episode_id, r.episode_id)::text, to_jsonb(l), to_jsonb(r)
    FROM (SELECT * FROM {schema}.episode_tombstones WHERE tenant_id = %(tenant)s) l
    FULL JOIN (SELECT * FROM {scratch}.episode_tombstones WHERE tenant_id = %(tenant)s) r USING (episode_id)
    UNION ALL
    SELECT 'facts', coalesce(l.id, r.id)::text, to_jsonb(l), to_jsonb(r)
    FROM (SELECT * FROM {schema}.facts WHERE tenant_id = %(tenant)s) l
    FULL JOIN (SELECT * FROM {scratch}.facts WHERE tenant_id = %(tenant)s) r USING (id)
    UNION ALL
    SELECT 'rules', coalesce(l.id, r.id)::text, to_jsonb(l), to_jsonb(r)
    FROM (SELECT * FROM {schema}.rules WHERE tenant_id = %(tenant)s) l
    FULL JOIN (SELECT * FROM {scratch}.rules WHERE tenant_id = %(tenant)s) r USING (id)
    UNION ALL
    SELECT 'rule_applications', coalesce(l.id, r.id)::text, to_jsonb(l), to_jsonb(r)
    FROM (SELECT * FROM {schema}.rule_applications WHERE tenant_id = %(tenant)s) l
    FULL JOIN (SELECT * FROM {scratch}.rule_applications WHERE tenant_id = %(tenant)s) r USING (id)
    UNION ALL
    SELECT 'memory_links', concat_ws(' ', coalesce(l.source_id, r.source_id), coalesce(l.relation, r.relation),
        coalesce(l.target_id, r.target_id)), to_jsonb(l), to_jsonb(r)
    FROM (SELECT * FROM {schema}.memory_links WHERE tenant_id = %(tenant)s) l
    FULL JOIN (SELECT * FROM {scratch}.memory_links WHERE tenant_id = %(tenant)s) r
        USING (source_id, relation, target_id)
    UNION ALL
    SELECT 'aliases', coalesce(l.id, r.id)::text, to_jsonb(l), to_jsonb(r)
    FROM (SELECT * FROM {schema}.aliases WHERE tenant_id = %(tenant)s) l
    FULL JOIN (SELECT * FROM {scratch}.aliases WHERE tenant_id = %(tenant)s) r USING (id)
), judged AS (
    SELECT name, live, rebuilt, CASE WHEN live IS DISTINCT FROM rebuilt THEN jsonb_build_object('key', key,
        'kind', CASE WHEN live IS NULL THEN 'only rebuilt' WHEN rebuilt IS NULL THEN 'only live' ELSE 'different' END,
        'columns', (SELECT coalesce(jsonb_agg(c.key ORDER BY c.key), '[]') FROM jsonb_each(live) c
            WHERE rebuilt IS NOT NULL AND c.value IS DISTINCT FROM rebuilt -> c.key)) END AS difference
    FROM pairs
)
SELECT name, count(live) AS live, count(rebuilt) AS rebuilt, count(difference) AS differences,
    to_jsonb((array_agg(difference ORDER BY difference ->> 'key') FILTER (WHERE difference IS NOT NULL))
        [1:%(limit)s::int]) AS examples
FROM judged
GROUP BY name;
