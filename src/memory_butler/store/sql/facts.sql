-- name: find_live_property
-- The live fact that holds a property, if there is one.
SELECT * FROM {schema}.facts
WHERE tenant_id = %(tenant)s AND scope = %(scope)s AND subject = %(subject)s AND predicate = %(predicate)s
    AND valid_at IS NULL AND validity IN ('active', 'fading');

-- name: find_live_occurrence
-- The live fact that records the same occurrence at the same time in the same words.
SELECT * FROM {schema}.facts
WHERE tenant_id = %(tenant)s AND scope = %(scope)s AND subject = %(subject)s AND predicate = %(predicate)s
    AND valid_at = %(valid_at)s AND content_hash = %(content_hash)s AND validity IN ('active', 'fading')
ORDER BY created_at, id
LIMIT 1;

-- name: insert
-- Store new facts.
INSERT INTO {schema}.facts (
    tenant_id, id, ref, subject, subject_label, predicate, predicate_label, content, content_hash, scope,
    importance, tags, validity, confidence, permanence, decay_rate, valid_at, source_butler, source_episode_id,
    supersedes_id, created_at, reference_count, metadata, request_id
)
SELECT %(tenant)s, n.id, n.ref, n.subject, n.subject_label, n.predicate, n.predicate_label, n.content, n.content_hash,
    n.scope, n.importance, n.tags, 'active', n.confidence, n.permanence, n.decay_rate, n.valid_at, n.source_butler,
    n.source_episode_id, n.supersedes_id, n.now, 0, n.metadata, n.request_id
FROM json_to_recordset(%(facts)s::json) AS n (id uuid, ref text, subject text, subject_label text, predicate text,
    predicate_label text, content text, content_hash bytea, scope text, importance smallint, tags text[],
    confidence float8, permanence text, decay_rate float8, valid_at timestamptz, source_butler text,
    source_episode_id uuid, supersedes_id uuid, now timestamptz, metadata jsonb, request_id text);

-- name: set_validity
-- Move a fact to another state of validity; the database refuses a move that is not allowed.
UPDATE {schema}.facts SET validity = %(validity)s WHERE tenant_id = %(tenant)s AND id = %(id)s;

-- name: supersede
-- Newer facts take the place of these.
UPDATE {schema}.facts SET validity = 'superseded' WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s);

-- part: renewed
-- In use, and its decay starts again: never earlier than it did.
last_confirmed_at = greatest(%(now)s, created_at, last_confirmed_at), validity = 'active'

-- name: confirm
-- Renew live facts: their decay starts again, and fading ones are active again.
UPDATE {schema}.facts
SET {renewed}
WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s) AND validity IN ('active', 'fading');

-- name: restore
-- Bring a fact back into use, renewed so that it does not fade at once.
UPDATE {schema}.facts
SET {renewed}
WHERE tenant_id = %(tenant)s AND id = %(id)s;

-- name: set_pinned
-- Keep a fact as it is whatever time does, or let time have it again.
UPDATE {schema}.facts SET pinned = %(pinned)s WHERE tenant_id = %(tenant)s AND id = %(id)s;

-- name: find_occupant
-- The live fact that stands where this one would stand: of the same property, or the record of the same occurrence.
SELECT o.*
FROM {schema}.facts f
JOIN {schema}.facts o ON o.tenant_id = %(tenant)s AND o.scope = f.scope AND o.subject = f.subject
    AND o.predicate = f.predicate AND o.id <> f.id AND o.validity IN ('active', 'fading')
    AND o.valid_at IS NOT DISTINCT FROM f.valid_at AND (f.valid_at IS NULL OR o.content_hash = f.content_hash)
WHERE f.tenant_id = %(tenant)s AND f.id = %(id)s
ORDER BY o.created_at, o.id
LIMIT 1;

-- name: get
-- One fact by id or by reference.
SELECT * FROM {schema}.facts
WHERE tenant_id = %(tenant)s AND (id = %(id)s::uuid OR ref = %(ref)s::text);

-- name: chain
-- The line of facts that superseded one another around this one, oldest first: by their links, as times may be equal.
WITH RECURSIVE older AS (
    SELECT f.id, f.supersedes_id, 0 AS place FROM {schema}.facts f WHERE f.tenant_id = %(tenant)s AND f.id = %(id)s
    UNION ALL
    SELECT f.id, f.supersedes_id, o.place - 1
    FROM {schema}.facts f JOIN older o ON f.tenant_id = %(tenant)s AND f.id = o.supersedes_id
    WHERE o.place > -(%(each_way)s::int)
), newer AS (
    SELECT f.id, 1 AS place FROM {schema}.facts f WHERE f.tenant_id = %(tenant)s AND f.supersedes_id = %(id)s
    UNION ALL
    SELECT f.id, n.place + 1
    FROM {schema}.facts f JOIN newer n ON f.tenant_id = %(tenant)s AND f.supersedes_id = n.id
    WHERE n.place < %(each_way)s::int
)
SELECT f.*
FROM (SELECT id, place FROM older UNION ALL SELECT id, place FROM newer) line
JOIN {schema}.facts f ON f.tenant_id = %(tenant)s AND f.id = line.id
ORDER BY line.place, f.created_at, f.id;
