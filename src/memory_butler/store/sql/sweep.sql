-- name: butlers
-- Whose memories there are to look after.
SELECT butler FROM {schema}.butlers WHERE tenant_id = %(tenant)s ORDER BY butler;

-- part: foreseen
-- What a rehearsal has found so far and not done: the permanence, the maturity or the end of a memory, and its decay.
unnest(%(foreseen_ids)s::uuid[], %(foreseen_grades)s::text[], %(foreseen_rates)s::float8[])
    AS t (id, grade, decay_rate)

-- part: looked_at
-- How far a look got; on every row, and there is always one.
(SELECT count(*) AS scanned, (SELECT id FROM scanned ORDER BY id DESC LIMIT 1) AS last FROM scanned) looked

-- name: used_facts
-- The next facts of a shard by id, and what use was made of those that were referred to often enough to move up.
-- References count since the last promotion, also if that was undone.
WITH scanned AS MATERIALIZED (
    SELECT f.id, f.ref, f.permanence, f.reference_count, row_number() OVER (ORDER BY f.id) AS place
    FROM {schema}.facts f
    WHERE f.tenant_id = %(tenant)s AND f.source_butler = %(butler)s AND f.validity IN ('active', 'fading')
        AND f.id > %(after)s
    ORDER BY f.id
    LIMIT %(limit)s
), used AS (
    SELECT s.id, s.ref, s.permanence, s.place, u.*
    FROM scanned s
    CROSS JOIN LATERAL (
        SELECT count(*) AS times, min(m.referenced_at) AS first_at, max(m.referenced_at) AS last_at,
            min(m.seq) AS first_seq, max(m.seq) AS last_seq
        FROM {schema}.memory_references m
        WHERE m.tenant_id = %(tenant)s AND m.memory_id = s.id AND m.seq > coalesce((
            SELECT max(e.seq) FROM {schema}.memory_events e
            WHERE e.tenant_id = %(tenant)s AND e.entity_id = s.id AND e.event_type = 'fact.promoted'), 0)
    ) u
    WHERE s.permanence = ANY(%(permanences)s) AND s.reference_count >= %(references)s
)
SELECT looked.scanned, looked.last, used.*
FROM {looked_at} LEFT JOIN used ON true
ORDER BY used.place;

-- name: promote_facts
-- Give facts their next permanence; one that thereby is worth enough again is active again.
UPDATE {schema}.facts f
SET permanence = p.permanence, decay_rate = p.decay_rate,
    validity = CASE WHEN {schema}.worth(f.pinned, f.confidence, p.decay_rate, f.last_confirmed_at, f.created_at,
        %(now)s) >= %(fading_below)s THEN 'active' ELSE f.validity END
FROM unnest(%(ids)s::uuid[], %(permanences)s::text[], %(decay_rates)s::float8[]) AS p (id, permanence, decay_rate)
WHERE f.tenant_id = %(tenant)s AND f.id = p.id;

-- name: judged_rules
-- The next rules of a shard by id, with what speaks for and against each.
WITH scanned AS MATERIALIZED (
    SELECT r.id, r.ref, r.maturity, r.created_at, r.judged_from
    FROM {schema}.rules r
    WHERE r.tenant_id = %(tenant)s AND r.source_butler = %(butler)s AND r.validity IN ('active', 'fading')
        AND r.id > %(after)s
    ORDER BY r.id
    LIMIT %(limit)s
)
SELECT looked.scanned, looked.last, s.id, s.ref, s.maturity, s.created_at, e.successes, e.harmful
FROM {looked_at}
LEFT JOIN (scanned s CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE a.outcome = 'helpful') AS successes,
        count(*) FILTER (WHERE a.outcome = 'harmful') AS harmful
    FROM {schema}.rule_applications a
    WHERE a.tenant_id = %(tenant)s AND a.rule_id = s.id AND (s.judged_from IS NULL OR a.created_at > s.judged_from)
        AND NOT EXISTS (SELECT FROM {schema}.rule_applications w
            WHERE w.tenant_id = %(tenant)s AND w.rule_id = a.rule_id AND w.withdraws = a.id)
) e) ON true
ORDER BY s.id;

