-- name: after
-- The next visible events after a cursor, in log order. Scans a bounded part of the log: every row tells how far, and
-- where the log ends. Without events there is one row.
WITH {ending}, piece AS (
    SELECT greatest(%(after)s::bigint, least(%(after)s::bigint + %(piece)s, last_seq)) AS upto, last_seq, length
    FROM ending
), seen AS (
    SELECT e.* FROM piece p JOIN {schema}.memory_events e
        ON e.tenant_id = %(tenant)s AND e.seq > %(after)s::bigint AND e.seq <= p.upto
    WHERE {visible}
    ORDER BY e.seq
    LIMIT %(limit)s
)
{told};

-- name: newest
-- The same for the newest events of the log.
WITH {ending}, piece AS (
    SELECT last_seq AS upto, last_seq, length FROM ending
), seen AS (
    SELECT e.* FROM piece p JOIN {schema}.memory_events e
        ON e.tenant_id = %(tenant)s AND e.seq > p.upto - %(piece)s AND e.seq <= p.upto
    WHERE {visible}
    ORDER BY e.seq DESC
    LIMIT %(limit)s
)
{told};

-- part: ending
-- The end of the durable log. References are committed without waiting for the disk: a crash could lose the last ones
-- and reuse their numbers. They are returned once they are durable.
ending AS (
    SELECT coalesce((
        SELECT e.seq FROM {schema}.memory_events e
        WHERE e.tenant_id = %(tenant)s AND (e.entity_type <> 'reference' OR e.occurred_at <= %(safe)s)
        ORDER BY e.seq DESC
        LIMIT 1
    ), 0) AS last_seq,
    coalesce((SELECT t.last_seq FROM {schema}.tenants t WHERE t.tenant_id = %(tenant)s), 0) AS length
)

-- part: visible
-- True if the caller may see the memory of an event. Only admins see events without a memory.
CASE e.entity_type
WHEN 'fact' THEN %(scopes)s::text[] IS NULL OR e.payload #>> '{state,scope}' = ANY(%(scopes)s)
WHEN 'rule' THEN %(scopes)s::text[] IS NULL OR e.payload #>> '{state,scope}' = ANY(%(scopes)s)
WHEN 'episode' THEN %(butlers)s::text[] IS NULL
    OR coalesce(e.payload #>> '{tombstone,butler}', e.payload #>> '{state,butler}') = ANY(%(butlers)s)
ELSE %(governs)s::boolean END

-- part: told
-- Events with the data that their description needs.
SELECT p.upto, p.last_seq, p.length, {events.described}
FROM piece p
LEFT JOIN seen e ON true
{events.before}
{undo.around_event}
ORDER BY e.seq
