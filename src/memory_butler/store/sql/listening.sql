-- name: ring
-- Let everybody hear something who listens for news of events.
SELECT pg_notify(%(channel)s, %(payload)s);