-- name: mature_rules
-- Give rules the maturity that their evidence supports.
UPDATE {schema}.rules r
SET maturity = m.maturity, last_evaluated_at = greatest(%(now)s, r.last_evaluated_at)
FROM unnest(%(ids)s::uuid[], %(maturities)s::text[]) AS m (id, maturity)
WHERE r.tenant_id = %(tenant)s AND r.id = m.id;

-- name: decayed
-- The next facts and rules of a shard by id, and those of them whose worth is in a range that does not fit their state.
WITH scanned AS MATERIALIZED (
    SELECT m.*, row_number() OVER (ORDER BY m.id) AS place
    FROM (
        (SELECT 'fact' AS type, f.id, f.ref, f.validity, f.pinned AS exempt, f.confidence, f.decay_rate,
            f.last_confirmed_at, f.created_at
        FROM {schema}.facts f
        WHERE f.tenant_id = %(tenant)s AND f.source_butler = %(butler)s AND f.validity IN ('active', 'fading')
            AND f.id > %(after)s
        ORDER BY f.id
        LIMIT %(limit)s)
        UNION ALL
        (SELECT 'rule', r.id, r.ref, r.validity, r.pinned OR r.maturity = 'anti_pattern', r.confidence, r.decay_rate,
            r.last_confirmed_at, r.created_at
        FROM {schema}.rules r
        WHERE r.tenant_id = %(tenant)s AND r.source_butler = %(butler)s AND r.validity IN ('active', 'fading')
            AND r.id > %(after)s
        ORDER BY r.id
        LIMIT %(limit)s)
    ) m
    ORDER BY m.id
    LIMIT %(limit)s
), due AS (
    SELECT w.type, w.id, w.ref, w.place
    FROM (
        SELECT s.type, s.id, s.ref, s.place, {schema}.worth(s.exempt, s.confidence,
            coalesce(t.decay_rate, s.decay_rate), s.last_confirmed_at, s.created_at, %(now)s) AS worth
        FROM scanned s LEFT JOIN {foreseen} ON t.id = s.id
        WHERE NOT s.exempt AND s.validity = ANY(%(states)s)
    ) w
    WHERE w.worth >= %(at_least)s AND w.worth < %(below)s
)
SELECT looked.scanned, looked.last, due.*
FROM {looked_at} LEFT JOIN due ON true
ORDER BY due.place;

-- name: set_validity
-- Move facts and rules to another state of validity; the database refuses a move that is not allowed.
WITH moved AS (
    UPDATE {schema}.rules SET validity = %(validity)s WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s)
)
UPDATE {schema}.facts SET validity = %(validity)s WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s);

-- part: tier
-- What a shard keeps in one tier: whether it is protected, and when it was last of use. To be said to hold still is use.
SELECT 'fact' AS type, f.id, f.ref, f.pinned OR coalesce(t.grade, f.permanence) = ANY(%(protected_permanences)s) AS kept,
    greatest(coalesce(f.last_referenced_at, f.created_at), f.last_confirmed_at) AS used_at
FROM {schema}.facts f LEFT JOIN {foreseen} ON t.id = f.id
WHERE f.tenant_id = %(tenant)s AND f.source_butler = %(butler)s AND f.validity IN ('active', 'fading')
    AND coalesce(t.grade, f.permanence) = ANY(%(permanences)s)
UNION ALL
SELECT 'rule', r.id, r.ref, r.pinned OR coalesce(t.grade, r.maturity) = ANY(%(protected_maturities)s),
    greatest(coalesce(r.last_referenced_at, r.created_at), r.last_confirmed_at)
FROM {schema}.rules r LEFT JOIN {foreseen} ON t.id = r.id
WHERE r.tenant_id = %(tenant)s AND r.source_butler = %(butler)s AND r.validity IN ('active', 'fading')
    AND coalesce(t.grade, r.maturity) = ANY(%(maturities)s)

-- name: measure_tier
-- How much a tier holds, and how much of it has been of no use for too long.
SELECT count(*) AS held, count(*) FILTER (WHERE NOT m.kept AND m.used_at <= %(stale_since)s) AS stale
FROM ({tier}) m;

