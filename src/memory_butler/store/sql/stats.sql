-- name: counts
-- Memories by type and state, and what their tier follows from.
SELECT 'fact' AS type, validity, permanence, NULL AS maturity, NULL AS consolidation, count(*) AS count,
    min(created_at) AS oldest, sum(reference_count) AS references
FROM {schema}.facts
WHERE tenant_id = %(tenant)s AND (%(scopes)s::text[] IS NULL OR scope = ANY(%(scopes)s))
GROUP BY validity, permanence
UNION ALL
SELECT 'rule', validity, NULL, maturity, NULL, count(*), min(created_at), sum(reference_count)
FROM {schema}.rules
WHERE tenant_id = %(tenant)s AND (%(scopes)s::text[] IS NULL OR scope = ANY(%(scopes)s))
GROUP BY validity, maturity
UNION ALL
SELECT 'episode', validity, NULL, NULL, consolidation_status, count(*), min(created_at), sum(reference_count)
FROM {schema}.episodes
WHERE tenant_id = %(tenant)s AND (%(butlers)s::text[] IS NULL OR butler = ANY(%(butlers)s))
GROUP BY validity, consolidation_status
ORDER BY 1, 2, 3, 4, 5;

-- name: confidence
-- Effective confidence of live facts in ten steps.
SELECT least(9, floor(10 * {schema}.worth(pinned, confidence, decay_rate,
        last_confirmed_at, created_at, %(now)s)))::int AS step, count(*) AS count
FROM {schema}.facts
WHERE tenant_id = %(tenant)s AND validity IN ('active', 'fading')
    AND (%(scopes)s::text[] IS NULL OR scope = ANY(%(scopes)s))
GROUP BY step
ORDER BY step;

-- name: backlog
-- Episodes that wait for consolidation, and for how long.
SELECT count(*) AS pending, min(created_at) AS oldest
FROM {schema}.episodes
WHERE tenant_id = %(tenant)s AND validity = 'active' AND consolidation_status = 'pending'
    AND (%(butlers)s::text[] IS NULL OR butler = ANY(%(butlers)s));

-- name: effectiveness
-- How rules did when they were applied.
SELECT count(*) FILTER (WHERE applied_count > 0) AS applied_rules, coalesce(sum(success_count), 0) AS successes,
    coalesce(sum(harmful_count), 0) AS harmful, avg(effectiveness_score) AS mean_effectiveness
FROM {schema}.rules
WHERE tenant_id = %(tenant)s AND validity IN ('active', 'fading')
    AND (%(scopes)s::text[] IS NULL OR scope = ANY(%(scopes)s));

-- name: log
-- How long the log is.
SELECT last_seq AS events FROM {schema}.tenants WHERE tenant_id = %(tenant)s;

-- name: last_runs
-- The latest run of each job.
SELECT DISTINCT ON (job) job, started_at, finished_at, outcome
FROM {schema}.job_runs
WHERE tenant_id = %(tenant)s
ORDER BY job, started_at DESC;
