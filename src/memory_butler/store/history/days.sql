-- name: begin
-- Insert the counting position of a tenant, the first time its log is counted.
INSERT INTO {schema}.counted_upto (tenant_id, seq) VALUES (%(tenant)s, 0) ON CONFLICT DO NOTHING;

-- name: count_on
-- Count the next part of the log. Of two concurrent calls the second continues where the first ended.
WITH place AS MATERIALIZED (
    SELECT seq FROM {schema}.counted_upto WHERE tenant_id = %(tenant)s FOR UPDATE
), piece AS MATERIALIZED (
    SELECT e.seq, {counted}
    FROM place p
    JOIN {schema}.memory_events e ON e.tenant_id = %(tenant)s AND e.seq > p.seq AND e.seq <= p.seq + %(piece)s
    {found}
), added AS (
    INSERT INTO {schema}.daily_counts AS d (tenant_id, day, entity_type, owner, event_type, before, after, events)
    SELECT %(tenant)s, day, entity_type, owner, event_type, before, after, count(*) FROM piece
    GROUP BY day, entity_type, owner, event_type, before, after
    ON CONFLICT (tenant_id, day, entity_type, owner, event_type, before, after)
        DO UPDATE SET events = d.events + excluded.events
), held AS (
    INSERT INTO {schema}.memory_counts AS m (tenant_id, entity_type, owner, validity, memories)
    SELECT %(tenant)s, p.entity_type, p.owner, s.validity, sum(s.change)
    FROM piece p CROSS JOIN LATERAL (VALUES (p.after, 1), (p.before, -1)) AS s (validity, change)
    WHERE p.entity_type IN ('episode', 'fact', 'rule') AND s.validity <> ''
    GROUP BY p.entity_type, p.owner, s.validity
    HAVING sum(s.change) <> 0
    ON CONFLICT (tenant_id, entity_type, owner, validity) DO UPDATE SET memories = m.memories + excluded.memories
), moved AS (
    UPDATE {schema}.counted_upto SET seq = (SELECT max(seq) FROM piece)
    WHERE tenant_id = %(tenant)s AND EXISTS (SELECT FROM piece)
)
SELECT count(*) AS counted FROM piece;

-- part: counted
-- The categories that an event is counted under.
e.occurred_at::date AS day, e.entity_type, e.event_type,
coalesce(CASE WHEN e.entity_type = 'episode'
    THEN coalesce(e.payload #>> '{tombstone,butler}', e.payload #>> '{state,butler}')
    ELSE e.payload #>> '{state,scope}' END, '') AS owner,
coalesce(b.left_as, '') AS before,
coalesce(CASE WHEN NOT e.payload ? 'tombstone' THEN e.payload #>> '{state,validity}' END, '') AS after

-- part: found
-- The state of the memory before an event.
LEFT JOIN LATERAL (
    SELECT CASE WHEN NOT x.payload ? 'tombstone' THEN x.payload #>> '{state,validity}' END AS left_as
    FROM {schema}.memory_events x
    WHERE x.tenant_id = %(tenant)s AND x.entity_id = e.entity_id AND x.seq < e.seq
    ORDER BY x.seq DESC
    LIMIT 1
) b ON true

-- name: hold
-- Lock the counting position until the transaction ends.
SELECT seq FROM {schema}.counted_upto WHERE tenant_id = %(tenant)s FOR UPDATE;

-- name: drop
-- Delete all counts. Send it after `hold`, so that it sees the counts of a concurrent call.
WITH gone AS (
    DELETE FROM {schema}.daily_counts WHERE tenant_id = %(tenant)s
), held AS (
    DELETE FROM {schema}.memory_counts WHERE tenant_id = %(tenant)s
)
UPDATE {schema}.counted_upto SET seq = 0 WHERE tenant_id = %(tenant)s;

-- name: place
-- The counting position and the length of the log.
SELECT t.last_seq, coalesce(c.seq, 0) AS counted
FROM {schema}.tenants t LEFT JOIN {schema}.counted_upto c ON c.tenant_id = t.tenant_id
WHERE t.tenant_id = %(tenant)s;

-- part: tail
-- The first events that are not counted yet, in the categories of the counts.
(
    SELECT {counted}
    FROM {schema}.memory_events e
    {found}
    WHERE e.tenant_id = %(tenant)s
        AND e.seq > coalesce((SELECT seq FROM {schema}.counted_upto WHERE tenant_id = %(tenant)s), 0)
    ORDER BY e.seq
    LIMIT %(piece)s
)

-- name: happened
-- Visible changes by day since a day, and the sum of those before it: the counts, and the events after them.
WITH d AS (
    SELECT day, entity_type, owner, event_type, before, after, events FROM {schema}.daily_counts
    WHERE tenant_id = %(tenant)s
    UNION ALL
    SELECT day, entity_type, owner, event_type, before, after, 1 FROM {tail} tail
)
SELECT CASE WHEN d.day >= %(since)s::date THEN d.day END AS day, d.entity_type, d.event_type, d.before, d.after,
    sum(d.events)::bigint AS events, min(d.day) AS first
FROM d
WHERE {visible}
GROUP BY 1, 2, 3, 4, 5
ORDER BY 1 NULLS FIRST, 2, 3, 4, 5;

-- part: visible
-- True if the caller may see the counted memories. Only admins see counts without a memory.
CASE d.entity_type
WHEN 'fact' THEN %(scopes)s::text[] IS NULL OR d.owner = ANY(%(scopes)s)
WHEN 'rule' THEN %(scopes)s::text[] IS NULL OR d.owner = ANY(%(scopes)s)
WHEN 'episode' THEN %(butlers)s::text[] IS NULL OR d.owner = ANY(%(butlers)s)
ELSE %(governs)s::boolean END

-- name: states_now
-- The current state of some memories; deleted ones are missing.
SELECT id, validity FROM {schema}.facts WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s)
UNION ALL SELECT id, validity FROM {schema}.rules WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s)
UNION ALL SELECT id, validity FROM {schema}.episodes WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s);
