-- name: standings
-- Every butler of a tenant, or one: its memories, its backlog, and the time of its last write. Each part filters by
-- butler itself, because a filter from outside does not reach into a GROUP BY.
WITH told AS (
    SELECT source_butler AS butler, count(*) FILTER (WHERE validity IN ('active', 'fading')) AS facts,
        count(*) FILTER (WHERE validity = 'fading') AS fading, max(created_at) AS last_at
    FROM {schema}.facts WHERE tenant_id = %(tenant)s AND (%(only)s::text IS NULL OR source_butler = %(only)s)
    GROUP BY 1
), learned AS (
    SELECT source_butler AS butler, count(*) FILTER (WHERE validity IN ('active', 'fading')) AS rules,
        count(*) FILTER (WHERE validity IN ('active', 'fading') AND maturity = 'anti_pattern') AS warnings,
        max(created_at) AS last_at
    FROM {schema}.rules WHERE tenant_id = %(tenant)s AND (%(only)s::text IS NULL OR source_butler = %(only)s)
    GROUP BY 1
), heard AS (
    SELECT butler, count(*) AS episodes,
        count(*) FILTER (WHERE {runs.waits}) AS waiting, count(*) FILTER (WHERE {runs.proposed}) AS deciding,
        count(*) FILTER (WHERE {runs.given_up}) AS stuck, max(created_at) AS last_at
    FROM {schema}.episodes e WHERE tenant_id = %(tenant)s AND (%(only)s::text IS NULL OR butler = %(only)s)
    GROUP BY 1
)
SELECT b.butler, b.created_at AS known_since, coalesce(facts, 0) AS facts, coalesce(fading, 0) AS fading,
    coalesce(rules, 0) AS rules, coalesce(warnings, 0) AS warnings, coalesce(episodes, 0) AS episodes,
    coalesce(waiting, 0) AS waiting, coalesce(deciding, 0) AS deciding, coalesce(stuck, 0) AS stuck,
    greatest(told.last_at, learned.last_at, heard.last_at) AS last_at
FROM {schema}.butlers b
    LEFT JOIN told USING (butler) LEFT JOIN learned USING (butler) LEFT JOIN heard USING (butler)
WHERE b.tenant_id = %(tenant)s AND (%(only)s::text IS NULL OR b.butler = %(only)s)
ORDER BY b.butler;
