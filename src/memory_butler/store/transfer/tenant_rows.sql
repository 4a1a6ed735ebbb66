-- name: counts
-- The number of records of each kind, and the counters of the tenant.
SELECT t.last_seq, t.last_ref,
    (SELECT count(*) FROM {schema}.butlers WHERE tenant_id = %(tenant)s) AS butler,
    (SELECT count(*) FROM {schema}.episodes WHERE tenant_id = %(tenant)s) AS episode,
    (SELECT count(*) FROM {schema}.episode_tombstones WHERE tenant_id = %(tenant)s) AS tombstone,
    (SELECT count(*) FROM {schema}.facts WHERE tenant_id = %(tenant)s) AS fact,
    (SELECT count(*) FROM {schema}.rules WHERE tenant_id = %(tenant)s) AS rule,
    (SELECT count(*) FROM {schema}.rule_applications WHERE tenant_id = %(tenant)s) AS application,
    (SELECT count(*) FROM {schema}.memory_links WHERE tenant_id = %(tenant)s) AS link,
    (SELECT count(*) FROM {schema}.aliases WHERE tenant_id = %(tenant)s) AS alias,
    (SELECT count(*) FROM {schema}.distilled_keys WHERE tenant_id = %(tenant)s) AS distilled,
    (SELECT count(*) FROM {schema}.texts WHERE tenant_id = %(tenant)s) AS text,
    (SELECT count(*) FROM {schema}.memory_events WHERE tenant_id = %(tenant)s) AS event,
    (SELECT count(*) FROM {schema}.memory_references WHERE tenant_id = %(tenant)s) AS reference
FROM {schema}.tenants t WHERE t.tenant_id = %(tenant)s;

-- name: read_butler
-- The next butlers, as lines of a file. Here as below `after` is the key of the last row that was read.
SELECT (to_jsonb(b) - 'tenant_id')::text AS line, ARRAY[butler] AS key
FROM {schema}.butlers b
WHERE tenant_id = %(tenant)s AND (%(after)s::text[] IS NULL OR butler > (%(after)s::text[])[1])
ORDER BY butler LIMIT %(limit)s;

-- part: page_by_id
-- The rows after the last one read.
WHERE tenant_id = %(tenant)s AND (%(after)s::text[] IS NULL OR id > (%(after)s::text[])[1]::uuid)
ORDER BY id LIMIT %(limit)s

-- name: read_episode
-- The next episodes, as lines of a file.
SELECT (to_jsonb(e) - '{tenant_id,consolidated}'::text[])::text AS line, ARRAY[id::text] AS key
FROM {schema}.episodes e
{page_by_id};

-- name: read_tombstone
-- The next tombstones, as lines of a file.
SELECT (to_jsonb(e) - 'tenant_id')::text AS line, ARRAY[episode_id::text] AS key
FROM {schema}.episode_tombstones e
WHERE tenant_id = %(tenant)s AND (%(after)s::text[] IS NULL OR episode_id > (%(after)s::text[])[1]::uuid)
ORDER BY episode_id LIMIT %(limit)s;

-- name: read_fact
-- The next facts, as lines of a file.
SELECT (to_jsonb(f) - 'tenant_id')::text AS line, ARRAY[id::text] AS key
FROM {schema}.facts f
{page_by_id};

-- name: read_rule
-- The next rules, as lines of a file.
SELECT (to_jsonb(r) - 'tenant_id')::text AS line, ARRAY[id::text] AS key
FROM {schema}.rules r
{page_by_id};

-- name: read_application
-- The next rule applications, as lines of a file.
SELECT (to_jsonb(a) - 'tenant_id')::text AS line, ARRAY[id::text] AS key
FROM {schema}.rule_applications a
{page_by_id};

-- name: read_link
-- The next links, as lines of a file.
SELECT (to_jsonb(l) - 'tenant_id')::text AS line, ARRAY[source_id::text, relation, target_id::text] AS key
FROM {schema}.memory_links l
WHERE tenant_id = %(tenant)s AND (%(after)s::text[] IS NULL OR (source_id, relation, target_id)
    > ((%(after)s::text[])[1]::uuid, (%(after)s::text[])[2], (%(after)s::text[])[3]::uuid))
ORDER BY source_id, relation, target_id LIMIT %(limit)s;

-- name: read_alias
-- The next aliases, as lines of a file.
SELECT (to_jsonb(a) - 'tenant_id')::text AS line, ARRAY[id::text] AS key
FROM {schema}.aliases a
{page_by_id};

-- name: read_distilled
-- The next distilled keys, as lines of a file.
SELECT (to_jsonb(d) - 'tenant_id')::text AS line, ARRAY[episode_id::text, key::text] AS key
FROM {schema}.distilled_keys d
WHERE tenant_id = %(tenant)s AND (%(after)s::text[] IS NULL OR (episode_id, key)
    > ((%(after)s::text[])[1]::uuid, (%(after)s::text[])[2]::bytea))
