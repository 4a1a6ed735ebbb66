-- name: window
-- The part of the log before a time whose single reads are not dropped yet, at most so many events of it. `before` is
-- an id that is smaller than those of events from that time on; without such an event there is no such part.
-- `is_beyond`: an earlier version noted a horizon that lies behind the end of the log.
SELECT h.seq AS after, CASE WHEN e.seq IS NOT NULL THEN least(h.seq + %(limit)s, e.seq) END AS upto,
    coalesce(e.seq <= h.seq + %(limit)s, true) AS is_last,
    h.seq > (SELECT last_seq FROM {schema}.tenants WHERE tenant_id = %(tenant)s) AS is_beyond
FROM (SELECT coalesce((SELECT seq FROM {schema}.reference_horizons WHERE tenant_id = %(tenant)s), 0) AS seq) h
LEFT JOIN LATERAL (
    SELECT x.seq FROM {schema}.memory_events x WHERE x.tenant_id = %(tenant)s AND x.id < %(before)s
    ORDER BY x.id DESC LIMIT 1
) e ON true;

-- name: repair
-- Move a horizon behind the end of the log back to what the log says was dropped.
UPDATE {schema}.reference_horizons h SET seq = coalesce((
    SELECT max({dropped_upto}) FROM {schema}.memory_events e
    WHERE e.tenant_id = %(tenant)s AND e.event_type = 'store.references_dropped'
), 0)
FROM {schema}.tenants t
WHERE h.tenant_id = %(tenant)s AND t.tenant_id = h.tenant_id AND h.seq > t.last_seq;

-- part: dropped_upto
-- Up to which event single reads were dropped, as the event of that says. An earlier version dropped all reads of a
-- young log, and noted a horizon behind the event itself.
e.seq - greatest((e.payload ->> 'behind')::bigint, 0)

-- name: drop
-- Drop the single reads of a part of the log; returns their number.
WITH old AS (
    SELECT e.seq, b.id::uuid AS memory_id FROM {schema}.memory_events e
    CROSS JOIN LATERAL jsonb_array_elements_text(e.payload -> 'ids') AS b (id)
    WHERE e.tenant_id = %(tenant)s AND e.seq > %(after)s AND e.seq <= %(upto)s AND e.entity_type = 'reference'
), gone AS (
    DELETE FROM {schema}.memory_references r USING old
    WHERE r.tenant_id = %(tenant)s AND r.memory_id = old.memory_id AND r.seq = old.seq
    RETURNING 1
)
SELECT count(*) AS dropped FROM gone;

-- name: scrub
-- Remove the names of requests and sessions from the events of these reads.
SELECT {schema}.scrub_references(%(after)s, %(upto)s);

-- name: set_horizon
-- Note up to which event the single reads are dropped.
INSERT INTO {schema}.reference_horizons AS h (tenant_id, seq) VALUES (%(tenant)s, %(upto)s)
ON CONFLICT (tenant_id) DO UPDATE SET seq = greatest(h.seq, excluded.seq);

-- name: record
-- The event of dropped reads: how far they lie behind it, so that it also holds in an imported log.
WITH numbered AS (
    UPDATE {schema}.tenants SET last_seq = last_seq + 1 WHERE tenant_id = %(tenant)s RETURNING last_seq
)
INSERT INTO {schema}.memory_events (
    tenant_id, id, seq, event_type, entity_type, occurred_at, actor, payload_version, payload
)
SELECT %(tenant)s, %(event_id)s, last_seq, 'store.references_dropped', 'access', %(now)s, %(actor)s, 1,
    jsonb_build_object('behind', last_seq - %(upto)s, 'references', %(dropped)s::bigint)
FROM numbered;
