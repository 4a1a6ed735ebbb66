-- name: take_turn
-- Lock the partitions of the store against other moves, until the connection ends.
SELECT pg_try_advisory_lock(hashtextextended(%(key)s, 0)) AS mine;

-- name: end_turn
-- Unlock the partitions for the next move.
SELECT pg_advisory_unlock(hashtextextended(%(key)s, 0));

-- name: wait_briefly
-- Give up on a table that is in use for longer; take as long as needed otherwise.
SELECT set_config('lock_timeout', %(milliseconds)s, false), set_config('statement_timeout', '0', false);

-- name: layouts
-- The layout of each table that can have partitions: plain, moving or partitioned, with its estimated rows and size.
SELECT t.base,
    CASE WHEN c.relkind = 'p' THEN 'partitioned' WHEN m.base IS NOT NULL THEN 'moving' ELSE 'plain' END AS layout,
    coalesce((SELECT sum(greatest(p.reltuples, 0)) FROM pg_partition_tree(c.oid) l JOIN pg_class p ON p.oid = l.relid
        WHERE l.isleaf), greatest(c.reltuples, 0))::bigint AS rows,
    coalesce((SELECT sum(pg_total_relation_size(l.relid)) FROM pg_partition_tree(c.oid) l WHERE l.isleaf),
        pg_total_relation_size(c.oid))::bigint AS bytes,
    m.state, m.buckets, m.at_tenant, m.at_id, m.copied, m.started_at
FROM unnest(ARRAY['memory_events', 'episodes']) WITH ORDINALITY AS t (base, place)
JOIN pg_class c ON c.oid = to_regclass('{schema}.' || t.base)
LEFT JOIN {schema}.partition_moves m ON m.base = t.base
ORDER BY t.place;

-- name: partitions
-- The partitions of a table from the oldest on, each with its months, estimated rows and size.
SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds,
    (SELECT count(*) FROM pg_partition_tree(c.oid) l WHERE l.isleaf)::int AS parts,
    (SELECT sum(greatest(p.reltuples, 0)) FROM pg_partition_tree(c.oid) l JOIN pg_class p ON p.oid = l.relid
        WHERE l.isleaf)::bigint AS rows,
    (SELECT sum(pg_total_relation_size(l.relid)) FROM pg_partition_tree(c.oid) l WHERE l.isleaf)::bigint AS bytes
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = to_regclass('{schema}.' || %(base)s::text)
ORDER BY c.relname LIKE '%%other', c.relname NOT LIKE '%%before', c.relname;

-- name: tenants
-- The tenants from one on, in their order.
SELECT name FROM {schema}.tenant_names() AS name WHERE name >= %(first)s ORDER BY name;

-- name: bind
-- Bind the connection to a tenant.
SELECT set_config('memory_butler.tenant', %(tenant)s, false);

-- name: oldest
-- each: memory_events=memory_events, episodes=episodes
-- The time in the smallest id of a tenant.
SELECT {schema}.id_moment(id) AS oldest FROM {schema}.{table} WHERE tenant_id = %(tenant)s ORDER BY id LIMIT 1;

-- name: begin
-- Begin to move a table into partitions of the months between two times.
SELECT {schema}.begin_move(%(base)s, %(first)s, %(last)s, %(buckets)s, %(now)s);

-- name: copy
-- Copy the next rows of a tenant.
SELECT copied, last FROM {schema}.copy_page(%(base)s, %(tenant)s, %(after)s, %(size)s);

-- name: set_state
-- Note that all rows are copied.
UPDATE {schema}.partition_moves SET state = %(state)s, at_tenant = '', at_id = '00000000-0000-0000-0000-000000000000'
WHERE base = %(base)s;

-- name: verify
-- Compare the next rows of a tenant in both tables.
SELECT seen, wrong, last FROM {schema}.verify_page(%(base)s, %(tenant)s, %(after)s, %(size)s);

-- name: end
-- Let the new table take the place of the plain one.
SELECT {schema}.end_move(%(base)s);

-- name: cancel
-- Give up a move; the plain table has every row.
SELECT {schema}.cancel_move(%(base)s);

-- name: ahead
-- Make the partitions of the coming months that are missing.
SELECT {schema}.partition_ahead(%(now)s, %(months)s, %(buckets)s) AS made;

-- name: analyze
-- each: memory_events=memory_events, episodes=episodes
-- Count a table for the planner: the server does not do it by itself for a table with partitions.
ANALYZE {schema}.{table};