ORDER BY episode_id, d.key LIMIT %(limit)s;

-- name: read_text
-- The next texts, as lines of a file.
SELECT (to_jsonb(t) - 'tenant_id')::text AS line, ARRAY[memory_id::text, hash::text] AS key
FROM {schema}.texts t
WHERE tenant_id = %(tenant)s AND (%(after)s::text[] IS NULL OR (memory_id, hash)
    > ((%(after)s::text[])[1]::uuid, (%(after)s::text[])[2]::bytea))
ORDER BY memory_id, hash LIMIT %(limit)s;

-- name: read_event
-- The next events, as lines of a file, without the tenant.
SELECT (to_jsonb(e) - 'tenant_id' #- '{payload,state,tenant_id}' #- '{payload,tombstone,tenant_id}')::text AS line,
    ARRAY[seq::text] AS key
FROM {schema}.memory_events e
WHERE tenant_id = %(tenant)s AND (%(after)s::text[] IS NULL OR seq > (%(after)s::text[])[1]::bigint)
ORDER BY seq LIMIT %(limit)s;

-- name: read_reference
-- The next references, as lines of a file.
SELECT (to_jsonb(r) - 'tenant_id')::text AS line, ARRAY[memory_id::text, seq::text] AS key
FROM {schema}.memory_references r
WHERE tenant_id = %(tenant)s AND (%(after)s::text[] IS NULL OR (memory_id, seq)
    > ((%(after)s::text[])[1]::uuid, (%(after)s::text[])[2]::bigint))
ORDER BY memory_id, seq LIMIT %(limit)s;

-- name: import_status
-- Tells if a tenant has memories, and if this file was imported before.
SELECT
    EXISTS (SELECT FROM {schema}.memory_events WHERE tenant_id = %(tenant)s AND entity_type <> 'access')
    OR EXISTS (SELECT FROM {schema}.episodes WHERE tenant_id = %(tenant)s)
    OR EXISTS (SELECT FROM {schema}.facts WHERE tenant_id = %(tenant)s)
    OR EXISTS (SELECT FROM {schema}.rules WHERE tenant_id = %(tenant)s)
    OR EXISTS (SELECT FROM {schema}.aliases WHERE tenant_id = %(tenant)s) AS has_memories,
    EXISTS (SELECT FROM {schema}.memory_events
        WHERE tenant_id = %(tenant)s AND entity_type = 'access' AND event_type = 'store.imported'
            AND payload ->> 'file' = %(file)s AND (payload -> 'new_ids')::boolean = %(new_ids)s) AS has_this;

-- name: make_room
-- Advance the counters of a tenant by those of the file; returns the number before the first event of the file.
UPDATE {schema}.tenants
SET last_seq = last_seq + %(last_seq)s, last_ref = greatest(last_ref, %(last_ref)s)
WHERE tenant_id = %(tenant)s
RETURNING last_seq - %(last_seq)s AS after_seq;

-- name: present_facts
-- Existing facts among these.
SELECT id FROM {schema}.facts WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s);

-- name: present_applications
-- Existing rule applications among these.
SELECT id FROM {schema}.rule_applications WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s);

-- part: given
-- The rows of a file, without a tenant.
jsonb_array_elements(%(rows)s::jsonb) AS g (given)

-- part: own
-- A row with this tenant.
g.given || jsonb_build_object('tenant_id', %(tenant)s::text)

-- name: write_butler
-- Butlers of a file; an import by another butler may have registered one already.
WITH made AS (
    INSERT INTO {schema}.butlers
    SELECT m.* FROM {given} CROSS JOIN LATERAL jsonb_populate_record(NULL::{schema}.butlers, {own}) m
    ON CONFLICT (tenant_id, butler) DO UPDATE SET created_at = least(butlers.created_at, excluded.created_at)
    RETURNING 1
)
SELECT count(*) AS made FROM made;

-- name: write_episode
-- Episodes of a file.
WITH made AS (
    INSERT INTO {schema}.episodes ({episodes.columns})
    SELECT {episodes.columns} FROM {given} CROSS JOIN LATERAL jsonb_populate_record(NULL::{schema}.episodes, {own}) m
    RETURNING 1
)
SELECT count(*) AS made FROM made;

-- name: write_tombstone
-- Tombstones of a file.
WITH made AS (
    INSERT INTO {schema}.episode_tombstones
    SELECT m.* FROM {given} CROSS JOIN LATERAL jsonb_populate_record(NULL::{schema}.episode_tombstones, {own}) m
    RETURNING 1
)
SELECT count(*) AS made FROM made;

