-- name: add
-- Insert a token. Only its hash is stored.
INSERT INTO {schema}.tokens (tenant_id, id, hash, label, butler, role, created_at, created_by, expires_at)
VALUES (%(tenant)s, %(id)s, %(hash)s, %(label)s, %(butler)s, %(role)s, %(created_at)s, %(created_by)s, %(expires_at)s);

-- part: columns
-- The columns of a token without its hash.
tenant_id AS tenant, id, label, butler, role, created_at, created_by, expires_at, revoked_at, last_used_at

-- name: revoke
-- Revoke a token, unless it is revoked already.
UPDATE {schema}.tokens SET revoked_at = coalesce(revoked_at, %(now)s)
WHERE tenant_id = %(tenant)s AND id = %(id)s
RETURNING {columns};

-- name: show
-- Pass a token's hash to row-level security, which opens the row with this hash.
SELECT set_config('memory_butler.token_hash', %(hash)s, true);

-- name: shown
-- The token with this hash.
SELECT {columns} FROM {schema}.tokens WHERE hash = %(hash)s;

-- name: used
-- Update the time of the last use, at most once per interval.
UPDATE {schema}.tokens SET last_used_at = %(now)s
WHERE tenant_id = %(tenant)s AND id = %(id)s
    AND (last_used_at IS NULL OR last_used_at < %(noted_before)s);
