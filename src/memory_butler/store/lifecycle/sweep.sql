-- name: butlers
-- The butlers of a tenant.
SELECT butler FROM {schema}.butlers WHERE tenant_id = %(tenant)s ORDER BY butler;

-- name: last_event_before
-- The time of the last event before a time; null if there is none.
SELECT max(e.occurred_at) AS last FROM {schema}.memory_events e
WHERE e.tenant_id = %(tenant)s AND e.occurred_at < %(before)s;

-- part: planned
-- Changes that a dry run plans: the permanence class, the maturity or the removal of a memory, and its decay rate.
unnest(%(planned_ids)s::uuid[], %(planned_grades)s::text[], %(planned_rates)s::float8[])
    AS t (id, grade, decay_rate)

-- part: extent
-- The number of scanned rows and the last of them; on every row of the result, which has at least one.
(SELECT count(*) AS scanned, (SELECT id FROM scanned ORDER BY id DESC LIMIT 1) AS last FROM scanned) extent

-- name: used_facts
-- The next facts of a shard by id, with the references of those that were referenced often enough for a promotion.
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
SELECT extent.scanned, extent.last, used.*
FROM {extent} LEFT JOIN used ON true
ORDER BY used.place;

-- name: promote_facts
-- Promote facts; a fading one whose effective confidence reaches the threshold at its new rate becomes active.
UPDATE {schema}.facts f
SET permanence = p.permanence, decay_rate = p.decay_rate,
    validity = CASE WHEN {schema}.worth(f.pinned, f.confidence, p.decay_rate, f.last_confirmed_at, f.created_at,
        %(now)s) >= %(fading_below)s THEN 'active' ELSE f.validity END
FROM unnest(%(ids)s::uuid[], %(permanences)s::text[], %(decay_rates)s::float8[]) AS p (id, permanence, decay_rate)
WHERE f.tenant_id = %(tenant)s AND f.id = p.id;

-- name: rules_with_evidence
-- The next rules of a shard by id, with the numbers of their helpful and harmful applications.
WITH scanned AS MATERIALIZED (
    SELECT r.id, r.ref, r.maturity, r.created_at, r.judged_from
    FROM {schema}.rules r
    WHERE r.tenant_id = %(tenant)s AND r.source_butler = %(butler)s AND r.validity IN ('active', 'fading')
        AND r.id > %(after)s
    ORDER BY r.id
    LIMIT %(limit)s
)
SELECT extent.scanned, extent.last, s.id, s.ref, s.maturity, s.created_at, e.successes, e.harmful
FROM {extent}
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

-- part: live
-- The next live facts and rules of a shard by id, each with its decay rate by the settings.
(
    SELECT m.*, row_number() OVER (ORDER BY m.id) AS place, coalesce(s.rate, %(rule_rate)s) AS set_rate
    FROM (
        (SELECT 'fact' AS type, f.id, f.ref, f.permanence AS grade, f.validity, f.pinned AS exempt, f.confidence,
            f.decay_rate, f.last_confirmed_at, f.created_at
        FROM {schema}.facts f
        WHERE f.tenant_id = %(tenant)s AND f.source_butler = %(butler)s AND f.validity IN ('active', 'fading')
            AND f.id > %(after)s
        ORDER BY f.id
        LIMIT %(limit)s)
        UNION ALL
        (SELECT 'rule', r.id, r.ref, r.maturity, r.validity, r.pinned OR r.maturity = 'anti_pattern', r.confidence,
            r.decay_rate, r.last_confirmed_at, r.created_at
        FROM {schema}.rules r
        WHERE r.tenant_id = %(tenant)s AND r.source_butler = %(butler)s AND r.validity IN ('active', 'fading')
            AND r.id > %(after)s
        ORDER BY r.id
        LIMIT %(limit)s)
    ) m
    LEFT JOIN unnest(%(permanences)s::text[], %(fact_rates)s::float8[]) AS s (permanence, rate)
        ON m.type = 'fact' AND s.permanence = m.grade
    ORDER BY m.id
    LIMIT %(limit)s
)

