-- part: mutable
-- The columns of a rule that a change may write and an undo restores.
validity, maturity, confidence, decay_rate, effectiveness_score, applied_count, success_count, harmful_count,
harmful_reasons, last_applied_at, last_evaluated_at, judged_from, pinned, tags, metadata, last_confirmed_at,
origin, quarantine_reason

-- part: texts
-- The columns that an event keeps apart, as text that can be removed.
content, content_hash, tags, metadata, harmful_reasons

-- name: find_live_twin
-- A live rule of the same scope with the same content.
SELECT * FROM {schema}.rules
WHERE tenant_id = %(tenant)s AND scope = %(scope)s AND content_hash = ANY(%(content_hashes)s)
    AND validity IN ('active', 'fading')
ORDER BY created_at, id
LIMIT 1;

-- name: set_fields
-- Change fields in place; NULL leaves a field as it is.
UPDATE {schema}.rules
SET tags = coalesce(%(tags)s::text[], tags)
WHERE tenant_id = %(tenant)s AND id = %(id)s;

-- name: insert
-- Store new rules as candidates. The keys of a row are columns.
INSERT INTO {schema}.rules
SELECT n.* FROM jsonb_array_elements(%(rows)s::jsonb) AS g (given)
CROSS JOIN LATERAL jsonb_populate_record(NULL::{schema}.rules, g.given || {memories.of_new}
    || '{"maturity": "candidate", "applied_count": 0, "success_count": 0, "harmful_count": 0,
        "harmful_reasons": []}') n;

-- name: find_occupant
-- Another live rule of the same scope with the same content.
SELECT o.*
FROM {schema}.rules r
JOIN {schema}.rules o ON o.tenant_id = %(tenant)s AND o.content_hash = r.content_hash AND o.scope = r.scope
    AND o.id <> r.id AND o.validity IN ('active', 'fading')
WHERE r.tenant_id = %(tenant)s AND r.id = %(id)s
ORDER BY o.created_at, o.id
LIMIT 1;

-- name: reverse
-- Reset a warning to candidate: only later feedback counts. The reset time is not before any existing feedback, because
-- clocks may differ.
UPDATE {schema}.rules
SET maturity = 'candidate', applied_count = 0, success_count = 0, harmful_count = 0, effectiveness_score = NULL,
    harmful_reasons = '{}', judged_from = greatest(%(now)s, judged_from, (
        SELECT max(a.created_at) FROM {schema}.rule_applications a
        WHERE a.tenant_id = %(tenant)s AND a.rule_id = %(id)s)),
    last_evaluated_at = greatest(%(now)s, last_evaluated_at),
    {memories.renewed}
WHERE tenant_id = %(tenant)s AND id = %(id)s;

-- name: insert_application
-- Record feedback on a rule, or withdraw it.
INSERT INTO {schema}.rule_applications (
    tenant_id, id, rule_id, outcome, reason, butler, session_id, created_at, request_id, withdraws
) VALUES (
    %(tenant)s, %(id)s, %(rule_id)s, %(outcome)s, %(reason)s, %(butler)s, %(session_id)s, %(created_at)s,
    %(request_id)s, %(withdraws)s
);

-- part: standing
-- Feedback on a rule since its last reset that is not withdrawn.
SELECT a.* FROM {schema}.rule_applications a
JOIN {schema}.rules r ON r.tenant_id = %(tenant)s AND r.id = a.rule_id
WHERE a.tenant_id = %(tenant)s AND a.rule_id = %(rule_id)s AND a.outcome <> 'withdrawn'
    AND (r.judged_from IS NULL OR a.created_at > r.judged_from)
    AND NOT EXISTS (SELECT FROM {schema}.rule_applications w
        WHERE w.tenant_id = %(tenant)s AND w.rule_id = a.rule_id AND w.withdraws = a.id)

-- name: counted_evidence
-- The marks that count: the first ones of each agent session and of each caller's day, and the sessions they are from.
-- The event of a mark names its caller. Without a session, each day is one.
WITH applications AS (
    {rules.standing}
), callers AS (
    SELECT (e.payload #>> '{application,id}')::uuid AS id, e.actor FROM {schema}.memory_events e
    WHERE e.tenant_id = %(tenant)s AND e.entity_id = %(rule_id)s AND e.payload ? 'application'
), marks AS (
    SELECT a.id, a.outcome, a.created_at, (a.created_at AT TIME ZONE 'UTC')::date AS day,
        coalesce(c.actor, CASE WHEN a.id = latest.id THEN %(actor)s ELSE a.butler END) AS caller,
        coalesce(a.session_id, (a.created_at AT TIME ZONE 'UTC')::date::text) AS session
    FROM applications a
    CROSS JOIN (SELECT l.id FROM applications l ORDER BY l.created_at DESC, l.id DESC LIMIT 1) latest
    LEFT JOIN callers c ON c.id = a.id
), of_sessions AS (
    SELECT m.*, row_number() OVER (PARTITION BY caller, session, outcome ORDER BY created_at, id) AS place
    FROM marks m
), of_days AS (
    SELECT s.*, row_number() OVER (PARTITION BY caller, day, outcome ORDER BY created_at, id) AS of_day
    FROM of_sessions s WHERE place <= %(per_session)s
), counted AS (
    SELECT * FROM of_days WHERE of_day <= %(per_caller)s
)
SELECT
    count(*) FILTER (WHERE outcome = 'helpful') AS successes,
    count(*) FILTER (WHERE outcome = 'harmful') AS harmful,
    count(DISTINCT (caller, session)) FILTER (WHERE outcome = 'helpful') AS successful_sessions,
    count(DISTINCT (caller, session)) FILTER (WHERE outcome = 'harmful') AS harmful_sessions,
    count(DISTINCT caller) FILTER (WHERE outcome = 'helpful') AS successful_callers,
    count(DISTINCT caller) FILTER (WHERE outcome = 'harmful') AS harmful_callers
FROM counted;

-- name: evidence
-- The evidence of a rule: feedback since its last reset that is not withdrawn. The latest reasons, without duplicates,
-- oldest first.
WITH applications AS (
    {rules.standing}
), reasons AS (
    SELECT reason, min(created_at) AS first FROM applications
    WHERE outcome = 'harmful' AND reason IS NOT NULL
    GROUP BY reason
    ORDER BY first DESC, reason DESC
    LIMIT %(reasons)s
)
SELECT
    count(*) FILTER (WHERE outcome = 'helpful') AS successes,
    count(*) FILTER (WHERE outcome = 'harmful') AS harmful,
    (SELECT coalesce(array_agg(reason ORDER BY first, reason), '{}') FROM reasons) AS stored_reasons
FROM applications;

-- name: apply_evidence
-- Write the result of the evidence to the rule.
UPDATE {schema}.rules
SET applied_count = %(successes)s::int + %(harmful)s::int, success_count = %(successes)s, harmful_count = %(harmful)s,
    effectiveness_score = %(effectiveness)s, harmful_reasons = %(reasons)s, maturity = %(maturity)s,
    last_applied_at = greatest(%(now)s, last_applied_at), last_evaluated_at = greatest(%(now)s, last_evaluated_at),
    last_confirmed_at = CASE WHEN %(renews)s THEN greatest(%(now)s, created_at, last_confirmed_at)
        ELSE last_confirmed_at END,
    validity = CASE WHEN %(renews)s THEN 'active' ELSE validity END
WHERE tenant_id = %(tenant)s AND id = %(rule_id)s;
