-- name: add
-- Add counts to the bucket of an objective.
INSERT INTO {schema}.objective_buckets AS b (objective, started_at, counts)
SELECT o.objective, %(started_at)s, string_to_array(o.counts, ',')::bigint[]
FROM unnest(%(objectives)s::text[], %(counts)s::text[]) AS o (objective, counts)
ORDER BY o.objective
ON CONFLICT (objective, started_at) DO UPDATE SET counts = (
    SELECT array_agg(coalesce(u.old, 0) + coalesce(u.new, 0) ORDER BY u.place)
    FROM unnest(b.counts, excluded.counts) WITH ORDINALITY AS u (old, new, place)
);

-- name: since
-- The sum of the counts of each objective since a time, step by step.
SELECT s.objective, array_agg(s.counted ORDER BY s.place) AS counts
FROM (
    SELECT b.objective, u.place, sum(u.counted)::bigint AS counted
    FROM {schema}.objective_buckets b, unnest(b.counts) WITH ORDINALITY AS u (counted, place)
    WHERE b.started_at >= %(since)s
    GROUP BY 1, 2
) s
GROUP BY s.objective;

-- name: drop_old
-- Delete old buckets.
DELETE FROM {schema}.objective_buckets WHERE started_at < %(before)s RETURNING objective;
