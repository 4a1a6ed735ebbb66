-- name: bind_read
-- Bind a read-only transaction to its tenant.
SELECT
    {bound},
    set_config('transaction_read_only', 'on', true),
    -- Planning the search takes as long as running it in a small tenant, and its shape does not depend on the values.
    set_config('plan_cache_mode', 'force_generic_plan', true),
    set_config('enable_seqscan', 'off', true),
    {schema}.require_revision(%(revision)s);

-- name: bind_write
-- Bind a write transaction to its tenant. `relaxed` commits without waiting for the disk: only for writes that may be
-- lost in a crash. `lock_ms` bounds the wait for a lock; 0: the timeout of the statement. What stores memories touches
-- few rows by their keys, and planning it takes longer than running it.
SELECT
    {bound},
    set_config('plan_cache_mode', CASE WHEN %(stores)s THEN 'force_generic_plan' ELSE 'auto' END, true),
    set_config('lock_timeout', %(lock_ms)s, true),
    set_config('synchronous_commit', CASE WHEN %(relaxed)s THEN 'off' ELSE 'on' END, true),
    {schema}.require_revision(%(revision)s);

-- part: bound
-- The settings of every transaction: role, tenant for row-level security, search path, timeout, time zone.
set_config('role', %(role)s, true),
set_config('search_path', %(search_path)s, true),
set_config('memory_butler.tenant', %(tenant)s, true),
set_config('statement_timeout', %(timeout_ms)s, true),
set_config('timezone', 'UTC', true)

-- name: lock_tenant
-- Take the tenant's write lock, create the tenant if it is new, and reserve short references.
INSERT INTO {schema}.tenants AS t (tenant_id, created_at, last_ref)
VALUES (%(tenant)s, %(now)s, %(refs)s)
ON CONFLICT (tenant_id) DO UPDATE SET last_ref = t.last_ref + %(refs)s
RETURNING last_ref;

-- name: register_butler
-- Register a butler at its first write.
INSERT INTO {schema}.butlers (tenant_id, butler, created_at)
VALUES (%(tenant)s, %(butler)s, %(now)s)
ON CONFLICT DO NOTHING;

-- name: find_keys
-- The stored responses for some idempotency keys.
SELECT k.butler, k.key, k.request_hash, k.response
FROM unnest(%(butlers)s::text[], %(keys)s::text[]) AS o (butler, key)
JOIN {schema}.idempotency_keys k ON k.tenant_id = %(tenant)s AND k.butler = o.butler AND k.key = o.key
WHERE k.expires_at > %(now)s;

-- name: keep_keys
-- Store the responses for some idempotency keys; an expired key is replaced.
INSERT INTO {schema}.idempotency_keys (tenant_id, butler, key, request_hash, response, created_at, expires_at)
SELECT %(tenant)s, n.butler, n.key, n.request_hash, n.response, %(now)s, %(expires_at)s
FROM json_to_recordset(%(rows)s::json) AS n (butler text, key text, request_hash bytea, response jsonb)
ON CONFLICT (tenant_id, butler, key) DO UPDATE
SET request_hash = excluded.request_hash, response = excluded.response,
    created_at = excluded.created_at, expires_at = excluded.expires_at;
