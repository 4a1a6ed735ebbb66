-- part: fact
-- Facts in use that the caller may see.
m.tenant_id = %(tenant)s AND m.validity IN ('active', 'fading') AND m.quarantine_reason IS NULL
    AND (%(scopes)s::text[] IS NULL OR m.scope = ANY(%(scopes)s::text[]))

-- part: episode
-- Episodes in use that the caller may see.
m.tenant_id = %(tenant)s AND m.validity IN ('active', 'fading') AND m.quarantine_reason IS NULL
    AND (%(butlers)s::text[] IS NULL OR m.butler = ANY(%(butlers)s::text[]))

-- part: most
-- The most frequent values, of those that contain the words.
WHERE %(words)s::text IS NULL OR strpos(lower(v.value), lower(%(words)s::text)) > 0
GROUP BY v.value ORDER BY count(*) DESC, v.value LIMIT %(limit)s

-- name: subject
-- The subjects with the most facts.
SELECT v.value, count(*) AS count FROM (
    SELECT max(m.subject_label) OVER (PARTITION BY m.subject) AS value FROM {schema}.facts m WHERE {fact}
) v {most};

-- name: predicate
-- The most frequent predicates. Those of notes are hashes.
SELECT v.value, count(*) AS count FROM (
    SELECT m.predicate_label AS value FROM {schema}.facts m WHERE {fact} AND m.predicate_label NOT LIKE 'note:%%'
) v {most};

-- name: scope
-- The scopes of facts and rules.
SELECT v.value, count(*) AS count FROM (
    SELECT m.scope AS value FROM {schema}.facts m WHERE {fact}
    UNION ALL SELECT m.scope FROM {schema}.rules m WHERE {fact}
) v {most};

-- name: butler
-- The butlers that stored memories.
SELECT v.value, count(*) AS count FROM (
    SELECT m.source_butler AS value FROM {schema}.facts m WHERE {fact}
    UNION ALL SELECT m.source_butler FROM {schema}.rules m WHERE {fact}
    UNION ALL SELECT m.butler FROM {schema}.episodes m WHERE {episode}
) v {most};

-- name: tag
-- The tags of all memories.
SELECT v.value, count(*) AS count FROM (
    SELECT unnest(m.tags) AS value FROM {schema}.facts m WHERE {fact}
    UNION ALL SELECT unnest(m.tags) FROM {schema}.rules m WHERE {fact}
    UNION ALL SELECT unnest(m.tags) FROM {schema}.episodes m WHERE {episode}
) v {most};