-- name: write_fact
-- Facts of a file.
WITH made AS (
    INSERT INTO {schema}.facts
    SELECT m.* FROM {given} CROSS JOIN LATERAL jsonb_populate_record(NULL::{schema}.facts, {own}) m
    RETURNING 1
)
SELECT count(*) AS made FROM made;

-- name: write_rule
-- Rules of a file.
WITH made AS (
    INSERT INTO {schema}.rules
    SELECT m.* FROM {given} CROSS JOIN LATERAL jsonb_populate_record(NULL::{schema}.rules, {own}) m
    RETURNING 1
)
SELECT count(*) AS made FROM made;

-- name: write_application
-- Rule applications of a file.
WITH made AS (
    INSERT INTO {schema}.rule_applications
    SELECT m.* FROM {given} CROSS JOIN LATERAL jsonb_populate_record(NULL::{schema}.rule_applications, {own}) m
    RETURNING 1
)
SELECT count(*) AS made FROM made;

-- name: write_link
-- Links of a file.
WITH made AS (
    INSERT INTO {schema}.memory_links
    SELECT m.* FROM {given} CROSS JOIN LATERAL jsonb_populate_record(NULL::{schema}.memory_links, {own}) m
    RETURNING 1
)
SELECT count(*) AS made FROM made;

-- name: write_alias
-- Aliases of a file.
WITH made AS (
    INSERT INTO {schema}.aliases
    SELECT m.* FROM {given} CROSS JOIN LATERAL jsonb_populate_record(NULL::{schema}.aliases, {own}) m
    RETURNING 1
)
SELECT count(*) AS made FROM made;

-- name: write_distilled
-- Distilled keys of a file.
WITH made AS (
    INSERT INTO {schema}.distilled_keys
    SELECT m.* FROM {given} CROSS JOIN LATERAL jsonb_populate_record(NULL::{schema}.distilled_keys, {own}) m
    RETURNING 1
)
SELECT count(*) AS made FROM made;

-- name: write_text
-- Texts of a file.
WITH made AS (
    INSERT INTO {schema}.texts
    SELECT m.* FROM {given} CROSS JOIN LATERAL jsonb_populate_record(NULL::{schema}.texts, {own}) m
    RETURNING 1
)
SELECT count(*) AS made FROM made;

-- name: write_event
-- Events of a file.
WITH made AS (
    INSERT INTO {schema}.memory_events
    SELECT m.* FROM {given} CROSS JOIN LATERAL jsonb_populate_record(NULL::{schema}.memory_events, {own}) m
    RETURNING 1
)
SELECT count(*) AS made FROM made;

-- name: write_reference
-- References of a file.
WITH made AS (
    INSERT INTO {schema}.memory_references
    SELECT m.* FROM {given} CROSS JOIN LATERAL jsonb_populate_record(NULL::{schema}.memory_references, {own}) m
    RETURNING 1
)
SELECT count(*) AS made FROM made;

-- name: record_tombstones
-- An event for each tombstone of a file without history.
WITH given AS (
    SELECT g.event_id, g.n, to_jsonb(t) AS tombstone, t.episode_id
    FROM json_to_recordset(%(changes)s::json) AS g (n int, event_id uuid, id uuid)
    JOIN {schema}.episode_tombstones t ON t.tenant_id = %(tenant)s AND t.episode_id = g.id
), numbered AS (
    UPDATE {schema}.tenants SET last_seq = last_seq + (SELECT count(*) FROM given) WHERE tenant_id = %(tenant)s
    RETURNING last_seq
)
INSERT INTO {schema}.memory_events (
    tenant_id, id, seq, event_type, entity_type, entity_id, occurred_at, actor, payload_version, payload
)
SELECT %(tenant)s, g.event_id, (SELECT last_seq FROM numbered) - (SELECT count(*) FROM given) + g.n,
    'episode.imported', 'episode', g.episode_id, %(now)s, %(actor)s, 1, jsonb_build_object('tombstone', g.tombstone)
FROM given g;

-- name: record_import
-- The event of an import: the file and the actor.
WITH numbered AS (
    UPDATE {schema}.tenants SET last_seq = last_seq + 1 WHERE tenant_id = %(tenant)s RETURNING last_seq
)
INSERT INTO {schema}.memory_events (
    tenant_id, id, seq, event_type, entity_type, occurred_at, actor, request_id, payload_version, payload
)
SELECT %(tenant)s, %(event_id)s, last_seq, 'store.imported', 'access', %(now)s, %(actor)s, %(request_id)s, 1,
    jsonb_build_object('file', %(file)s::text, 'new_ids', %(new_ids)s::boolean, 'records', %(records)s::int)
FROM numbered;
