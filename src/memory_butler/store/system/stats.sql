-- part: standing
-- The state of a memory; one that waits for a person's decision counts as quarantined.
CASE WHEN quarantine_reason IS NULL THEN validity ELSE 'quarantined' END

-- name: counts
-- Memories by type, butler and state, with the columns that determine their tier.
SELECT 'fact' AS type, source_butler AS butler, {standing} AS validity, permanence, NULL AS maturity,
    NULL AS consolidation, count(*) AS count, min(created_at) AS oldest, sum(reference_count)::bigint AS references
FROM {schema}.facts
WHERE tenant_id = %(tenant)s AND (%(scopes)s::text[] IS NULL OR scope = ANY(%(scopes)s))
GROUP BY source_butler, {standing}, permanence
UNION ALL
SELECT 'rule', source_butler, {standing}, NULL, maturity, NULL, count(*), min(created_at), sum(reference_count)::bigint
FROM {schema}.rules
WHERE tenant_id = %(tenant)s AND (%(scopes)s::text[] IS NULL OR scope = ANY(%(scopes)s))
GROUP BY source_butler, {standing}, maturity
UNION ALL
SELECT 'episode', butler, {standing}, NULL, NULL, consolidation_status, count(*), min(created_at),
    sum(reference_count)::bigint
FROM {schema}.episodes
WHERE tenant_id = %(tenant)s AND (%(butlers)s::text[] IS NULL OR butler = ANY(%(butlers)s))
GROUP BY butler, {standing}, consolidation_status
ORDER BY 1, 2, 3, 4, 5, 6;

-- name: confidence
-- Histogram of the effective confidence of live facts, in ten bins.
SELECT least(9, floor(10 * {schema}.worth(pinned, confidence, decay_rate,
        last_confirmed_at, created_at, %(now)s)))::int AS step, count(*) AS count
FROM {schema}.facts
WHERE tenant_id = %(tenant)s AND validity IN ('active', 'fading')
    AND (%(scopes)s::text[] IS NULL OR scope = ANY(%(scopes)s))
GROUP BY step
ORDER BY step;

-- name: backlog
-- The number of episodes that wait for consolidation, and the oldest.
SELECT count(*) AS pending, min(created_at) AS oldest
FROM {schema}.episodes
WHERE tenant_id = %(tenant)s AND validity = 'active' AND consolidation_status = 'pending'
    AND (%(butlers)s::text[] IS NULL OR butler = ANY(%(butlers)s));

-- name: effectiveness
-- Feedback on rules.
SELECT count(*) FILTER (WHERE applied_count > 0) AS applied_rules, coalesce(sum(success_count), 0) AS successes,
    coalesce(sum(harmful_count), 0) AS harmful, avg(effectiveness_score) AS mean_effectiveness
FROM {schema}.rules
WHERE tenant_id = %(tenant)s AND validity IN ('active', 'fading')
    AND (%(scopes)s::text[] IS NULL OR scope = ANY(%(scopes)s));

-- name: log
-- The length of the log.
SELECT last_seq AS events FROM {schema}.tenants WHERE tenant_id = %(tenant)s;
