-- name: look
-- What a process checks when it opens the store: the role of the server, its clock, and the process that serves the
-- connection, which a pooler hides.
SELECT pg_is_in_recovery() AS in_recovery, pg_backend_pid() AS backend,
    extract(epoch FROM clock_timestamp())::float8 AS clock;
