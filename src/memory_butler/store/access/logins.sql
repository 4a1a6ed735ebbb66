-- name: open
-- Insert a login and delete the expired logins of this tenant.
WITH over AS (
    DELETE FROM {schema}.sessions WHERE tenant_id = %(tenant)s AND expires_at <= %(created_at)s
)
INSERT INTO {schema}.sessions (tenant_id, hash, butler, role, name, token_id, created_at, expires_at, seen_at)
VALUES (
    %(tenant)s, %(hash)s, %(butler)s, %(role)s, %(name)s, %(token_id)s, %(created_at)s, %(expires_at)s, %(created_at)s
);

-- name: find
-- The login with this hash, of any tenant. Row-level security opens the row after `tokens.show`.
SELECT tenant_id AS tenant, hash, butler, role, name, token_id, created_at, expires_at, seen_at
FROM {schema}.sessions WHERE hash = %(hash)s;

-- name: token_is_good
-- True if the API token of a login is neither revoked nor expired.
SELECT revoked_at IS NULL AND (expires_at IS NULL OR expires_at > %(now)s) AS good
FROM {schema}.tokens WHERE tenant_id = %(tenant)s AND id = %(id)s;

-- name: touch
-- Update the time of the last request of a login.
UPDATE {schema}.sessions SET seen_at = greatest(seen_at, %(now)s) WHERE tenant_id = %(tenant)s AND hash = %(hash)s;

-- name: close
-- Delete a login.
DELETE FROM {schema}.sessions WHERE tenant_id = %(tenant)s AND hash = %(hash)s;
