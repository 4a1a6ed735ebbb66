-- part: fact_by_id
-- A fact by its id, which follows as ANY(ARRAY[id]) ORDER BY id OFFSET 0. Before the database has counted its tables,
-- an index for other reads costs as much as the primary key, and reads all facts of the tenant each time. So every
-- other condition is outside, where it matches no such index, and only the primary key has the order of the id.
SELECT * FROM {tables}.facts WHERE tenant_id = %(tenant)s AND id =

-- part: rule_by_id
-- The same for a rule.
SELECT * FROM {tables}.rules WHERE tenant_id = %(tenant)s AND id =

-- part: episode_by_id
-- The same for an episode.
SELECT * FROM {tables}.episodes WHERE tenant_id = %(tenant)s AND id =

-- part: fact
-- Keeps the facts of the list n that the caller may see and that pass the filters of the query.
CROSS JOIN LATERAL (SELECT FROM ({fact_by_id} ANY(ARRAY[n.id]) ORDER BY id OFFSET 0) f
    WHERE {schema}.readable(f.validity, f.scope, {schema}.worth(f.pinned, f.confidence, f.decay_rate,
        f.last_confirmed_at, f.created_at, %(now)s), %(scopes)s, %(min_confidence)s)
    AND (%(tags)s::text[] IS NULL OR f.tags @> %(tags)s)
    AND (%(permanences)s::text[] IS NULL OR f.permanence = ANY(%(permanences)s))
    AND (%(time_from)s::timestamptz IS NULL OR coalesce(f.valid_at, f.created_at) >= %(time_from)s)
    AND (%(time_to)s::timestamptz IS NULL OR coalesce(f.valid_at, f.created_at) < %(time_to)s) OFFSET 0) visible

-- part: rule
-- Keeps the rules of the list n that the caller may see and that pass the filters of the query.
CROSS JOIN LATERAL (SELECT FROM ({rule_by_id} ANY(ARRAY[n.id]) ORDER BY id OFFSET 0) r
    WHERE {schema}.readable(r.validity, r.scope, CASE r.maturity WHEN 'anti_pattern' THEN 1 ELSE
        {schema}.worth(r.pinned, r.confidence, r.decay_rate, r.last_confirmed_at, r.created_at, %(now)s) END,
        %(scopes)s, %(min_confidence)s)
    AND (%(tags)s::text[] IS NULL OR r.tags @> %(tags)s)
    AND (%(maturities)s::text[] IS NULL OR r.maturity = ANY(%(maturities)s))
    AND (%(time_from)s::timestamptz IS NULL OR r.created_at >= %(time_from)s)
    AND (%(time_to)s::timestamptz IS NULL OR r.created_at < %(time_to)s) OFFSET 0) visible

-- part: episode
-- Keeps the episodes of the list n that the caller may see and that pass the filters of the query.
CROSS JOIN LATERAL (SELECT FROM ({episode_by_id} ANY(ARRAY[n.id]) ORDER BY id OFFSET 0) e
    WHERE e.validity = 'active' AND (e.pinned OR e.expires_at > %(now)s)
    AND (%(tags)s::text[] IS NULL OR e.tags @> %(tags)s)
    AND (%(butlers)s::text[] IS NULL OR e.butler = ANY(%(butlers)s))
    AND (%(time_from)s::timestamptz IS NULL OR e.observed_at >= %(time_from)s)
    AND (%(time_to)s::timestamptz IS NULL OR e.observed_at < %(time_to)s) OFFSET 0) visible
