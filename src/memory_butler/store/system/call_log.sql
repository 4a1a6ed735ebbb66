-- name: add
-- Add calls of a tenant that is known.
INSERT INTO {schema}.call_log (
    tenant_id, id, asked_at, kind, butler, client, session_id, prompt, token_budget, tokens, milliseconds, memory_ids,
    refs, degraded
)
SELECT %(tenant)s, c.id, c.asked_at, c.kind, c.butler, c.client, c.session_id, c.prompt, c.token_budget, c.tokens,
    c.milliseconds, c.memory_ids, c.refs, c.degraded
FROM json_to_recordset(%(rows)s::json) AS c (
    id uuid, asked_at timestamptz, kind text, butler text, client text, session_id text, prompt text, token_budget int,
    tokens int, milliseconds real, memory_ids uuid[], refs text[], degraded text[]
)
WHERE EXISTS (SELECT FROM {schema}.tenants t WHERE t.tenant_id = %(tenant)s)
ON CONFLICT DO NOTHING;

-- part: matches
-- The filters of the log.
c.tenant_id = %(tenant)s
    AND (%(viewer)s::text IS NULL OR c.butler = %(viewer)s)
    AND (%(kind)s::text IS NULL OR c.kind = %(kind)s)
    AND (%(butler)s::text IS NULL OR c.butler = %(butler)s)
    AND (%(client)s::text IS NULL OR c.client = %(client)s)
    AND (%(answered)s::boolean IS NULL OR (cardinality(c.refs) > 0) = %(answered)s)
    AND (%(contains)s::text IS NULL OR strpos(lower(c.prompt), lower(%(contains)s)) > 0)
    AND (%(time_from)s::timestamptz IS NULL OR c.asked_at >= %(time_from)s)
    AND (%(time_to)s::timestamptz IS NULL OR c.asked_at < %(time_to)s)

-- part: columns
-- The columns of a call.
c.id, c.asked_at, c.kind, c.butler, c.client, c.session_id, c.prompt, c.token_budget, c.tokens, c.milliseconds,
    c.memory_ids, c.refs, c.degraded

-- name: page
-- The calls before a place, newest first.
SELECT {columns} FROM {schema}.call_log c
WHERE {matches}
    AND (%(before_time)s::timestamptz IS NULL OR (c.asked_at, c.id) < (%(before_time)s, %(before_id)s::uuid))
ORDER BY c.asked_at DESC, c.id DESC
LIMIT %(limit)s;

-- name: one
-- One call.
SELECT {columns} FROM {schema}.call_log c
WHERE c.tenant_id = %(tenant)s AND c.id = %(id)s AND (%(viewer)s::text IS NULL OR c.butler = %(viewer)s);

-- name: days
-- The calls of each day since a time, days in a time zone.
SELECT date_trunc('day', c.asked_at, %(zone)s) AS day,
    count(*) FILTER (WHERE c.kind = 'briefing') AS briefings,
    count(*) FILTER (WHERE c.kind = 'search') AS searches,
    count(*) FILTER (WHERE cardinality(c.refs) > 0) AS answered,
    coalesce(sum(c.tokens), 0) AS tokens,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY c.milliseconds) AS p50_ms,
    percentile_cont(0.95) WITHIN GROUP (ORDER BY c.milliseconds) AS p95_ms
FROM {schema}.call_log c
WHERE {matches}
GROUP BY 1
ORDER BY 1;

-- name: told
-- The words of returned memories that still exist and that the caller may see.
SELECT 'fact' AS type, f.id, f.ref, f.subject_label, f.predicate_label, f.content, f.validity FROM {schema}.facts f
WHERE f.tenant_id = %(tenant)s AND f.id = ANY(%(ids)s)
    AND (%(viewer)s::text IS NULL OR f.scope IN ('global', %(viewer)s))
UNION ALL
SELECT 'rule', r.id, r.ref, NULL, NULL, r.content, r.validity FROM {schema}.rules r
WHERE r.tenant_id = %(tenant)s AND r.id = ANY(%(ids)s)
    AND (%(viewer)s::text IS NULL OR r.scope IN ('global', %(viewer)s))
UNION ALL
SELECT 'episode', e.id, e.ref, NULL, NULL, e.content, e.validity FROM {schema}.episodes e
WHERE e.tenant_id = %(tenant)s AND e.id = ANY(%(ids)s) AND (%(viewer)s::text IS NULL OR e.butler = %(viewer)s);

-- name: clients
-- The clients and butlers in the log.
SELECT c.client, c.butler, count(*) AS calls FROM {schema}.call_log c
WHERE c.tenant_id = %(tenant)s AND (%(viewer)s::text IS NULL OR c.butler = %(viewer)s)
GROUP BY 1, 2
ORDER BY 1, 2;

-- name: trim
-- Delete calls from before a time, and the oldest beyond a number.
WITH oldest AS (
    SELECT c.asked_at, c.id FROM {schema}.call_log c WHERE c.tenant_id = %(tenant)s
    ORDER BY c.asked_at DESC, c.id DESC
    OFFSET %(most)s LIMIT 1
), gone AS (
    DELETE FROM {schema}.call_log c
    WHERE c.tenant_id = %(tenant)s
        AND (c.asked_at < %(before)s OR (c.asked_at, c.id) <= (SELECT o.asked_at, o.id FROM oldest o))
    RETURNING 1
)
SELECT count(*) AS calls FROM gone;

-- name: clear
-- Delete all calls of a tenant.
DELETE FROM {schema}.call_log WHERE tenant_id = %(tenant)s;
