-- part: texts
-- The columns that an event keeps apart, as text that can be removed.
subject, alias, alias_label

-- name: insert
-- Add an alias to a subject or restore a withdrawn one; returns nothing if the subject has it.
INSERT INTO {schema}.aliases AS a (tenant_id, id, subject, alias, alias_label, validity, created_at, request_id)
VALUES (%(tenant)s, %(id)s, %(subject)s, %(alias)s, %(alias_label)s, 'active', %(now)s, %(request_id)s)
ON CONFLICT (tenant_id, alias, subject) DO UPDATE SET validity = 'active' WHERE a.validity <> 'active'
RETURNING a.id;

-- part: hidden
-- A fact that the caller may not see; the subject is compared by the caller of this part.
SELECT FROM {tables}.facts f WHERE f.tenant_id = %(tenant)s AND f.scope <> ALL(%(scopes)s) AND f.subject

-- part: is_known
-- True if the alias a was given with a fact that the caller may see. If its event is missing (imported without
-- history), the caller must see all facts of the subject.
(%(scopes)s::text[] IS NULL
    OR coalesce({schema}.was_given(%(tenant)s, a.id, %(scopes)s, 'infinity'), NOT EXISTS ({hidden} = a.subject)))

-- part: was_known
-- The same at a time in the past: later aliases were not known.
(%(scopes)s::text[] IS NULL
    OR coalesce({schema}.was_given(%(tenant)s, a.id, %(scopes)s, %(now)s), NOT EXISTS ({hidden} = a.subject)))

-- part: was_known_too
-- The same for the alias b.
(%(scopes)s::text[] IS NULL
    OR coalesce({schema}.was_given(%(tenant)s, b.id, %(scopes)s, %(now)s), NOT EXISTS ({hidden} = b.subject)))

-- name: unknown_in
-- The alias of a subject, if a caller with these scopes may not know it.
SELECT a.id FROM {schema}.aliases a
WHERE a.tenant_id = %(tenant)s AND a.subject = %(subject)s AND a.alias = %(alias)s AND a.validity = 'active'
    AND NOT {is_known};

-- name: of_subject
-- The aliases of a subject that the caller may know, as written, oldest first.
SELECT a.alias_label FROM {schema}.aliases a
WHERE a.tenant_id = %(tenant)s AND a.subject = %(subject)s AND a.validity = 'active' AND {is_known}
ORDER BY a.created_at, a.alias
LIMIT %(limit)s;

-- name: after
-- The next aliases by id that the caller may know.
SELECT a.id, a.subject, a.alias_label FROM {schema}.aliases a
WHERE a.tenant_id = %(tenant)s AND (%(every_state)s OR a.validity = 'active') AND a.id > %(after)s AND {is_known}
ORDER BY a.id
LIMIT %(limit)s;

-- name: ids_of_subjects
-- Ids of the aliases of these subjects that the caller may know.
SELECT a.id FROM {schema}.aliases a
WHERE a.tenant_id = %(tenant)s AND (%(every_state)s OR a.validity = 'active') AND a.subject = ANY(%(subjects)s)
    AND {is_known}
ORDER BY a.id
LIMIT %(limit)s;

-- name: retract
-- Withdraw aliases that are in use.
UPDATE {schema}.aliases SET validity = 'retracted'
WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s) AND validity = 'active'
RETURNING id;

-- part: leads_somewhere
-- True if a posting belongs to a live memory that the caller may see. Forgotten and hidden memories make no name known.
CASE p.memory_type
WHEN 'fact' THEN EXISTS (SELECT FROM ({visible.fact_by_id} ANY(ARRAY[p.memory_id]) ORDER BY id OFFSET 0) f
    WHERE f.validity IN ('active', 'fading') AND (%(scopes)s::text[] IS NULL OR f.scope = ANY(%(scopes)s)))
WHEN 'rule' THEN EXISTS (SELECT FROM ({visible.rule_by_id} ANY(ARRAY[p.memory_id]) ORDER BY id OFFSET 0) r
    WHERE r.validity IN ('active', 'fading') AND (%(scopes)s::text[] IS NULL OR r.scope = ANY(%(scopes)s)))
