-- name: names_of
-- A subject with the aliases that the caller may know. An alias of two subjects resolves to itself only.
WITH meant AS (
    SELECT %(subject)s::text AS subject
    UNION
    SELECT min(a.subject) FROM {schema}.aliases a
    WHERE a.tenant_id = %(tenant)s AND a.alias = %(subject)s AND a.validity = 'active' AND {aliases.is_known}
    HAVING count(DISTINCT a.subject) = 1
)
SELECT subject AS name FROM meant
UNION
SELECT a.alias FROM {schema}.aliases a
JOIN meant m ON a.tenant_id = %(tenant)s AND a.subject = m.subject AND a.validity = 'active' AND {aliases.is_known}
ORDER BY name
LIMIT %(limit)s;

-- name: about_subject
-- The facts about a subject within the caller's reach: the live ones, or all.
SELECT 'fact' AS type, id, ref, subject_label, predicate_label, content, tags, metadata, '{}'::text[] AS reasons
FROM {schema}.facts
WHERE tenant_id = %(tenant)s AND subject = ANY(%(names)s) AND (%(every_state)s OR validity IN ('active', 'fading'))
    AND (%(scopes)s::text[] IS NULL OR scope = ANY(%(scopes)s))
ORDER BY id
LIMIT %(limit)s;

-- name: end_of_page
-- The last id of a page of memories; NULL if it is the last page.
SELECT id
FROM (
    (SELECT id FROM {schema}.facts WHERE tenant_id = %(tenant)s AND id > %(after)s ORDER BY id LIMIT %(size)s)
    UNION ALL
    (SELECT id FROM {schema}.rules WHERE tenant_id = %(tenant)s AND id > %(after)s ORDER BY id LIMIT %(size)s)
    UNION ALL
    (SELECT id FROM {schema}.episodes WHERE tenant_id = %(tenant)s AND id > %(after)s ORDER BY id LIMIT %(size)s)
) m
ORDER BY id
OFFSET %(size)s - 1
LIMIT 1;

-- name: that_may_name
-- The memories of a page within the caller's reach that may contain an identifier: the live ones, or all, and then
-- also in the name of a session. A coarse filter: policy/trust/identifiers.py decides which of them do.
SELECT type, id, ref, subject_label, predicate_label, content, tags, metadata, reasons, session
FROM (
    SELECT 'fact' AS type, id, ref, subject_label, predicate_label, content, tags, metadata, '{}'::text[] AS reasons,
        NULL AS session, subject_label || E'\n' || predicate_label || E'\n' || content || E'\n'
            || array_to_string(tags, E'\n') || metadata::text AS words
    FROM {schema}.facts
    WHERE tenant_id = %(tenant)s AND id > %(after)s AND id <= %(until)s
        AND (%(every_state)s OR validity IN ('active', 'fading'))
        AND (%(scopes)s::text[] IS NULL OR scope = ANY(%(scopes)s))
    UNION ALL
    SELECT 'rule', id, ref, NULL, NULL, content, tags, metadata, harmful_reasons, NULL,
        content || E'\n' || array_to_string(tags, E'\n') || metadata::text || array_to_string(harmful_reasons, E'\n')
    FROM {schema}.rules
    WHERE tenant_id = %(tenant)s AND id > %(after)s AND id <= %(until)s
        AND (%(every_state)s OR validity IN ('active', 'fading'))
        AND (%(scopes)s::text[] IS NULL OR scope = ANY(%(scopes)s))
    UNION ALL
    SELECT 'episode', id, ref, NULL, NULL, content, tags, metadata, '{}',
        CASE WHEN %(every_state)s THEN session_id END,
        content || E'\n' || array_to_string(tags, E'\n') || metadata::text
            || CASE WHEN %(every_state)s THEN coalesce(E'\n' || session_id || E'\n'
                || translate(session_id, '_-', '  '), '') ELSE '' END
    FROM {schema}.episodes
    WHERE tenant_id = %(tenant)s AND id > %(after)s AND id <= %(until)s
        AND (%(every_state)s OR validity = 'active')
        AND (%(butlers)s::text[] IS NULL OR butler = ANY(%(butlers)s))
    -- Keeps the words from being put together anew each time they are looked at.
    OFFSET 0
) m
WHERE {passes};

-- part: passes
-- True if the column `words` may contain an identifier. An encrypted text may contain any.
CASE WHEN strpos(words, 'enc:v1:') > 0 THEN true
    WHEN octet_length(words) = length(words)
    THEN translate(lower(words COLLATE "C"), %(dropped)s, '') LIKE ALL(%(patterns)s::text[])
    ELSE words ~ %(odd)s OR translate(
        lower(CASE WHEN words IS NFKC NORMALIZED THEN words ELSE normalize(words, NFKC) END COLLATE "C"),
        %(capitals)s || %(dropped)s, %(smalls)s) LIKE ALL(%(patterns)s::text[]) END

-- name: retract
-- each: fact=facts, rule=rules, episode=episodes
-- Retract memories that are in use.
UPDATE {schema}.{table} SET validity = 'retracted'
WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s) AND validity IN ('active', 'fading')
RETURNING id;
