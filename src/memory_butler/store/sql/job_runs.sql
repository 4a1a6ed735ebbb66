-- name: tenants
-- Whose stores there are to look after.
SELECT {schema}.tenant_names() AS tenant;

-- name: histories
-- What is recorded of each job and butler, all of them or a page: the latest run, and how many runs up to it failed in
-- a row.
SELECT b.butler, b.job, b.since, r.started_at, r.finished_at, r.outcome, r.report,
    CASE WHEN r.started_at IS NULL THEN 0 ELSE (
        SELECT count(*) FROM {schema}.job_runs f
        WHERE f.tenant_id = %(tenant)s AND f.butler = b.butler AND f.job = b.job AND f.outcome = 'failed'
            AND f.started_at > coalesce((
                SELECT max(s.started_at) FROM {schema}.job_runs s
                WHERE s.tenant_id = %(tenant)s AND s.butler = b.butler AND s.job = b.job AND s.outcome = 'succeeded'
            ), '-infinity')
    ) END AS failures
FROM (
    SELECT k.butler, j.job, j.number, k.created_at AS since
    FROM {schema}.butlers k CROSS JOIN unnest(%(jobs)s::text[]) WITH ORDINALITY AS j (job, number)
    WHERE k.tenant_id = %(tenant)s AND (%(butler)s::text IS NULL OR k.butler = %(butler)s::text)
        AND (%(after)s::text IS NULL OR (k.butler, j.number) > (%(after)s::text, %(after_job)s::bigint))
    ORDER BY k.butler, j.number
    LIMIT %(limit)s::bigint
) b
LEFT JOIN LATERAL (
    SELECT started_at, finished_at, outcome, report FROM {schema}.job_runs
    WHERE tenant_id = %(tenant)s AND butler = b.butler AND job = b.job
    ORDER BY started_at DESC, id DESC
    LIMIT 1
) r ON true
ORDER BY b.butler, b.number;

-- name: close_lost
-- End the run of a shard whose worker did not live to do so.
UPDATE {schema}.job_runs
SET finished_at = greatest(%(now)s, started_at), outcome = 'failed', report = %(report)s
WHERE tenant_id = %(tenant)s AND butler = %(butler)s AND finished_at IS NULL;

-- name: start
-- Record that a job has begun.
INSERT INTO {schema}.job_runs (tenant_id, id, job, butler, started_at, report)
VALUES (%(tenant)s, %(id)s, %(job)s, %(butler)s, %(now)s, '{}');

-- name: put_on_record
-- Record a run that has ended well, whoever started it.
INSERT INTO {schema}.job_runs (tenant_id, id, job, butler, started_at, finished_at, outcome, report)
VALUES (%(tenant)s, %(id)s, %(job)s, %(butler)s, %(started_at)s,
    greatest(%(now)s::timestamptz, %(started_at)s::timestamptz), 'succeeded',
    %(report)s);

-- name: finish
-- Record how a run ended, unless it was given up for lost meanwhile.
UPDATE {schema}.job_runs
SET finished_at = greatest(%(now)s, started_at), outcome = %(outcome)s, report = %(report)s
WHERE tenant_id = %(tenant)s AND id = %(id)s AND finished_at IS NULL
RETURNING started_at, finished_at;

-- name: drop_old
-- Forget a shard's old runs, except the latest of each job.
DELETE FROM {schema}.job_runs r
WHERE r.tenant_id = %(tenant)s AND r.butler = %(butler)s AND r.started_at < %(before)s AND r.finished_at IS NOT NULL
    AND EXISTS (
        SELECT FROM {schema}.job_runs later
        WHERE later.tenant_id = r.tenant_id AND later.butler = r.butler AND later.job = r.job
            AND (later.started_at, later.id) > (r.started_at, r.id)
    )
RETURNING r.id;
