-- name: equal_contents
-- The oldest and the newest fact of each group of facts in use with one subject and the same words.
SELECT (array_agg(m.id ORDER BY m.created_at, m.id))[1] AS older,
    (array_agg(m.id ORDER BY m.created_at DESC, m.id DESC))[1] AS newer
FROM {schema}.facts m
WHERE m.tenant_id = %(tenant)s AND m.validity IN ('active', 'fading') AND m.quarantine_reason IS NULL
    AND m.valid_at IS NULL AND m.content NOT LIKE 'enc:v1:%%'
    AND (%(scopes)s::text[] IS NULL OR m.scope = ANY(%(scopes)s::text[]))
GROUP BY m.subject, md5(rtrim(lower(m.content), ' .!'))
HAVING count(*) > 1
ORDER BY max(m.created_at) DESC LIMIT %(limit)s;
