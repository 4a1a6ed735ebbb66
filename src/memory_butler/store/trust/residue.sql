-- name: size
-- The size of all tables and indexes of the schema in bytes, and whether a table is being moved into partitions.
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint AS bytes,
    EXISTS (SELECT FROM {schema}.partition_moves) AS is_moving
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relkind = 'r';

-- name: tables
-- The tables of the schema; one with partitions stands for all of them.
SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relkind IN ('r', 'p') AND NOT c.relispartition
ORDER BY c.relname;

-- name: wait_briefly
-- Give up on a table that is in use for longer.
SELECT set_config('lock_timeout', %(milliseconds)s, false), set_config('statement_timeout', '0', false);

-- name: rewrite
-- each: aliases=aliases, butlers=butlers, call_log=call_log, consolidation_episodes=consolidation_episodes
-- each: consolidation_items=consolidation_items, consolidation_runs=consolidation_runs, counted_upto=counted_upto
-- each: daily_counts=daily_counts, distilled_keys=distilled_keys, embedding_counts=embedding_counts
-- each: embedding_versions=embedding_versions, reembedding_pauses=reembedding_pauses
-- each: episode_tombstones=episode_tombstones, episodes=episodes, event_seals=event_seals, facts=facts
-- each: fleet_sample=fleet_sample, objective_buckets=objective_buckets
-- each: idempotency_keys=idempotency_keys, job_runs=job_runs, lifecycle_transitions=lifecycle_transitions
-- each: memory_counts=memory_counts, memory_events=memory_events, memory_links=memory_links
-- each: memory_references=memory_references
-- each: partition_moves=partition_moves, passages=passages, postings=postings, profiles=profiles
-- each: purge_receipts=purge_receipts
-- each: recent_questions=recent_questions, rule_applications=rule_applications, rules=rules, sessions=sessions
-- each: reference_horizons=reference_horizons
-- each: tenant_keys=tenant_keys, tenants=tenants, texts=texts, tokens=tokens, alembic_version=alembic_version
-- each: procrastinate_jobs=procrastinate_jobs, procrastinate_events=procrastinate_events
-- each: procrastinate_workers=procrastinate_workers, procrastinate_periodic_defers=procrastinate_periodic_defers
-- Write a table and its indexes anew without deleted rows, and count it anew: the planner's statistics hold values.
VACUUM (FULL, ANALYZE) {schema}.{table};

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

-- name: receivers_behind
-- The number of connected replicas and archives that do not have the segments before the current one yet.
SELECT count(*) AS receivers FROM pg_replication_slots
WHERE active AND slot_type = 'physical'
    AND pg_walfile_name(restart_lsn) < pg_walfile_name(pg_current_wal_lsn());
