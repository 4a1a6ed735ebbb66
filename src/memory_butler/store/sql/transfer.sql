-- name: counts
-- How much there is of each kind of record, and how far the tenant has counted.
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
-- The rows after the one that was read last.
WHERE tenant_id = %(tenant)s AND (%(after)s::text[] IS NULL OR id > (%(after)s::text[])[1]::uuid)
ORDER BY id LIMIT %(limit)s

-- name: read_episode
-- The next episodes, as lines of a file.
SELECT (to_jsonb(e) - '{tenant_id,consolidated}'::text[])::text AS line, ARRAY[id::text] AS key
FROM {schema}.episodes e
{page_by_id};

-- name: read_tombstone
-- What is left of deleted episodes, the next, as lines of a file.
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
-- The next reports on rules, as lines of a file.
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
-- The next other names of subjects, as lines of a file.
SELECT (to_jsonb(a) - 'tenant_id')::text AS line, ARRAY[id::text] AS key
FROM {schema}.aliases a
{page_by_id};

-- name: read_distilled
-- What was distilled from which episode, the next, as lines of a file.
SELECT (to_jsonb(d) - 'tenant_id')::text AS line, ARRAY[episode_id::text, key::text] AS key
FROM {schema}.distilled_keys d
WHERE tenant_id = %(tenant)s AND (%(after)s::text[] IS NULL OR (episode_id, key)
    > ((%(after)s::text[])[1]::uuid, (%(after)s::text[])[2]::bytea))
ORDER BY episode_id, d.key LIMIT %(limit)s;

-- name: read_text
-- The next words that events speak of, as lines of a file.
SELECT (to_jsonb(t) - 'tenant_id')::text AS line, ARRAY[memory_id::text, hash::text] AS key
FROM {schema}.texts t
WHERE tenant_id = %(tenant)s AND (%(after)s::text[] IS NULL OR (memory_id, hash)
    > ((%(after)s::text[])[1]::uuid, (%(after)s::text[])[2]::bytea))
ORDER BY memory_id, hash LIMIT %(limit)s;

-- name: read_event
-- The next events, as lines of a file that does not say whose they are.
SELECT (to_jsonb(e) - 'tenant_id' #- '{payload,state,tenant_id}' #- '{payload,tombstone,tenant_id}')::text AS line,
    ARRAY[seq::text] AS key
FROM {schema}.memory_events e
WHERE tenant_id = %(tenant)s AND (%(after)s::text[] IS NULL OR seq > (%(after)s::text[])[1]::bigint)
ORDER BY seq LIMIT %(limit)s;

-- name: read_reference
-- Each time a memory was returned by a read, the next, as lines of a file.
SELECT (to_jsonb(r) - 'tenant_id')::text AS line, ARRAY[memory_id::text, seq::text] AS key
FROM {schema}.memory_references r
WHERE tenant_id = %(tenant)s AND (%(after)s::text[] IS NULL OR (memory_id, seq)
    > ((%(after)s::text[])[1]::uuid, (%(after)s::text[])[2]::bigint))
ORDER BY memory_id, seq LIMIT %(limit)s;

-- name: standing
-- Whether a tenant has anything beside looks by others, and whether this file was imported into it before.
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
-- Count a tenant on as far as the one in the file had counted; returns where the events of the file begin.
UPDATE {schema}.tenants
SET last_seq = last_seq + %(last_seq)s, last_ref = greatest(last_ref, %(last_ref)s)
WHERE tenant_id = %(tenant)s
RETURNING last_seq - %(last_seq)s AS after_seq;

-- name: present_facts
-- Which of these facts are there.
SELECT id FROM {schema}.facts WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s);

-- name: present_applications
-- Which of these reports on rules are there.
SELECT id FROM {schema}.rule_applications WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s);

-- part: given
-- The rows of a file, which do not say whose they are.
jsonb_array_elements(%(rows)s::jsonb) AS g (given)

-- part: own
-- One of them as a row of this tenant.
g.given || jsonb_build_object('tenant_id', %(tenant)s::text)

-- name: write_butler
-- Butlers of a file; one may be known already, for what it did on the way here.
WITH made AS (
    INSERT INTO {schema}.butlers
    SELECT m.* FROM {given} CROSS JOIN LATERAL jsonb_populate_record(NULL::{schema}.butlers, {own}) m
    ON CONFLICT (tenant_id, butler) DO UPDATE SET created_at = least(butlers.created_at, excluded.created_at)
    RETURNING 1
)
SELECT count(*) AS made FROM made;

-- part: episode_columns
-- What an episode is made of: all but what the database works out by itself.
tenant_id, id, ref, butler, session_id, content, content_hash, importance, tags, validity,
consolidation_status, consolidation_attempts, last_consolidation_error, next_consolidation_retry_at,
observed_at, created_at, expires_at, last_referenced_at, reference_count, metadata, request_id, pinned

-- part: episode_values
-- The same of a row.
m.tenant_id, m.id, m.ref, m.butler, m.session_id, m.content, m.content_hash, m.importance, m.tags,
m.validity, m.consolidation_status, m.consolidation_attempts, m.last_consolidation_error,
m.next_consolidation_retry_at, m.observed_at, m.created_at, m.expires_at, m.last_referenced_at,
m.reference_count, m.metadata, m.request_id, m.pinned

-- name: write_episode
-- Episodes of a file.
WITH made AS (
    INSERT INTO {schema}.episodes (
        {episode_columns}
    )
    SELECT {episode_values}
    FROM {given} CROSS JOIN LATERAL jsonb_populate_record(NULL::{schema}.episodes, {own}) m
    RETURNING 1
)
SELECT count(*) AS made FROM made;

-- name: write_tombstone
-- What is left of deleted episodes of a file.
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
-- Reports on rules of a file.
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
-- Other names of subjects of a file.
WITH made AS (
    INSERT INTO {schema}.aliases
    SELECT m.* FROM {given} CROSS JOIN LATERAL jsonb_populate_record(NULL::{schema}.aliases, {own}) m
    RETURNING 1
)
SELECT count(*) AS made FROM made;

-- name: write_distilled
-- What was distilled from which episode of a file.
WITH made AS (
    INSERT INTO {schema}.distilled_keys
    SELECT m.* FROM {given} CROSS JOIN LATERAL jsonb_populate_record(NULL::{schema}.distilled_keys, {own}) m
    RETURNING 1
)
SELECT count(*) AS made FROM made;

-- name: write_text
-- Words that the events of a file speak of.
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
-- Each time a memory was returned by a read, of a file.
WITH made AS (
    INSERT INTO {schema}.memory_references
    SELECT m.* FROM {given} CROSS JOIN LATERAL jsonb_populate_record(NULL::{schema}.memory_references, {own}) m
    RETURNING 1
)
SELECT count(*) AS made FROM made;

-- name: tell_of_tombstones
-- An event for what is left of each deleted episode, where its history was not brought along.
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

-- name: tell_of_import
-- An event that says which file was imported, and by whom.
WITH numbered AS (
    UPDATE {schema}.tenants SET last_seq = last_seq + 1 WHERE tenant_id = %(tenant)s RETURNING last_seq
)
INSERT INTO {schema}.memory_events (
    tenant_id, id, seq, event_type, entity_type, occurred_at, actor, request_id, payload_version, payload
)
SELECT %(tenant)s, %(event_id)s, last_seq, 'store.imported', 'access', %(now)s, %(actor)s, %(request_id)s, 1,
    jsonb_build_object('file', %(file)s::text, 'new_ids', %(new_ids)s::boolean, 'records', %(records)s::int)
FROM numbered;
