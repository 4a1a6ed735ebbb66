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

-- part: line
-- A row r as a line of a file, without the tenant and without what the database generates.
(to_jsonb(r) - '{tenant_id,consolidated,chain}'::text[]
    #- '{payload,state,tenant_id}' #- '{payload,tombstone,tenant_id}')::text AS line

-- part: after
-- The key of the last row that was read.
%(after)s::text[]

-- name: read
-- each: episode=episodes, fact=facts, rule=rules, application=rule_applications, alias=aliases
-- The next rows of a table with an id, as lines of a file.
SELECT {line}, ARRAY[id::text] AS key FROM {schema}.{table} r
WHERE tenant_id = %(tenant)s AND ({after} IS NULL OR id > ({after})[1]::uuid)
ORDER BY id LIMIT %(limit)s;

-- name: read_butler
-- The next butlers.
SELECT {line}, ARRAY[butler] AS key FROM {schema}.butlers r
WHERE tenant_id = %(tenant)s AND ({after} IS NULL OR butler > ({after})[1])
ORDER BY butler LIMIT %(limit)s;

-- name: read_tombstone
-- The next tombstones.
SELECT {line}, ARRAY[episode_id::text] AS key FROM {schema}.episode_tombstones r
WHERE tenant_id = %(tenant)s AND ({after} IS NULL OR episode_id > ({after})[1]::uuid)
ORDER BY episode_id LIMIT %(limit)s;

-- name: read_link
-- The next links.
SELECT {line}, ARRAY[source_id::text, relation, target_id::text] AS key FROM {schema}.memory_links r
WHERE tenant_id = %(tenant)s AND ({after} IS NULL
    OR (source_id, relation, target_id) > (({after})[1]::uuid, ({after})[2], ({after})[3]::uuid))
ORDER BY source_id, relation, target_id LIMIT %(limit)s;

-- name: read_distilled
-- The next distilled keys.
SELECT {line}, ARRAY[episode_id::text, key::text] AS key FROM {schema}.distilled_keys r
WHERE tenant_id = %(tenant)s AND ({after} IS NULL OR (episode_id, key) > (({after})[1]::uuid, ({after})[2]::bytea))
ORDER BY episode_id, r.key LIMIT %(limit)s;

-- name: read_text
-- The next texts.
SELECT {line}, ARRAY[memory_id::text, hash::text] AS key FROM {schema}.texts r
WHERE tenant_id = %(tenant)s AND ({after} IS NULL OR (memory_id, hash) > (({after})[1]::uuid, ({after})[2]::bytea))
ORDER BY memory_id, hash LIMIT %(limit)s;

-- name: read_event
-- The next events.
SELECT {line}, ARRAY[seq::text] AS key FROM {schema}.memory_events r
WHERE tenant_id = %(tenant)s AND ({after} IS NULL OR seq > ({after})[1]::bigint)
ORDER BY seq LIMIT %(limit)s;

-- name: read_reference
-- The next references.
SELECT {line}, ARRAY[memory_id::text, seq::text] AS key FROM {schema}.memory_references r
WHERE tenant_id = %(tenant)s AND ({after} IS NULL OR (memory_id, seq) > (({after})[1]::uuid, ({after})[2]::bigint))
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

-- name: present
-- each: fact=facts, application=rule_applications
-- Existing rows among these.
SELECT id FROM {schema}.{table} WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s);

-- part: given
-- The rows of a file, without a tenant.
jsonb_array_elements(%(rows)s::jsonb) AS g (given)

-- part: own
-- A row with this tenant.
g.given || jsonb_build_object('tenant_id', %(tenant)s::text)

-- name: write
-- each: fact=facts, rule=rules, application=rule_applications, link=memory_links, alias=aliases
-- each: tombstone=episode_tombstones, distilled=distilled_keys, text=texts, event=memory_events
-- each: reference=memory_references
-- Rows of a file.
INSERT INTO {schema}.{table}
SELECT m.* FROM {given} CROSS JOIN LATERAL jsonb_populate_record(NULL::{schema}.{table}, {own}) m
RETURNING 1;

-- name: write_episode
-- Episodes of a file.
INSERT INTO {schema}.episodes ({episodes.columns})
SELECT {episodes.columns} FROM {given} CROSS JOIN LATERAL jsonb_populate_record(NULL::{schema}.episodes, {own}) m
RETURNING 1;

-- name: write_butler
-- Butlers of a file; an import by another butler may have registered one already.
INSERT INTO {schema}.butlers
SELECT m.* FROM {given} CROSS JOIN LATERAL jsonb_populate_record(NULL::{schema}.butlers, {own}) m
ON CONFLICT (tenant_id, butler) DO UPDATE SET created_at = least(butlers.created_at, excluded.created_at)
RETURNING 1;

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
FROM given g
ORDER BY g.n;

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