ELSE EXISTS (SELECT FROM ({visible.episode_by_id} ANY(ARRAY[p.memory_id]) ORDER BY id OFFSET 0) e
    WHERE e.validity = 'active' AND (e.pinned OR e.expires_at > %(now)s)
    AND (%(butlers)s::text[] IS NULL OR e.butler = ANY(%(butlers)s)))
END

-- part: names_asked
-- Those of the possible names in a question (`names`) that the tenant knows: as a name of a memory's subject (@), as
-- part of such a name (#), or as an alias, which resolves to all names of its subject. `lexeme` is the posting to look
-- up; `is_name` marks a proper name, in any spelling.
SELECT m.asked, m.lexeme, bool_or(m.is_name) AS is_name
FROM (
    SELECT k.key AS asked, s.sign || k.key AS lexeme, s.sign = '@' AS is_name, s.sign || k.key AS leading
    FROM unnest(%(names)s::text[]) AS k (key)
    CROSS JOIN (VALUES ('@'), ('#')) AS s (sign)
    UNION ALL
    SELECT o.asked, s.sign || o.name, o.is_name, '#' || o.subject
    FROM (
        SELECT a.alias AS asked, a.subject, a.subject AS name,
            left(a.alias_label, 1) = upper(left(a.alias_label, 1)) AS is_name
        FROM {tables}.aliases a
        WHERE a.tenant_id = %(tenant)s AND a.alias = ANY(%(names)s) AND a.validity = 'active' AND {was_known}
        UNION ALL
        SELECT a.alias, a.subject, b.alias, left(a.alias_label, 1) = upper(left(a.alias_label, 1))
        FROM {tables}.aliases a
        CROSS JOIN LATERAL (
            SELECT b.alias FROM {tables}.aliases b
            WHERE b.tenant_id = %(tenant)s AND b.subject = a.subject AND b.validity = 'active' AND {was_known_too}
                OFFSET 0
        ) b
        WHERE a.tenant_id = %(tenant)s AND a.alias = ANY(%(names)s) AND a.validity = 'active' AND {was_known}
        UNION ALL
        SELECT b.subject, b.subject, b.alias, false FROM {tables}.aliases b
        WHERE b.tenant_id = %(tenant)s AND b.subject = ANY(%(names)s) AND b.validity = 'active' AND {was_known_too}
    ) o
    CROSS JOIN (VALUES ('@'), ('#')) AS s (sign)
) m
-- Looked up one by one: a plan made for a small tenant would read through all postings of a large one.
CROSS JOIN LATERAL (
    SELECT FROM {tables}.postings p
    WHERE p.tenant_id = %(tenant)s AND p.lexeme = m.leading AND {leads_somewhere} LIMIT 1
) there
GROUP BY m.asked, m.lexeme
ORDER BY m.asked, m.lexeme
LIMIT 500

-- part: next_name
-- The lexeme after another one, by one look into the index.
SELECT p.lexeme FROM {tables}.postings p
WHERE p.tenant_id = %(tenant)s AND p.lexeme > n.lexeme ORDER BY p.lexeme LIMIT 1

-- part: similar_names
-- Names of subjects and speakers, and aliases, that begin like one of the words that no memory has (`unheard`), which
-- may be misspelt names. Looks at no more than 4 words, and 300 names for each first letter.
WITH RECURSIVE beginnings AS MATERIALIZED (
    SELECT DISTINCT s.sign || left(w.name, 1) AS beginning
    FROM (SELECT u.name FROM unheard u WHERE u.name = ANY(%(spelled)s)
        ORDER BY array_position(%(spelled)s::text[], u.name) LIMIT 4) w
    CROSS JOIN (VALUES ('@'), ('#')) AS s (sign)
), names AS (
    SELECT b.beginning, b.beginning AS lexeme, 0 AS place FROM beginnings b
    UNION ALL
    SELECT n.beginning, next.lexeme, n.place + 1
    FROM names n CROSS JOIN LATERAL ({next_name}) next
    WHERE n.place < 300 AND starts_with(next.lexeme, n.beginning)
)
SELECT substr(n.lexeme, 2) AS name FROM names n WHERE n.place > 0
UNION
(SELECT a.alias FROM {tables}.aliases a
WHERE a.tenant_id = %(tenant)s AND a.validity = 'active'
    AND '@' || left(a.alias, 1) IN (SELECT beginning FROM beginnings)
ORDER BY a.alias LIMIT 300)

-- name: asked
-- The names in a question that the tenant knows.
{names_asked};
