-- name: load
-- The keys of the tenant as one value, sent before the statements of a transaction.
SELECT coalesce(json_agg(json_build_object('id', id, 'purpose', purpose, 'master_id', master_id,
    'wrapped', encode(wrapped, 'hex'), 'retired', retired_at IS NOT NULL, 'created_at', created_at,
    'destroyed_at', destroyed_at) ORDER BY created_at, id), '[]')::text AS keys
FROM {schema}.tenant_keys WHERE tenant_id = %(tenant)s;

-- name: hashes
-- each: request_hash=idempotency_keys, key=distilled_keys
-- The hashes that a table of hashed requests or items holds.
SELECT DISTINCT {kind} FROM {schema}.{table} WHERE tenant_id = %(tenant)s;

-- name: key_hashes
-- each: request_hash=idempotency_keys, key=distilled_keys
-- Replace hashes by their keyed forms.
UPDATE {schema}.{table} t SET {kind} = g.keyed
FROM unnest(%(plain)s::bytea[], %(keyed)s::bytea[]) AS g (plain, keyed)
WHERE t.tenant_id = %(tenant)s AND t.{kind} = g.plain;

-- name: any
-- True if any tenant has keys: row-level security hides theirs, but not the size of the table.
SELECT pg_relation_size(%(table)s::regclass) > 0 AS any;

-- name: insert
-- Add a key to the tenant.
INSERT INTO {schema}.tenant_keys (tenant_id, id, purpose, master_id, wrapped, created_at)
VALUES (%(tenant)s, %(id)s, %(purpose)s, %(master_id)s, %(wrapped)s, %(now)s);

-- name: is_sealed
-- True if the text of a memory is encrypted.
SELECT EXISTS (SELECT FROM {schema}.facts
        WHERE tenant_id = %(tenant)s AND id = %(id)s AND content LIKE 'enc:v1:%%')
    OR EXISTS (SELECT FROM {schema}.rules
        WHERE tenant_id = %(tenant)s AND id = %(id)s AND content LIKE 'enc:v1:%%')
    OR EXISTS (SELECT FROM {schema}.episodes
        WHERE tenant_id = %(tenant)s AND id = %(id)s AND content LIKE 'enc:v1:%%') AS is_sealed;

-- name: counts
-- The number of memories with an encrypted text, and of the others.
SELECT count(*) FILTER (WHERE content LIKE 'enc:v1:%%') AS encrypted,
    count(*) FILTER (WHERE content NOT LIKE 'enc:v1:%%') AS plain
FROM (
    SELECT content FROM {schema}.facts WHERE tenant_id = %(tenant)s
    UNION ALL
    SELECT content FROM {schema}.rules WHERE tenant_id = %(tenant)s
    UNION ALL
    SELECT content FROM {schema}.episodes WHERE tenant_id = %(tenant)s
) m;

-- name: record
-- The event of a change of keys: counts, without words and keys.
WITH numbered AS (
    UPDATE {schema}.tenants SET last_seq = last_seq + 1 WHERE tenant_id = %(tenant)s RETURNING last_seq
)
INSERT INTO {schema}.memory_events (
    tenant_id, id, seq, event_type, entity_type, occurred_at, actor, request_id, payload_version, payload
)
SELECT %(tenant)s, %(event_id)s, last_seq, %(event_type)s, 'access', %(now)s, %(actor)s, %(request_id)s, 1, %(payload)s
FROM numbered;

-- name: retire
-- Retire the data key in use.
UPDATE {schema}.tenant_keys SET retired_at = greatest(%(now)s, created_at)
WHERE tenant_id = %(tenant)s AND purpose = 'data' AND retired_at IS NULL AND destroyed_at IS NULL;

-- name: rewrap
-- Replace the encrypted form of a key by the one under another master key.
UPDATE {schema}.tenant_keys SET wrapped = %(wrapped)s, master_id = %(master_id)s
WHERE tenant_id = %(tenant)s AND id = %(id)s AND destroyed_at IS NULL;

-- name: destroy_retired
-- Destroy the retired keys.
UPDATE {schema}.tenant_keys SET wrapped = NULL, destroyed_at = greatest(%(now)s, created_at)
WHERE tenant_id = %(tenant)s AND retired_at IS NOT NULL AND destroyed_at IS NULL;

-- name: destroy
-- Destroy all keys of the tenant; returns them.
UPDATE {schema}.tenant_keys SET wrapped = NULL, destroyed_at = greatest(%(now)s, created_at)
WHERE tenant_id = %(tenant)s AND destroyed_at IS NULL
RETURNING id;
