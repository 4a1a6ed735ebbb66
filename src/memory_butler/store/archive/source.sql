-- name: state
-- The clock of the server whose log is archived, how far it has written the log, and whether it is a replica.
SELECT clock_timestamp() AS now, pg_is_in_recovery() AS in_recovery,
    CASE WHEN NOT pg_is_in_recovery() THEN (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint END AS written;

-- name: slot
-- A replication slot: how far its receiver has the log on disk, and whether the server still has the rest.
SELECT active, active_pid, (restart_lsn - '0/0'::pg_lsn)::bigint AS received, coalesce(wal_status, 'lost') AS wal_status
FROM pg_replication_slots WHERE slot_name = %(slot)s;

-- name: end_receiver
-- End the connection that uses a replication slot.
SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = %(slot)s AND active;

-- name: make_slot
-- Create a replication slot that keeps the log from now on.
SELECT pg_create_physical_replication_slot(%(slot)s, true);

-- name: drop_slot
-- Drop a replication slot that nobody uses.
SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %(slot)s AND NOT active;

-- name: idle_slots
-- Replication slots of archives that nobody receives from, and how much of the log they keep.
SELECT slot_name, coalesce(wal_status, 'lost') AS wal_status,
    coalesce(pg_current_wal_flush_lsn() - restart_lsn, 0)::bigint AS kept_bytes
FROM pg_replication_slots
WHERE slot_name LIKE 'memory\_butler\_%%' AND NOT active AND NOT pg_is_in_recovery()
ORDER BY slot_name;