-- name: least_used
-- What a tier can do without, the least recently used first.
SELECT m.type, m.id, m.ref, m.used_at, coalesce(m.used_at <= %(stale_since)s, false) AS stale
FROM ({tier}) m
WHERE NOT m.kept AND (m.used_at, m.id) > (%(after_at)s, %(after)s)
ORDER BY m.used_at, m.id
LIMIT %(limit)s;

-- name: still_unused
-- Those of some memories that are still in their tier, unprotected, and have not been used since they were chosen.
SELECT m.id FROM ({tier}) m WHERE m.id = ANY(%(ids)s) AND NOT m.kept AND m.used_at <= %(until)s;

-- name: expired_episodes
-- The next episodes of a shard whose time is over. What is part of an undecided proposal is kept until it is decided.
SELECT e.id, e.ref, e.expires_at, e.pinned, e.validity = 'active' AS active, e.consolidated, e.reference_count
FROM {schema}.episodes e
WHERE e.tenant_id = %(tenant)s AND e.butler = %(butler)s AND e.expires_at <= %(now)s
    AND (e.expires_at, e.id) > (%(after_at)s, %(after)s) AND NOT {consolidation.held}
ORDER BY e.expires_at, e.id
LIMIT %(limit)s;

-- name: count_episodes
-- How many episodes a shard keeps.
SELECT count(*) AS held FROM {schema}.episodes
WHERE tenant_id = %(tenant)s AND butler = %(butler)s AND id <> ALL(%(gone)s);

-- name: oldest_consolidated
-- The oldest episodes of a shard that have been consolidated and are not pinned.
SELECT id, ref, created_at AS used_at
FROM {schema}.episodes
WHERE tenant_id = %(tenant)s AND butler = %(butler)s AND consolidated AND NOT pinned AND id <> ALL(%(gone)s)
    AND (created_at, id) > (%(after_at)s, %(after)s)
ORDER BY created_at, id
LIMIT %(limit)s;

-- name: still_consolidated
-- Those of some episodes that may still go.
SELECT id FROM {schema}.episodes
WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s) AND consolidated AND NOT pinned;

-- name: bury
-- Leave a trace, without a word of what they said, of episodes that are about to go.
INSERT INTO {schema}.episode_tombstones AS t (
    tenant_id, episode_id, ref, butler, observed_at, created_at, deleted_at, reason
)
SELECT tenant_id, id, ref, butler, observed_at, created_at, %(now)s, %(reason)s
FROM {schema}.episodes WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s)
RETURNING t.episode_id, to_jsonb(t) AS tombstone;

-- name: delete_episodes
-- Episodes, their words and the list of their references.
WITH words AS (
    DELETE FROM {schema}.texts WHERE tenant_id = %(tenant)s AND memory_id = ANY(%(ids)s)
), uses AS (
    DELETE FROM {schema}.memory_references WHERE tenant_id = %(tenant)s AND memory_id = ANY(%(ids)s)
)
DELETE FROM {schema}.episodes WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s);

-- name: old_keys
-- The next idempotency keys of a butler that are past their time. Those of callers that have stored nothing fall to the
-- first butler of the tenant.
SELECT k.butler, k.key, k.expires_at FROM {schema}.idempotency_keys k
WHERE k.tenant_id = %(tenant)s AND k.expires_at <= %(now)s
    AND (k.expires_at, k.butler, k.key) > (%(after_at)s, %(after_butler)s, %(after_key)s)
    AND (k.butler = %(butler)s OR (
        %(butler)s = (SELECT min(b.butler) FROM {schema}.butlers b WHERE b.tenant_id = %(tenant)s)
        AND NOT EXISTS (SELECT FROM {schema}.butlers b WHERE b.tenant_id = %(tenant)s AND b.butler = k.butler)))
ORDER BY k.expires_at, k.butler, k.key
LIMIT %(limit)s;

-- name: drop_keys
-- Forget what was answered to these keys, unless one has been used again.
DELETE FROM {schema}.idempotency_keys k
USING unnest(%(butlers)s::text[], %(keys)s::text[]) AS o (butler, key)
WHERE k.tenant_id = %(tenant)s AND k.butler = o.butler AND k.key = o.key AND k.expires_at <= %(now)s
RETURNING k.key;
