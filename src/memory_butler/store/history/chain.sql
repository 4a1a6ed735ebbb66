-- name: start
-- The last event without a chain; 0 if all events of the tenant have one.
SELECT coalesce(max(seq), 0) AS seq FROM {schema}.event_seals WHERE tenant_id = %(tenant)s AND chain = '';

-- name: first_break
-- The first event of a part of the log whose chain does not follow from its predecessor and its content.
SELECT seq, id, CASE WHEN chain IS NULL THEN 'unchained' WHEN before_seq IS DISTINCT FROM seq - 1 THEN 'missing'
    ELSE 'changed' END AS kind, before_seq
FROM (
    SELECT e.seq, e.id, e.chain, coalesce(lag(e.seq) OVER w, %(start)s::bigint) AS before_seq,
        sha256(coalesce(lag(e.chain) OVER w, '') || {schema}.chained_content(e)) AS expected
    FROM {schema}.memory_events e
    WHERE e.tenant_id = %(tenant)s AND e.seq >= greatest(%(after)s::bigint, %(start)s::bigint + 1) AND e.seq <= %(upto)s
    WINDOW w AS (ORDER BY e.seq)
) checked
WHERE seq > %(after)s
    AND (chain IS NULL OR before_seq IS DISTINCT FROM seq - 1 OR chain <> expected)
ORDER BY seq
LIMIT 1;

-- name: ending
-- The last event of the log, the last number that was given to one, and the chain at the end.
SELECT t.last_seq, e.seq, e.id, encode(e.chain, 'hex') AS head FROM {schema}.tenants t
LEFT JOIN LATERAL (
    SELECT x.seq, x.id, x.chain FROM {schema}.memory_events x WHERE x.tenant_id = %(tenant)s ORDER BY x.seq DESC LIMIT 1
) e ON true
WHERE t.tenant_id = %(tenant)s;

-- name: broken_seal
-- The first seal whose event is missing or has another chain.
SELECT s.seq, e.id FROM {schema}.event_seals s
LEFT JOIN {schema}.memory_events e ON e.tenant_id = s.tenant_id AND e.seq = s.seq
WHERE s.tenant_id = %(tenant)s AND s.chain <> '' AND e.chain IS DISTINCT FROM s.chain
ORDER BY s.seq
LIMIT 1;

-- name: count_seals
-- The number of seals.
SELECT count(*) AS seals FROM {schema}.event_seals WHERE tenant_id = %(tenant)s AND chain <> '';

-- name: seal
-- Seal the log at its last event, unless it is sealed there.
INSERT INTO {schema}.event_seals (tenant_id, seq, chain, sealed_at)
SELECT e.tenant_id, e.seq, e.chain, %(now)s FROM {schema}.memory_events e
WHERE e.tenant_id = %(tenant)s AND e.chain IS NOT NULL
ORDER BY e.seq DESC
LIMIT 1
ON CONFLICT DO NOTHING;
