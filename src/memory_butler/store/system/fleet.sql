-- part: each
-- Tenants one after another. Row-level security shows the rows of the tenant that is bound at the moment, so whatever
-- reads them is a subquery with OFFSET 0 that names `bound.tenant`: it runs once for each tenant, after it is bound.
unnest(%(tenants)s::text[]) AS t (name)
CROSS JOIN LATERAL (SELECT set_config('memory_butler.tenant', t.name, true) AS tenant OFFSET 0) bound

-- part: latest
-- The latest run of a job j of a butler k.
LEFT JOIN LATERAL (
    SELECT x.started_at, x.finished_at, x.outcome, x.report FROM {schema}.job_runs x
    WHERE x.tenant_id = bound.tenant AND x.butler = k.butler AND x.job = j.job
    ORDER BY x.started_at DESC, x.id DESC
    LIMIT 1
) r ON true

-- name: with_due_jobs
-- Those of some tenants that may have a job due: one whose latest run did not succeed or is too long ago, a backlog to
-- distil early, memories to embed again, many uncounted events. The policy decides; this only leaves out the rest.
SELECT bound.tenant
FROM {each}
CROSS JOIN LATERAL (
    SELECT EXISTS (
        SELECT FROM {schema}.butlers k
        CROSS JOIN unnest(%(jobs)s::text[], %(every_seconds)s::float8[]) AS j (job, seconds)
        {latest}
        WHERE k.tenant_id = bound.tenant
            AND (r.outcome = 'succeeded' AND r.started_at + make_interval(secs => j.seconds) > %(now)s::timestamptz
                AND r.started_at - make_interval(secs => j.seconds) <= %(now)s::timestamptz) IS NOT TRUE
    ) OR EXISTS (
        SELECT FROM (
            SELECT count(*) AS waiting, max(e.importance) AS importance, min(e.expires_at) AS expires_at,
                min(e.created_at) AS oldest
            FROM {schema}.episodes e
            WHERE e.tenant_id = bound.tenant AND e.validity = 'active' AND e.consolidation_status = 'pending'
            GROUP BY e.butler
        ) b
        WHERE b.waiting >= %(early_from)s OR b.importance >= %(early_importance)s OR b.expires_at <= %(expires_by)s
            OR b.oldest <= %(waiting_since)s
    ) OR EXISTS (
        SELECT FROM {schema}.tenants n LEFT JOIN {schema}.counted_upto c ON c.tenant_id = n.tenant_id
        WHERE n.tenant_id = bound.tenant AND n.last_seq - coalesce(c.seq, 0) >= %(uncounted)s
    ) OR EXISTS (
        SELECT FROM {schema}.embedding_counts v
        WHERE v.tenant_id = bound.tenant AND v.embedding_version <> %(version)s AND v.memories > 0
    ) AS is_due
    OFFSET 0
) found
WHERE found.is_due;

-- name: jobs
-- The history of each job of each butler of some tenants.
SELECT bound.tenant, found.*
FROM {each}
CROSS JOIN LATERAL (
    SELECT k.butler, j.job, k.created_at AS since, r.started_at, r.finished_at, r.outcome,
        CASE WHEN r.outcome = 'failed' THEN r.report -> 'cut_short' = 'true' END AS cut_short,
        CASE WHEN r.outcome = 'succeeded' THEN r.started_at ELSE (
            SELECT max(s.started_at) FROM {schema}.job_runs s
            WHERE s.tenant_id = bound.tenant AND s.butler = k.butler AND s.job = j.job AND s.outcome = 'succeeded'
        ) END AS succeeded_at,
        CASE WHEN r.started_at IS NULL OR r.outcome = 'succeeded' THEN 0 ELSE (
            SELECT count(*) FROM {schema}.job_runs f
            WHERE f.tenant_id = bound.tenant AND f.butler = k.butler AND f.job = j.job AND f.outcome = 'failed'
                AND f.started_at > coalesce((
                    SELECT max(s.started_at) FROM {schema}.job_runs s
                    WHERE s.tenant_id = bound.tenant AND s.butler = k.butler AND s.job = j.job
                        AND s.outcome = 'succeeded'
                ), '-infinity')
        ) END AS failures
    FROM {schema}.butlers k CROSS JOIN unnest(%(jobs)s::text[]) AS j (job)
    {latest}
    WHERE k.tenant_id = bound.tenant
    OFFSET 0
) found;

-- name: backlogs
-- The backlog of each butler of some tenants: its waiting episodes, and since when the oldest waits.
SELECT found.*
FROM {each}
CROSS JOIN LATERAL (
    SELECT count(*) AS episodes, min(e.created_at) AS oldest
    FROM {schema}.episodes e
    WHERE e.tenant_id = bound.tenant AND e.validity = 'active' AND e.consolidation_status = 'pending'
    GROUP BY e.butler
    OFFSET 0
) found;

