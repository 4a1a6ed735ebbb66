-- name: tenants
-- All tenants.
SELECT {schema}.tenant_names() AS tenant;

-- part: latest
-- The latest run of a job of a butler b.
LEFT JOIN LATERAL (
    SELECT started_at, finished_at, outcome, report FROM {schema}.job_runs
    WHERE tenant_id = %(tenant)s AND butler = b.butler AND job = b.job
    ORDER BY started_at DESC, id DESC
    LIMIT 1
) r ON true

-- part: failures
-- The number of consecutive failures up to the latest run r.
CASE WHEN r.started_at IS NULL OR r.outcome = 'succeeded' THEN 0 ELSE (
    SELECT count(*) FROM {schema}.job_runs f
    WHERE f.tenant_id = %(tenant)s AND f.butler = b.butler AND f.job = b.job AND f.outcome = 'failed'
        AND f.started_at > coalesce((
            SELECT max(s.started_at) FROM {schema}.job_runs s
            WHERE s.tenant_id = %(tenant)s AND s.butler = b.butler AND s.job = b.job AND s.outcome = 'succeeded'
        ), '-infinity')
) END

-- part: judged
-- The state of each job of each butler. Same rules as policy/lifecycle/schedule.py; a test compares the two.
recorded AS MATERIALIZED (
    SELECT b.*, r.started_at, r.finished_at, r.outcome, r.report, {failures} AS failures
    FROM (
        SELECT k.butler, j.job, j.number, make_interval(secs => j.seconds) AS every, k.created_at AS since
        FROM {schema}.butlers k
            CROSS JOIN unnest(%(jobs)s::text[], %(every_seconds)s::float8[]) WITH ORDINALITY AS j (job, seconds, number)
        WHERE k.tenant_id = %(tenant)s
    ) b
    {latest}
), timed AS (
    SELECT x.*, y.is_failing, %(now)s::timestamptz - CASE
        WHEN x.started_at IS NULL THEN x.since
        WHEN x.outcome IS DISTINCT FROM 'failed' THEN x.started_at + x.every
        WHEN y.is_failing THEN coalesce(x.finished_at, x.started_at)
            + least(x.every, %(first_retry)s::interval * power(2, least(x.failures - 1, 20)))
        ELSE coalesce(x.finished_at, x.started_at)
    END > %(grace)s::interval AS is_late
    FROM recorded x CROSS JOIN LATERAL (
        SELECT x.failures > CASE WHEN x.report -> 'cut_short' = 'true' THEN 1 ELSE 0 END AS is_failing
    ) y
), judged AS (
    SELECT t.*, CASE WHEN t.started_at IS NULL THEN 'never' WHEN t.is_failing THEN 'failing'
        WHEN t.is_late THEN 'overdue'
        ELSE 'ok' END AS standing
    FROM timed t
)

-- name: worst
-- The jobs in the worst state; every row has the total number and the number of jobs that are not ok.
WITH {judged}
SELECT butler, job, since, started_at, finished_at, outcome, report, failures, (SELECT count(*) FROM judged) AS total,
    (SELECT count(*) FROM judged WHERE standing <> 'ok') AS unwell
FROM judged
ORDER BY array_position(%(worst_first)s::text[], standing), butler, number
LIMIT %(limit)s;

-- name: late
-- Late and failing jobs by state, with the number of butlers and the first of them. A new butler without any run is not
-- late.
WITH {judged}
SELECT job, standing, count(*) AS butlers, min(butler) AS first
FROM judged
WHERE standing IN ('failing', 'overdue') OR (standing = 'never' AND is_late)
GROUP BY job, number, standing
ORDER BY number, array_position(%(worst_first)s::text[], standing);

-- name: histories
-- The latest run of each job and butler and its consecutive failures, all or a page.
SELECT b.butler, b.job, b.since, r.started_at, r.finished_at, r.outcome, r.report, {failures} AS failures
FROM (
    SELECT k.butler, j.job, j.number, k.created_at AS since
    FROM {schema}.butlers k CROSS JOIN unnest(%(jobs)s::text[]) WITH ORDINALITY AS j (job, number)
    WHERE k.tenant_id = %(tenant)s AND (%(butler)s::text IS NULL OR k.butler = %(butler)s::text)
        AND (%(after)s::text IS NULL OR (k.butler, j.number) > (%(after)s::text, %(after_job)s::bigint))
    ORDER BY k.butler, j.number
    LIMIT %(limit)s::bigint
) b
{latest}
ORDER BY b.butler, b.number;

-- name: close_lost
-- Close the run of a shard whose worker died.
UPDATE {schema}.job_runs
SET finished_at = greatest(%(now)s, started_at), outcome = 'failed', report = %(report)s
WHERE tenant_id = %(tenant)s AND butler = %(butler)s AND finished_at IS NULL;

-- name: start
-- Record the start of a run.
INSERT INTO {schema}.job_runs (tenant_id, id, job, butler, started_at, report)
VALUES (%(tenant)s, %(id)s, %(job)s, %(butler)s, %(now)s, '{}');

-- name: put_on_record
-- Record a successful run that a user started.
INSERT INTO {schema}.job_runs (tenant_id, id, job, butler, started_at, finished_at, outcome, report)
VALUES (%(tenant)s, %(id)s, %(job)s, %(butler)s, %(started_at)s,
    greatest(%(now)s::timestamptz, %(started_at)s::timestamptz), 'succeeded',
    %(report)s);

-- name: finish
-- Record the outcome of a run, unless it was closed as lost.
UPDATE {schema}.job_runs
SET finished_at = greatest(%(now)s, started_at), outcome = %(outcome)s, report = %(report)s
WHERE tenant_id = %(tenant)s AND id = %(id)s AND finished_at IS NULL
RETURNING started_at, finished_at;

-- name: drop_old
-- Delete old runs of a shard, except the latest of each job.
DELETE FROM {schema}.job_runs r
WHERE r.tenant_id = %(tenant)s AND r.butler = %(butler)s AND r.started_at < %(before)s AND r.finished_at IS NOT NULL
    AND EXISTS (
        SELECT FROM {schema}.job_runs later
        WHERE later.tenant_id = r.tenant_id AND later.butler = r.butler AND later.job = r.job
            AND (later.started_at, later.id) > (r.started_at, r.id)
    )
RETURNING r.id;
