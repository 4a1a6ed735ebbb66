-- part: fact
-- Keeps the facts of the list n that the caller may see and that pass the filters of the query.
CROSS JOIN LATERAL (SELECT FROM {tables}.facts f WHERE f.tenant_id = %(tenant)s AND f.id = n.id
    AND {schema}.readable(f.validity, f.scope, {schema}.worth(f.pinned, f.confidence, f.decay_rate,
        f.last_confirmed_at, f.created_at, %(now)s), %(scopes)s, %(min_confidence)s)
    AND (%(permanences)s::text[] IS NULL OR f.permanence = ANY(%(permanences)s))
    AND (%(time_from)s::timestamptz IS NULL OR coalesce(f.valid_at, f.created_at) >= %(time_from)s)
    AND (%(time_to)s::timestamptz IS NULL OR coalesce(f.valid_at, f.created_at) < %(time_to)s) OFFSET 0) visible

-- part: rule
-- Keeps the rules of the list n that the caller may see and that pass the filters of the query.
CROSS JOIN LATERAL (SELECT FROM {tables}.rules r WHERE r.tenant_id = %(tenant)s AND r.id = n.id
    AND {schema}.readable(r.validity, r.scope, CASE r.maturity WHEN 'anti_pattern' THEN 1 ELSE
        {schema}.worth(r.pinned, r.confidence, r.decay_rate, r.last_confirmed_at, r.created_at, %(now)s) END,
        %(scopes)s, %(min_confidence)s)
    AND (%(maturities)s::text[] IS NULL OR r.maturity = ANY(%(maturities)s))
    AND (%(time_from)s::timestamptz IS NULL OR r.created_at >= %(time_from)s)
    AND (%(time_to)s::timestamptz IS NULL OR r.created_at < %(time_to)s) OFFSET 0) visible

-- part: episode
-- Keeps the episodes of the list n that the caller may see and that pass the filters of the query.
CROSS JOIN LATERAL (SELECT FROM {tables}.episodes e WHERE e.tenant_id = %(tenant)s AND e.id = n.id
    AND e.validity = 'active' AND (e.pinned OR e.expires_at > %(now)s)
    AND (%(butlers)s::text[] IS NULL OR e.butler = ANY(%(butlers)s))
    AND (%(time_from)s::timestamptz IS NULL OR e.observed_at >= %(time_from)s)
    AND (%(time_to)s::timestamptz IS NULL OR e.observed_at < %(time_to)s) OFFSET 0) visible