-- name: by_confidence
-- The next facts and rules of a shard by id, and those in some states whose effective confidence is in a range. They
-- have the rate of the settings by now; a dry run, which has changed no rate, sees them with that rate too.
WITH scanned AS MATERIALIZED {live}, due AS (
    SELECT w.type, w.id, w.ref, w.grade, w.place
    FROM (
        SELECT s.type, s.id, s.ref, s.grade, s.place, {schema}.worth(s.exempt, s.confidence,
            coalesce(t.decay_rate, s.set_rate), s.last_confirmed_at, s.created_at, %(now)s) AS worth
        FROM scanned s LEFT JOIN {planned} ON t.id = s.id
        WHERE NOT s.exempt AND s.validity = ANY(%(states)s)
    ) w
    WHERE w.worth >= %(at_least)s AND w.worth < %(below)s
)
SELECT extent.scanned, extent.last, due.*
FROM {extent} LEFT JOIN due ON true
ORDER BY due.place;

-- name: outdated_rates
-- The next facts and rules of a shard by id, and those of them whose decay rate is not that of the settings. A fact
-- that a dry run promotes is not among them: its promotion sets the rate.
WITH scanned AS MATERIALIZED {live}, due AS (
    SELECT s.type, s.id, s.ref, s.decay_rate, s.set_rate, s.place
    FROM scanned s LEFT JOIN {planned} ON t.id = s.id
    WHERE s.decay_rate <> s.set_rate AND (t.id IS NULL OR s.type = 'rule')
)
SELECT extent.scanned, extent.last, due.*
FROM {extent} LEFT JOIN due ON true
ORDER BY due.place;

-- name: set_decay_rates
-- Write decay rates to facts and rules.
WITH changed AS (
    SELECT * FROM unnest(%(ids)s::uuid[], %(decay_rates)s::float8[]) AS c (id, decay_rate)
), changed_rules AS (
    UPDATE {schema}.rules r SET decay_rate = c.decay_rate FROM changed c WHERE r.tenant_id = %(tenant)s AND r.id = c.id
)
UPDATE {schema}.facts f SET decay_rate = c.decay_rate FROM changed c WHERE f.tenant_id = %(tenant)s AND f.id = c.id;

-- name: set_validity
-- Move facts and rules to another validity; the database refuses a transition that is not allowed.
WITH moved AS (
    UPDATE {schema}.rules SET validity = %(validity)s WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s)
)
UPDATE {schema}.facts SET validity = %(validity)s WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s);

-- part: tier
-- The live memories of one tier of a shard: whether each is protected, and its last use. A confirmation is a use.
SELECT 'fact' AS type, f.id, f.ref,
    f.pinned OR coalesce(t.grade, f.permanence) = ANY(%(protected_permanences)s) AS is_protected,
    greatest(coalesce(f.last_referenced_at, f.created_at), f.last_confirmed_at) AS used_at
FROM {schema}.facts f LEFT JOIN {planned} ON t.id = f.id
WHERE f.tenant_id = %(tenant)s AND f.source_butler = %(butler)s AND f.validity IN ('active', 'fading')
    AND coalesce(t.grade, f.permanence) = ANY(%(permanences)s)
UNION ALL
SELECT 'rule', r.id, r.ref, r.pinned OR coalesce(t.grade, r.maturity) = ANY(%(protected_maturities)s),
    greatest(coalesce(r.last_referenced_at, r.created_at), r.last_confirmed_at)
FROM {schema}.rules r LEFT JOIN {planned} ON t.id = r.id
WHERE r.tenant_id = %(tenant)s AND r.source_butler = %(butler)s AND r.validity IN ('active', 'fading')
    AND coalesce(t.grade, r.maturity) = ANY(%(maturities)s)

