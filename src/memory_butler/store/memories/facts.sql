-- part: mutable
-- The columns of a fact that a change may write and an undo restores.
validity, confidence, decay_rate, permanence, importance, pinned, tags, metadata, last_confirmed_at, origin,
quarantine_reason

-- part: texts
-- The columns that an event keeps apart, as text that can be removed.
content, content_hash, subject, subject_label, predicate, predicate_label, tags, metadata

-- part: names_of_subject
-- All names of a subject: the one that is given, the only subject that it is an alias of, and their aliases. An alias
-- of several subjects names none of them for sure. The user is one subject under all its names. Only aliases that
-- readers of the fact's scope may know count.
WITH meant AS (
    SELECT %(subject)s::text AS name
    UNION
    SELECT min(a.subject) FROM {tables}.aliases a
    WHERE a.tenant_id = %(tenant)s AND a.alias = %(subject)s AND a.validity = 'active' AND {aliases.is_known}
    HAVING count(DISTINCT a.subject) = 1
), subjects AS (
    SELECT name FROM meant
    UNION
    SELECT u.name FROM unnest(%(user_keys)s::text[]) AS u (name)
    WHERE EXISTS (SELECT FROM meant m WHERE m.name = ANY(%(user_keys)s))
), named AS (
    SELECT name FROM subjects
    UNION
    SELECT a.alias FROM subjects s JOIN {tables}.aliases a ON a.tenant_id = %(tenant)s AND a.subject = s.name
    WHERE a.validity = 'active' AND {aliases.is_known} AND NOT EXISTS (
        SELECT FROM {tables}.aliases b
        WHERE b.tenant_id = %(tenant)s AND b.alias = a.alias AND b.validity = 'active'
            AND b.subject NOT IN (SELECT name FROM subjects)
    )
)

-- name: find_live_property
-- The live fact that holds a property, if there is one: under the given name of the subject, else under another.
{names_of_subject}
SELECT f.* FROM {schema}.facts f
WHERE f.tenant_id = %(tenant)s AND f.scope = %(scope)s AND f.subject IN (SELECT name FROM named)
    AND f.predicate = %(predicate)s AND f.valid_at IS NULL AND f.validity IN ('active', 'fading')
ORDER BY f.subject = %(subject)s DESC, f.created_at DESC, f.id
LIMIT 1;

-- name: find_live_occurrence
-- The live fact that records the same occurrence at the same time in the same words.
{names_of_subject}
SELECT f.* FROM {schema}.facts f
WHERE f.tenant_id = %(tenant)s AND f.scope = %(scope)s AND f.subject IN (SELECT name FROM named)
    AND f.predicate = %(predicate)s AND f.valid_at = %(valid_at)s AND f.content_hash = ANY(%(content_hashes)s)
    AND f.validity IN ('active', 'fading')
ORDER BY f.created_at, f.id
LIMIT 1;

-- name: set_fields
-- Change fields in place; NULL leaves a field as it is.
UPDATE {schema}.facts
SET importance = coalesce(%(importance)s, importance), permanence = coalesce(%(permanence)s, permanence),
    decay_rate = coalesce(%(decay_rate)s, decay_rate), tags = coalesce(%(tags)s::text[], tags)
WHERE tenant_id = %(tenant)s AND id = %(id)s;

-- name: insert
-- Store new facts. The keys of a row are columns, so that a new column needs no change here.
INSERT INTO {schema}.facts
SELECT n.* FROM jsonb_array_elements(%(rows)s::jsonb) AS g (given)
CROSS JOIN LATERAL jsonb_populate_record(NULL::{schema}.facts, g.given || {memories.of_new}) n;

-- name: supersede
-- Mark facts as superseded by newer ones.
UPDATE {schema}.facts SET validity = 'superseded' WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s);

-- name: find_occupant
-- The live fact that conflicts with this one: the same property, or the same occurrence.
SELECT o.*
FROM {schema}.facts f
JOIN {schema}.facts o ON o.tenant_id = %(tenant)s AND o.scope = f.scope AND o.subject = f.subject
    AND o.predicate = f.predicate AND o.id <> f.id AND o.validity IN ('active', 'fading')
    AND o.valid_at IS NOT DISTINCT FROM f.valid_at AND (f.valid_at IS NULL OR o.content_hash = f.content_hash)
WHERE f.tenant_id = %(tenant)s AND f.id = %(id)s
ORDER BY o.created_at, o.id
LIMIT 1;

-- name: chain
-- The chain of facts that superseded one another, oldest first. Ordered by links, because times may be equal.
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
