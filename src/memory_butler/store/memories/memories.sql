-- part: of_new
-- The initial values of every new memory. What is quarantined is not in use.
jsonb_build_object('tenant_id', %(tenant)s::text, 'created_at', g.given -> 'now',
    'validity', CASE WHEN g.given ->> 'quarantine_reason' IS NULL THEN 'active' ELSE 'retracted' END,
    'reference_count', 0, 'pinned', false)

-- name: set_validity
-- each: fact=facts, rule=rules, episode=episodes
-- Set the validity of a memory; the database refuses a transition that is not allowed.
UPDATE {schema}.{table} SET validity = %(validity)s WHERE tenant_id = %(tenant)s AND id = %(id)s;

-- name: set_pinned
-- each: fact=facts, rule=rules, episode=episodes
-- Pin or unpin a memory.
UPDATE {schema}.{table} SET pinned = %(pinned)s WHERE tenant_id = %(tenant)s AND id = %(id)s;

-- name: raise_origin
-- each: fact=facts, rule=rules
-- A source with a higher rank stated memories again: they have its origin now.
UPDATE {schema}.{table} SET origin = %(origin)s WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s);

-- name: release
-- each: fact=facts, rule=rules, episode=episodes
-- End the quarantine of a memory: a person vouches for it, or it stays out of use.
UPDATE {schema}.{table} SET quarantine_reason = NULL, origin = coalesce(%(origin)s, origin)
WHERE tenant_id = %(tenant)s AND id = %(id)s;

-- name: hold
-- each: fact=facts, rule=rules, episode=episodes
-- Quarantine a memory that is in use: it waits for a person's decision.
UPDATE {schema}.{table} SET quarantine_reason = %(reason)s, validity = 'retracted'
WHERE tenant_id = %(tenant)s AND id = %(id)s;

-- part: renewed
-- Active, with the decay restarted; never earlier than before.
last_confirmed_at = greatest(%(now)s, created_at, last_confirmed_at), validity = 'active'

-- name: confirm
-- each: fact=facts, rule=rules
-- Renew live facts or rules: their decay starts again, and fading ones are active again.
UPDATE {schema}.{table} SET {renewed}
WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s) AND validity IN ('active', 'fading');

-- name: restore
-- each: fact=facts, rule=rules
-- Restore a fact or rule and renew it, so that it does not fade at once.
UPDATE {schema}.{table} SET {renewed} WHERE tenant_id = %(tenant)s AND id = %(id)s;

-- name: get
-- each: fact=facts, rule=rules, episode=episodes
-- One memory by id or by reference.
SELECT * FROM {schema}.{table} WHERE tenant_id = %(tenant)s AND (id = %(id)s::uuid OR ref = %(ref)s::text);
