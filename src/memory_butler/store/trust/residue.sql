-- name: size
-- The size of all tables and indexes of the schema in bytes.
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint AS bytes
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relkind = 'r';

-- name: tables
-- The tables of the schema, also those of a replay that was left over.
SELECT n.nspname AS schema, c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relkind = 'r'
ORDER BY c.relname;

-- name: wait_briefly
-- Give up on a table that is in use for longer.
SELECT set_config('lock_timeout', %(milliseconds)s, false), set_config('statement_timeout', '0', false);

-- name: rewrite
-- Write a table and its indexes anew without deleted rows, and count it anew: the planner's statistics hold values.
VACUUM (FULL, ANALYZE) {holder};

-- name: rewrite_statistics
-- Write the planner's statistics anew without outdated values.
VACUUM FULL pg_catalog.pg_statistic;

-- name: stop_recycling
-- Let the server delete old segments of the write-ahead log instead of renaming them, which keeps their content.
ALTER SYSTEM SET wal_recycle = off;

-- name: recycle_again
-- Return to the setting of the configuration.
ALTER SYSTEM RESET wal_recycle;

-- name: reload
-- Let the server read its configuration.
SELECT pg_reload_conf();

-- name: mark_log
-- Write something to the log, so that its segment can be ended.
SELECT pg_logical_emit_message(false, 'purge', '');

-- name: end_segment
-- End the current segment of the write-ahead log; its rest is filled with zeros.
SELECT pg_switch_wal();

-- name: checkpoint
-- Write everything to the data files; older segments of the log and replaced data files are deleted.
CHECKPOINT;

-- name: other_segments
-- The number of segments of the write-ahead log besides the current one.
SELECT count(*) AS segments FROM pg_ls_waldir() AS w
WHERE w.name ~ '^[0-9A-F]{24}$' AND w.name <> pg_walfile_name(pg_current_wal_lsn());
