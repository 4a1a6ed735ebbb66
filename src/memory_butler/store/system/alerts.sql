-- name: fading
-- Important facts that fade by a time or are fading already, most important first; every row has the total number.
WITH found AS MATERIALIZED (
    SELECT f.id, f.importance,
        {schema}.worth(false, f.confidence, f.decay_rate, f.last_confirmed_at, f.created_at, %(by)s) AS worth
    FROM {schema}.facts f
    WHERE f.tenant_id = %(tenant)s AND f.validity IN ('active', 'fading') AND NOT f.pinned
        AND f.importance >= %(importance)s AND (%(scopes)s::text[] IS NULL OR f.scope = ANY(%(scopes)s))
        AND {schema}.worth(false, f.confidence, f.decay_rate, f.last_confirmed_at, f.created_at, %(by)s) < coalesce((
            SELECT t.below FROM unnest(%(butlers)s::text[], %(thresholds)s::float8[]) AS t (butler, below)
            WHERE t.butler = f.source_butler), %(below)s)
), first AS (
    SELECT * FROM found ORDER BY importance DESC, worth, id LIMIT %(limit)s
)
SELECT f.*, (SELECT count(*) FROM found) AS total
FROM first x JOIN {schema}.facts f ON f.tenant_id = %(tenant)s AND f.id = x.id
ORDER BY x.importance DESC, x.worth, x.id;

-- name: warnings
-- Rules that became warnings since a time, newest first.
SELECT r.*, e.occurred_at AS since, count(*) OVER () AS total
FROM {schema}.rules r
CROSS JOIN LATERAL (
    SELECT x.occurred_at FROM {schema}.memory_events x
    WHERE x.tenant_id = %(tenant)s AND x.entity_id = r.id AND x.seq > coalesce((
        SELECT max(y.seq) FROM {schema}.memory_events y
        WHERE y.tenant_id = %(tenant)s AND y.entity_id = r.id AND y.payload #>> '{state,maturity}' <> 'anti_pattern'
    ), 0)
    ORDER BY x.seq
    LIMIT 1
) e
WHERE r.tenant_id = %(tenant)s AND r.validity IN ('active', 'fading') AND r.maturity = 'anti_pattern'
    AND (%(scopes)s::text[] IS NULL OR r.scope = ANY(%(scopes)s)) AND e.occurred_at >= %(since)s
ORDER BY e.occurred_at DESC, r.id
LIMIT %(limit)s;

-- name: bursts
-- Rules that one agent session marked several times within an hour, since a time; newest first.
WITH marks AS (
    SELECT a.rule_id, a.outcome, a.butler, a.created_at, count(*) OVER (
        PARTITION BY a.rule_id, a.outcome, a.butler, a.session_id ORDER BY a.created_at
        RANGE BETWEEN interval '1 hour' PRECEDING AND CURRENT ROW) AS marks
    FROM {schema}.rule_applications a
    WHERE a.tenant_id = %(tenant)s AND a.created_at >= %(since)s AND a.outcome <> 'withdrawn'
), found AS (
    SELECT DISTINCT ON (m.rule_id) m.rule_id, m.outcome, m.butler, m.marks, m.created_at
    FROM marks m WHERE m.marks >= %(marks)s
    ORDER BY m.rule_id, m.marks DESC, m.created_at DESC, m.outcome
)
SELECT r.*, f.outcome AS burst_outcome, f.butler AS burst_butler, f.marks AS burst_marks, f.created_at AS burst_at,
    count(*) OVER () AS total
FROM found f JOIN {schema}.rules r ON r.tenant_id = %(tenant)s AND r.id = f.rule_id
WHERE r.validity IN ('active', 'fading') AND (%(scopes)s::text[] IS NULL OR r.scope = ANY(%(scopes)s))
ORDER BY f.created_at DESC, r.id
LIMIT %(limit)s;

-- name: dead_letters
-- The number of dead-lettered episodes, and the oldest.
SELECT count(*) AS count, min(created_at) AS oldest
FROM {schema}.episodes
WHERE tenant_id = %(tenant)s AND validity = 'active' AND consolidation_status IN ('failed', 'dead_letter');

-- name: proposals
-- The number of consolidation runs that await a decision, and the oldest.
SELECT count(*) AS count, min(claimed_at) AS oldest
FROM {schema}.consolidation_runs
WHERE tenant_id = %(tenant)s AND state = 'waiting';

-- name: episodes
-- Consolidation states of the episodes of some butlers, or of all.
SELECT count(*) FILTER (WHERE {runs.waits}) AS waiting, count(*) FILTER (WHERE {runs.proposed}) AS deciding,
    count(*) FILTER (WHERE {runs.given_up}) AS given_up,
    min(e.created_at) FILTER (WHERE {runs.waits}) AS oldest
FROM {schema}.episodes e
WHERE e.tenant_id = %(tenant)s AND e.consolidation_status <> 'consolidated'
    AND (%(butlers)s::text[] IS NULL OR e.butler = ANY(%(butlers)s));

-- name: expiring
-- Important or often referenced episodes that expire soon and of which nothing was kept; every row has the total
-- number. Excludes episodes that are kept beyond their TTL.
SELECT e.*, count(*) OVER () AS total
FROM {schema}.episodes e
LEFT JOIN unnest(%(own)s::text[], %(untils)s::timestamptz[], %(importances)s::int[], %(references)s::int[])
    AS t (butler, until, importance, protected_from) ON t.butler = e.butler
WHERE e.tenant_id = %(tenant)s AND e.validity = 'active' AND e.quarantine_reason IS NULL AND NOT e.pinned
    AND (%(butlers)s::text[] IS NULL OR e.butler = ANY(%(butlers)s))
    AND e.expires_at <= coalesce(t.until, %(until)s)
    AND CASE WHEN e.reference_count >= coalesce(t.protected_from, %(protected_from)s)
        THEN e.consolidation_status <> 'pending' ELSE e.importance >= coalesce(t.importance, %(importance)s) END
    AND {runs.unkept} AND NOT {runs.held}
ORDER BY e.importance DESC, e.expires_at, e.id
LIMIT %(limit)s;