-- name: memories
-- Memories of some tenants by type and state, as far as they are counted.
SELECT found.entity_type, found.validity, sum(found.memories)::bigint AS memories
FROM {each}
CROSS JOIN LATERAL (
    SELECT m.entity_type, m.validity, m.memories FROM {schema}.memory_counts m
    WHERE m.tenant_id = bound.tenant
    OFFSET 0
) found
GROUP BY 1, 2;

-- name: stuck
-- What waits for a person in some tenants: episodes that consolidation gave up, proposals, quarantined memories.
SELECT coalesce(sum(found.dead_letters), 0)::bigint AS dead_letters,
    coalesce(sum(found.proposals), 0)::bigint AS proposals,
    coalesce(sum(found.quarantined), 0)::bigint AS quarantined
FROM {each}
CROSS JOIN LATERAL (
    SELECT (SELECT count(*) FROM {schema}.episodes e WHERE e.tenant_id = bound.tenant AND e.validity = 'active'
            AND e.consolidation_status IN ('failed', 'dead_letter')) AS dead_letters,
        (SELECT count(*) FROM {schema}.consolidation_runs r WHERE r.tenant_id = bound.tenant
            AND r.state = 'waiting') AS proposals,
        (SELECT count(*) FROM {schema}.episodes e WHERE e.tenant_id = bound.tenant
                AND e.quarantine_reason IS NOT NULL)
            + (SELECT count(*) FROM {schema}.facts f WHERE f.tenant_id = bound.tenant
                AND f.quarantine_reason IS NOT NULL)
            + (SELECT count(*) FROM {schema}.rules r WHERE r.tenant_id = bound.tenant
                AND r.quarantine_reason IS NOT NULL) AS quarantined
    OFFSET 0
) found;

-- name: queue
-- The jobs in the queue by kind and status, and since when the oldest waits.
SELECT j.task_name AS job, j.status::text AS status, count(*) AS jobs, min(e.at) AS oldest
FROM {schema}.procrastinate_jobs j
LEFT JOIN {schema}.procrastinate_events e ON e.job_id = j.id AND e.type = 'deferred' AND j.status = 'todo'
WHERE j.queue_name = %(queue)s AND j.status IN ('todo', 'doing')
GROUP BY 1, 2;

-- name: workers
-- The number of workers that have sent a heartbeat lately.
SELECT count(*) AS workers FROM {schema}.procrastinate_workers
WHERE last_heartbeat > now() - make_interval(secs => %(silence_seconds)s);

-- name: server
-- The connections of the database server, its limit, the size of this database, and the server's time.
SELECT (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend') AS connections,
    current_setting('max_connections')::int AS max_connections,
    pg_database_size(current_database()) AS bytes;

-- name: tables
-- Each table with all its partitions: size with indexes, size of the indexes, live and dead rows as last counted.
SELECT t.name, sum(pg_total_relation_size(t.oid))::bigint AS bytes, sum(pg_indexes_size(t.oid))::bigint AS index_bytes,
    coalesce(sum(s.n_live_tup), 0)::bigint AS live_rows, coalesce(sum(s.n_dead_tup), 0)::bigint AS dead_rows
FROM (
    SELECT c.oid, coalesce(root.relname, c.relname) AS name
    FROM pg_catalog.pg_class c
    LEFT JOIN pg_catalog.pg_class root ON c.relispartition AND root.oid = pg_partition_root(c.oid)
    WHERE c.relkind = 'r'
        AND c.relnamespace = (SELECT relnamespace FROM pg_catalog.pg_class WHERE oid = to_regclass('{schema}.tenants'))
) t
LEFT JOIN pg_catalog.pg_stat_all_tables s ON s.relid = t.oid
GROUP BY t.name
ORDER BY t.name;

-- name: vector_indexes
-- The vector indexes in use: size, rows as last counted, and the note from when they were built.
SELECT pg_relation_size(c.oid) AS bytes, greatest(c.reltuples, 0)::bigint AS rows,
    obj_description(c.oid, 'pg_class') AS note
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = to_regclass('{schema}.passages') AND i.indisvalid AND c.relname ~ '^passages_near_';

-- name: claim
-- Claim the next sample, if the last claim is long enough ago. One that is in the future was made by a wrong clock.
UPDATE {schema}.fleet_sample SET claimed_at = %(now)s
WHERE claimed_at <= %(due_since)s OR claimed_at > %(now)s
RETURNING is_only;

-- name: keep
-- Keep a sample.
UPDATE {schema}.fleet_sample SET taken_at = %(now)s, figures = %(figures)s;

-- name: kept
-- The newest sample.
SELECT taken_at, figures FROM {schema}.fleet_sample WHERE figures IS NOT NULL;
