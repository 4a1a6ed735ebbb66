-- name: silent_workers
-- Workers that hold a job and have not been heard of for a while.
SELECT DISTINCT w.id
FROM {schema}.procrastinate_workers w
JOIN {schema}.procrastinate_jobs j ON j.worker_id = w.id AND j.status = 'doing'
WHERE j.queue_name = %(queue)s AND w.last_heartbeat < now() - make_interval(secs => %(silence_seconds)s);

-- part: abandoned
-- A job that nobody works on: its worker has signed off, is among the lost ones and still silent, or dropped it.
(j.worker_id IS NULL OR j.id = ANY(%(dropped)s::bigint[]) OR j.worker_id IN (
    SELECT w.id FROM {schema}.procrastinate_workers w
    WHERE w.id = ANY(%(lost)s::bigint[]) AND w.last_heartbeat < now() - make_interval(secs => %(silence_seconds)s)
))

-- name: reclaim
-- Put jobs whose worker is gone back into the queue, unless an equal one waits there. In one statement, so that of
-- several who do this at once none takes a job from the worker that has just begun it again.
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
-- Take jobs whose worker is gone, and whose like waits already, out of its way.
DELETE FROM {schema}.procrastinate_jobs j
WHERE j.status = 'doing' AND j.queue_name = %(queue)s
    AND {abandoned}
RETURNING j.id;

-- name: held
-- The jobs that a worker has taken and not given back.
SELECT id FROM {schema}.procrastinate_jobs
WHERE status = 'doing' AND queue_name = %(queue)s AND worker_id = %(worker)s;

-- name: waiting
-- What is in the queue and has not been begun. There is room for one job of a kind and shard.
SELECT queueing_lock FROM {schema}.procrastinate_jobs
WHERE status = 'todo' AND queue_name = %(queue)s AND queueing_lock IS NOT NULL;

-- name: drop_finished
-- Remove jobs that ended long ago, a few at a time.
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
-- Strike workers off the list that have been silent for days.
DELETE FROM {schema}.procrastinate_workers
WHERE last_heartbeat < now() - make_interval(days => %(days)s)
RETURNING id;

-- name: has_scratch
-- Whether there is a schema that a replay rebuilds into.
SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = %(scratch)s) AS there;