-- name: measure_tier
-- The number of memories in a tier, and of the stale ones among them.
SELECT count(*) AS held, count(*) FILTER (WHERE NOT m.is_protected AND m.used_at <= %(stale_since)s) AS stale
FROM ({tier}) m;

-- name: least_used
-- The unprotected memories of a tier, least recently used first.
SELECT m.type, m.id, m.ref, m.used_at, coalesce(m.used_at <= %(stale_since)s, false) AS stale
FROM ({tier}) m
WHERE NOT m.is_protected AND (m.used_at, m.id) > (%(after_at)s, %(after)s)
ORDER BY m.used_at, m.id
LIMIT %(limit)s;

-- name: still_unused
-- Those of some memories that are still in their tier, unprotected, and were not used since they were selected.
SELECT m.id FROM ({tier}) m WHERE m.id = ANY(%(ids)s) AND NOT m.is_protected AND m.used_at <= %(until)s;

-- name: expired_episodes
-- The next episodes of a shard past their TTL. Episodes of an undecided proposal are kept until it is decided.
SELECT e.id, e.ref, e.expires_at, e.pinned, e.validity = 'active' AS active,
    e.consolidation_status = 'pending' AS pending, e.reference_count
FROM {schema}.episodes e
WHERE e.tenant_id = %(tenant)s AND e.butler = %(butler)s AND e.expires_at <= %(now)s
    AND (e.expires_at, e.id) > (%(after_at)s, %(after)s) AND NOT {runs.held}
ORDER BY e.expires_at, e.id
LIMIT %(limit)s;

-- name: count_episodes
-- The number of episodes of a shard.
SELECT count(*) AS held FROM {schema}.episodes
WHERE tenant_id = %(tenant)s AND butler = %(butler)s AND id <> ALL(%(removed)s);

-- name: oldest_consolidated
-- The oldest episodes of a shard that have been consolidated and are not pinned.
SELECT id, ref, created_at AS used_at
FROM {schema}.episodes
WHERE tenant_id = %(tenant)s AND butler = %(butler)s AND consolidated AND NOT pinned AND id <> ALL(%(removed)s)
    AND (created_at, id) > (%(after_at)s, %(after)s)
ORDER BY created_at, id
LIMIT %(limit)s;

-- name: still_consolidated
-- Those of some episodes that may still be deleted.
SELECT id FROM {schema}.episodes
WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s) AND consolidated AND NOT pinned;

-- name: insert_tombstones
-- Insert tombstones, without any text, for episodes that are about to be deleted.
INSERT INTO {schema}.episode_tombstones AS t (
    tenant_id, episode_id, ref, butler, observed_at, created_at, deleted_at, reason
)
SELECT tenant_id, id, ref, butler, observed_at, created_at, %(now)s, %(reason)s
FROM {schema}.episodes WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s)
RETURNING t.episode_id, to_jsonb(t) AS tombstone;

-- name: delete_episodes
-- Delete episodes, their texts and their references.
WITH words AS (
    DELETE FROM {schema}.texts WHERE tenant_id = %(tenant)s AND memory_id = ANY(%(ids)s)
), uses AS (
    DELETE FROM {schema}.memory_references WHERE tenant_id = %(tenant)s AND memory_id = ANY(%(ids)s)
)
DELETE FROM {schema}.episodes WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s);

-- name: old_keys
-- The next idempotency keys of a butler past their lifetime. Keys of callers that have stored no memory belong to the
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
-- Delete idempotency keys with their responses, unless one has been used again.
DELETE FROM {schema}.idempotency_keys k
USING unnest(%(butlers)s::text[], %(keys)s::text[]) AS o (butler, key)
WHERE k.tenant_id = %(tenant)s AND k.butler = o.butler AND k.key = o.key AND k.expires_at <= %(now)s
RETURNING k.key;
