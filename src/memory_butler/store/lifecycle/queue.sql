-- name: silent_workers
-- Workers with a job whose heartbeat is too old.
SELECT DISTINCT w.id
FROM {schema}.procrastinate_workers w
JOIN {schema}.procrastinate_jobs j ON j.worker_id = w.id AND j.status = 'doing'
WHERE j.queue_name = %(queue)s AND w.last_heartbeat < now() - make_interval(secs => %(silence_seconds)s);

-- part: abandoned
-- True for a job without a worker: the worker has stopped, is lost and still silent, or has dropped the job.
(j.worker_id IS NULL OR j.id = ANY(%(dropped)s::bigint[]) OR j.worker_id IN (
    SELECT w.id FROM {schema}.procrastinate_workers w
    WHERE w.id = ANY(%(lost)s::bigint[]) AND w.last_heartbeat < now() - make_interval(secs => %(silence_seconds)s)
))

-- name: reclaim
-- Requeue the jobs of lost workers, unless an equal job is queued. One statement, so that a concurrent reclaim does not
-- take a job from the worker that has just started it again.
UPDATE {schema}.procrastinate_jobs j
SET status = 'todo', attempts = j.attempts + 1, scheduled_at = NULL, worker_id = NULL
WHERE j.status = 'doing' AND j.queue_name = %(queue)s
    AND {abandoned}
    AND NOT EXISTS (
        SELECT FROM {schema}.procrastinate_jobs waiting
        WHERE waiting.status = 'todo' AND waiting.queueing_lock = j.queueing_lock
    )
RETURNING j.id;

-- name: release
-- Remove the jobs of lost workers for which an equal job is queued.
DELETE FROM {schema}.procrastinate_jobs j
WHERE j.status = 'doing' AND j.queue_name = %(queue)s
    AND {abandoned}
RETURNING j.id;

-- name: held
-- The jobs that a worker has started and not finished.
SELECT id FROM {schema}.procrastinate_jobs
WHERE status = 'doing' AND queue_name = %(queue)s AND worker_id = %(worker)s;

-- name: waiting
-- The queued jobs. There is at most one of each kind and shard.
SELECT queueing_lock FROM {schema}.procrastinate_jobs
WHERE status = 'todo' AND queue_name = %(queue)s AND queueing_lock IS NOT NULL;

-- name: drop_finished
-- Delete jobs that ended long ago, a limited number at a time.
DELETE FROM {schema}.procrastinate_jobs j
WHERE j.id IN (
    SELECT d.id FROM {schema}.procrastinate_jobs d
    WHERE d.status IN ('succeeded', 'failed', 'cancelled', 'aborted')
        AND NOT EXISTS (
            SELECT FROM {schema}.procrastinate_events e
            WHERE e.job_id = d.id AND e.at > now() - make_interval(days => %(days)s)
        )
    LIMIT %(limit)s
)
RETURNING j.id;

-- name: drop_workers
-- Delete workers that have been silent for days.
DELETE FROM {schema}.procrastinate_workers
WHERE last_heartbeat < now() - make_interval(days => %(days)s)
RETURNING id;

-- name: has_scratch
-- True if a replay's schema exists.
SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = %(scratch)s) AS there;
