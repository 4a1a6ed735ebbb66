-- name: examine
-- Data for the doctor command, also from a server without a schema: versions, clock, and the program's role.
SELECT current_setting('server_version_num')::int AS server_version,
    current_setting('server_version') AS server_version_text,
    clock_timestamp() AS clock,
    (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector_installed,
    (SELECT default_version FROM pg_available_extensions WHERE name = 'vector') AS vector_available,
    r.rolname AS role,
    r.rolsuper AS is_superuser,
    r.rolbypassrls AS bypasses_rls,
    CASE WHEN r.oid IS NULL THEN NULL ELSE pg_has_role(current_user, r.oid, 'MEMBER') END AS may_become,
    (SELECT count(*) FROM pg_shdepend d WHERE d.refclassid = 'pg_authid'::regclass AND d.refobjid = r.oid
        AND d.deptype = 'o') AS owned_objects
FROM (SELECT 1) AS once
LEFT JOIN pg_roles r ON r.rolname = %(role)s::text;
