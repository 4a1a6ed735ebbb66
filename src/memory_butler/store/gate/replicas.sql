-- name: probe
-- The role, cluster, database and position of a server: how far a primary has written, or a replica has replayed.
SELECT
    pg_is_in_recovery() AS in_recovery,
    (SELECT system_identifier FROM pg_control_system()) AS cluster,
    current_database() AS database,
    extract(epoch FROM pg_postmaster_start_time())::float8 AS started,
    pg_backend_pid() AS backend,
    coalesce(
        CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END
            - '0/0'::pg_lsn,
        0
    )::bigint AS position;

-- name: replayed
-- How far a replica has replayed the log.
SELECT coalesce(pg_last_wal_replay_lsn() - '0/0'::pg_lsn, 0)::bigint AS position;

-- name: written
-- The position after everything that was written so far, also without waiting for the disk.
SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint AS position;
