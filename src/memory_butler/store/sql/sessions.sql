-- name: open
-- Remember a login, and forget those of this tenant that are over.
WITH over AS (
    DELETE FROM {schema}.sessions WHERE tenant_id = %(tenant)s AND expires_at <= %(created_at)s
)
INSERT INTO {schema}.sessions (tenant_id, hash, butler, role, name, token_id, created_at, expires_at, seen_at)
VALUES (
    %(tenant)s, %(hash)s, %(butler)s, %(role)s, %(name)s, %(token_id)s, %(created_at)s, %(expires_at)s, %(created_at)s
);

-- name: shown
-- The login with this hash, whichever tenant's it is; row-level security has been shown the hash before.
SELECT tenant_id AS tenant, hash, butler, role, name, token_id, created_at, expires_at, seen_at
FROM {schema}.sessions WHERE hash = %(hash)s;

-- name: token_is_good
-- Whether the token somebody logged in with is still worth anything.
SELECT revoked_at IS NULL AND (expires_at IS NULL OR expires_at > %(now)s) AS good
FROM {schema}.tokens WHERE tenant_id = %(tenant)s AND id = %(id)s;

-- name: seen
-- Note that somebody is still there.
UPDATE {schema}.sessions SET seen_at = greatest(seen_at, %(now)s) WHERE tenant_id = %(tenant)s AND hash = %(hash)s;

-- name: close
-- End a login.
DELETE FROM {schema}.sessions WHERE tenant_id = %(tenant)s AND hash = %(hash)s;
