-- name: ring
-- Notify all listeners of new events.
SELECT pg_notify(%(channel)s, %(payload)s);
