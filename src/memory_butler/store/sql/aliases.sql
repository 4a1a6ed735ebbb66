-- name: insert
-- Give a subject another name, or give it back one that was withdrawn; nothing if it has it.
INSERT INTO {schema}.aliases AS a (tenant_id, id, subject, alias, alias_label, validity, created_at, request_id)
VALUES (%(tenant)s, %(id)s, %(subject)s, %(alias)s, %(alias_label)s, 'active', %(now)s, %(request_id)s)
ON CONFLICT (tenant_id, alias, subject) DO UPDATE SET validity = 'active' WHERE a.validity <> 'active'
RETURNING a.id;

-- part: hidden
-- A fact that the caller may not see, up to whom it is about.
SELECT FROM {tables}.facts f WHERE f.tenant_id = %(tenant)s AND f.scope <> ALL(%(scopes)s) AND f.subject

-- part: is_known
-- Was the name a given together with a fact that the caller may see? Where its giving is not in the log, because it
-- came in without its history, nobody can tell: it is known to who may see all that is known of the subject.
(%(scopes)s::text[] IS NULL
    OR coalesce({schema}.was_given(%(tenant)s, a.id, %(scopes)s, 'infinity'), NOT EXISTS ({hidden} = a.subject)))

-- part: was_known
-- The same at a moment, which may be in the past: what was given later was not known then.
(%(scopes)s::text[] IS NULL
    OR coalesce({schema}.was_given(%(tenant)s, a.id, %(scopes)s, %(now)s), NOT EXISTS ({hidden} = a.subject)))

-- part: was_known_too
-- The same for the name b.
(%(scopes)s::text[] IS NULL
    OR coalesce({schema}.was_given(%(tenant)s, b.id, %(scopes)s, %(now)s), NOT EXISTS ({hidden} = b.subject)))

-- name: unknown_in
-- The name of a subject, if who sees only these scopes does not know it.
SELECT a.id FROM {schema}.aliases a
WHERE a.tenant_id = %(tenant)s AND a.subject = %(subject)s AND a.alias = %(alias)s AND a.validity = 'active'
    AND NOT {is_known};

-- name: of_subject
-- The other names of a subject that the caller may know, as they were written, the oldest first.
SELECT a.alias_label FROM {schema}.aliases a
WHERE a.tenant_id = %(tenant)s AND a.subject = %(subject)s AND a.validity = 'active' AND {is_known}
ORDER BY a.created_at, a.alias
LIMIT %(limit)s;

-- name: after
-- The next names of subjects by id that the caller may know.
SELECT a.id, a.subject, a.alias_label FROM {schema}.aliases a
WHERE a.tenant_id = %(tenant)s AND a.validity = 'active' AND a.id > %(after)s AND {is_known}
ORDER BY a.id
LIMIT %(limit)s;

-- name: ids_of_subjects
-- The names that these subjects have beside their own, as far as the caller may know them.
SELECT a.id FROM {schema}.aliases a
WHERE a.tenant_id = %(tenant)s AND a.validity = 'active' AND a.subject = ANY(%(subjects)s) AND {is_known}
ORDER BY a.id
LIMIT %(limit)s;

-- name: retract
-- Withdraw names of subjects, those of them that are still in use.
UPDATE {schema}.aliases SET validity = 'retracted'
WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s) AND validity = 'active'
RETURNING id;

-- part: leads_somewhere
-- Does a posting lead to a memory that is in use and that the caller may see? What was forgotten, and what is hidden
-- from the caller, makes no name known.
CASE p.memory_type
WHEN 'fact' THEN EXISTS (SELECT FROM {tables}.facts f WHERE f.tenant_id = %(tenant)s AND f.id = p.memory_id
    AND f.validity IN ('active', 'fading') AND (%(scopes)s::text[] IS NULL OR f.scope = ANY(%(scopes)s)))
WHEN 'rule' THEN EXISTS (SELECT FROM {tables}.rules r WHERE r.tenant_id = %(tenant)s AND r.id = p.memory_id
    AND r.validity IN ('active', 'fading') AND (%(scopes)s::text[] IS NULL OR r.scope = ANY(%(scopes)s)))
ELSE EXISTS (SELECT FROM {tables}.episodes e WHERE e.tenant_id = %(tenant)s AND e.id = p.memory_id
    AND e.validity = 'active' AND (e.pinned OR e.expires_at > %(now)s)
    AND (%(butlers)s::text[] IS NULL OR e.butler = ANY(%(butlers)s)))
END

-- part: names_asked
-- Of the keys that may be names in a question (`names`), those that the tenant knows: as a name that memories stand
-- under (@), as something else they answer to (#), or as another name of a subject, which leads to all of its names.
-- `lexeme` is what to look for among the postings; `is_name` says that it is a proper name, however it is written.
SELECT m.asked, m.lexeme, bool_or(m.is_name) AS is_name
FROM (
    SELECT k.key AS asked, s.sign || k.key AS lexeme, s.sign = '@' AS is_name
    FROM unnest(%(names)s::text[]) AS k (key)
    CROSS JOIN (VALUES ('@'), ('#')) AS s (sign)
    -- Looked up one by one: a plan made for a small tenant would read through all postings of a large one.
    CROSS JOIN LATERAL (
        SELECT FROM {tables}.postings p
        WHERE p.tenant_id = %(tenant)s AND p.lexeme = s.sign || k.key AND {leads_somewhere} LIMIT 1
    ) there
    UNION ALL
    SELECT o.asked, s.sign || o.name, o.is_name
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
            WHERE b.tenant_id = %(tenant)s AND b.subject = a.subject AND b.validity = 'active' AND {was_known_too} OFFSET 0
        ) b
        WHERE a.tenant_id = %(tenant)s AND a.alias = ANY(%(names)s) AND a.validity = 'active' AND {was_known}
        UNION ALL
        SELECT b.subject, b.subject, b.alias, false FROM {tables}.aliases b
        WHERE b.tenant_id = %(tenant)s AND b.subject = ANY(%(names)s) AND b.validity = 'active' AND {was_known_too}
    ) o
    CROSS JOIN LATERAL (
        SELECT FROM {tables}.postings p
        WHERE p.tenant_id = %(tenant)s AND p.lexeme = '#' || o.subject AND {leads_somewhere} LIMIT 1
    ) there
    CROSS JOIN (VALUES ('@'), ('#')) AS s (sign)
) m
GROUP BY m.asked, m.lexeme
ORDER BY m.asked, m.lexeme
LIMIT 500

-- name: asked
-- The names in a question that the tenant knows.
{names_asked};
