-- name: versions
-- Versions of the database and its extensions, and the revision of the schema.
SELECT current_setting('server_version') AS postgresql,
    (SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'vector') AS pgvector,
    (SELECT max(version_num) FROM {schema}.alembic_version) AS revision;

-- name: coverage
-- The number of indexed memories of a tenant by embedding version; NULL counts those not indexed yet.
WITH indexed AS MATERIALIZED (
    SELECT embedding_version AS version, sum(memories)::bigint AS memories FROM {schema}.embedding_counts
    WHERE tenant_id = %(tenant)s AND memories > 0
    GROUP BY embedding_version
), stored AS MATERIALIZED (
    SELECT (SELECT count(*) FROM {schema}.facts WHERE tenant_id = %(tenant)s)
        + (SELECT count(*) FROM {schema}.rules WHERE tenant_id = %(tenant)s)
        + (SELECT count(*) FROM {schema}.episodes WHERE tenant_id = %(tenant)s) AS memories
)
SELECT v.id AS version, v.name, v.passage_policy, i.memories
FROM indexed i JOIN {schema}.embedding_versions v ON v.id = i.version
UNION ALL
SELECT NULL, NULL, NULL, s.memories - coalesce((SELECT sum(memories) FROM indexed), 0)::bigint FROM stored s
WHERE s.memories > coalesce((SELECT sum(memories) FROM indexed), 0)
ORDER BY 4 DESC, 1;

-- name: sizes
-- The size of each table with its indexes and TOAST data, and the estimated number of rows, over all tenants.
SELECT c.relname AS name, nullif(coalesce(p.rows, c.reltuples), -1)::bigint AS rows,
    coalesce(p.bytes, pg_total_relation_size(c.oid))::bigint AS bytes,
    coalesce(p.index_bytes, pg_indexes_size(c.oid))::bigint AS index_bytes
FROM pg_catalog.pg_class c
CROSS JOIN LATERAL (
    SELECT sum(greatest(l.reltuples, 0)) AS rows, sum(pg_total_relation_size(l.oid)) AS bytes,
        sum(pg_indexes_size(l.oid)) AS index_bytes
    FROM pg_partition_tree(c.oid) t JOIN pg_catalog.pg_class l ON l.oid = t.relid
    WHERE t.isleaf AND c.relkind = 'p'
) p
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND c.relnamespace = (SELECT relnamespace FROM pg_catalog.pg_class WHERE oid = to_regclass('{schema}.tenants'))
ORDER BY 3 DESC, 1;

-- name: whole_size
-- The size of the whole database, including other schemas.
SELECT pg_database_size(current_database()) AS bytes;
