-- name: links
-- The newest links of each memory whose other end the caller may see, with the beginning of the text at that end.
SELECT c.id AS one_id, n.*
FROM unnest(%(ids)s::uuid[]) WITH ORDINALITY AS c (id, place)
CROSS JOIN LATERAL (
    SELECT l.* FROM (
        SELECT {links.end}, {schema}.preview(coalesce(f.content, r.content, p.content), %(characters)s::int)
                AS other_content,
            f.subject, f.subject_label, f.predicate_label,
            coalesce(f.validity, r.validity, p.validity) AS validity,
            coalesce(f.quarantine_reason, r.quarantine_reason, p.quarantine_reason) AS quarantine_reason,
            coalesce(f.valid_at, f.created_at, r.created_at, p.observed_at, t.observed_at) AS at
        FROM (
            SELECT s.*, s.target_type AS other_type, s.target_id AS other_id
            FROM {schema}.memory_links s WHERE s.tenant_id = %(tenant)s AND s.source_id = c.id
            UNION ALL
            SELECT s.*, s.source_type, s.source_id
            FROM {schema}.memory_links s WHERE s.tenant_id = %(tenant)s AND s.target_id = c.id
        ) b
        {links.other}
    ) l
    WHERE {links.visible} AND l.quarantine_reason IS NULL
    ORDER BY l.created_at DESC, l.relation, l.source_id, l.target_id LIMIT %(each)s
) n
ORDER BY c.place, n.created_at DESC, n.relation, n.source_id, n.target_id;

-- name: facts
-- At most `limit` visible facts of each subject: live facts first, then the most recently confirmed.
SELECT n.* FROM unnest(%(subjects)s::text[]) WITH ORDINALITY AS s (subject, place)
CROSS JOIN LATERAL (
    SELECT f.id, f.ref, {schema}.preview(f.content, %(characters)s::int) AS content, f.subject, f.subject_label,
        f.predicate_label, f.validity, coalesce(f.valid_at, f.created_at) AS at
    FROM {schema}.facts f
    WHERE f.tenant_id = %(tenant)s AND f.subject = s.subject AND f.quarantine_reason IS NULL
        AND (%(scopes)s::text[] IS NULL OR f.scope = ANY(%(scopes)s::text[]))
    ORDER BY f.validity IN ('active', 'fading') DESC, coalesce(f.last_confirmed_at, f.created_at) DESC, f.id
    LIMIT %(each)s
) n
ORDER BY s.place;

-- name: subjects
-- The subjects with the most live facts that the caller may see; with words, those whose name or alias matches.
SELECT f.subject, max(f.subject_label) AS label, count(*) AS facts,
    max(coalesce(f.last_confirmed_at, f.created_at)) AS latest_at
FROM {schema}.facts f
WHERE f.tenant_id = %(tenant)s AND f.validity IN ('active', 'fading')
    AND (%(scopes)s::text[] IS NULL OR f.scope = ANY(%(scopes)s::text[]))
    AND (%(words)s::text IS NULL OR strpos(lower(f.subject_label), lower(%(words)s::text)) > 0 OR f.subject IN (
        SELECT a.subject FROM {schema}.aliases a
        WHERE a.tenant_id = %(tenant)s AND a.validity = 'active'
            AND strpos(lower(a.alias_label), lower(%(words)s::text)) > 0 AND {aliases.is_known}
    ))
GROUP BY f.subject
ORDER BY facts DESC, latest_at DESC, f.subject
LIMIT %(limit)s;

-- name: map_facts
-- The most important live facts of each subject that the caller may see.
SELECT 'fact' AS kind, n.* FROM unnest(%(subjects)s::text[]) WITH ORDINALITY AS s (subject, place)
CROSS JOIN LATERAL (
    SELECT f.id, f.ref, {schema}.preview(f.content, %(characters)s::int) AS content, f.created_at, f.importance,
        f.scope, f.subject, f.predicate, f.predicate_label
    FROM {schema}.facts f
    WHERE f.tenant_id = %(tenant)s AND f.subject = s.subject AND f.validity IN ('active', 'fading')
        AND f.quarantine_reason IS NULL AND (%(scopes)s::text[] IS NULL OR f.scope = ANY(%(scopes)s::text[]))
    ORDER BY f.importance DESC, f.created_at DESC, f.id
    LIMIT %(each)s
) n
ORDER BY s.place, n.importance DESC, n.created_at DESC, n.id
LIMIT %(limit)s;

-- name: map_rules
-- The newest live rules that the caller may see.
SELECT 'rule' AS kind, r.id, r.ref, {schema}.preview(r.content, %(characters)s::int) AS content, r.created_at,
    5 AS importance, r.scope
FROM {schema}.rules r
WHERE r.tenant_id = %(tenant)s AND r.validity IN ('active', 'fading') AND r.quarantine_reason IS NULL
    AND (%(scopes)s::text[] IS NULL OR r.scope = ANY(%(scopes)s::text[]))
ORDER BY r.created_at DESC, r.id
LIMIT %(limit)s;

-- name: map_totals
-- The numbers of subjects, facts and rules in use that the caller may see.
SELECT count(DISTINCT f.subject) AS subjects, count(*) + (
        SELECT count(*) FROM {schema}.rules r
        WHERE r.tenant_id = %(tenant)s AND r.validity IN ('active', 'fading')
            AND (%(scopes)s::text[] IS NULL OR r.scope = ANY(%(scopes)s::text[]))
    ) AS memories
FROM {schema}.facts f
WHERE f.tenant_id = %(tenant)s AND f.validity IN ('active', 'fading')
    AND (%(scopes)s::text[] IS NULL OR f.scope = ANY(%(scopes)s::text[]));

-- name: map_aliases
-- The other names of some subjects.
SELECT a.alias, a.subject FROM {schema}.aliases a
WHERE a.tenant_id = %(tenant)s AND a.validity = 'active' AND a.subject = ANY(%(subjects)s::text[]);
