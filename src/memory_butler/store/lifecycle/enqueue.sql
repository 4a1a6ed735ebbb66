-- name: job
-- Queue a job of a shard, unless it waits already. The worker checks whether it is due.
INSERT INTO {schema}.procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args)
VALUES (%(queue)s, %(job)s, %(lock)s, %(queueing_lock)s, %(arguments)s)
ON CONFLICT (queueing_lock) WHERE status = 'todo' DO NOTHING;
