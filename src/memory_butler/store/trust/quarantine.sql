-- part: of_kind
-- each: fact=facts, rule=rules, episode=episodes
-- Quarantined memories of a type: type, id, time of storing.
SELECT '{kind}' AS type, m.id, m.created_at FROM {schema}.{table} m
WHERE m.tenant_id = %(tenant)s AND m.quarantine_reason IS NOT NULL

-- name: waiting
-- The memories that wait for a decision, oldest first, and the number of all of them.
SELECT w.type, w.id, count(*) OVER () AS total
FROM ({of_kind:fact} UNION ALL {of_kind:rule} UNION ALL {of_kind:episode}) w
ORDER BY w.created_at, w.id
LIMIT %(limit)s;

-- name: find
-- each: fact=facts, rule=rules, episode=episodes
-- Quarantined memories by id.
SELECT m.* FROM {schema}.{table} m WHERE m.tenant_id = %(tenant)s AND m.id = ANY(%(ids)s);

-- part: same
-- each: fact=facts, rule=rules, episode=episodes
-- A quarantined memory with the same text.
SELECT m.id, m.ref, m.quarantine_reason FROM {schema}.{table} m
WHERE m.tenant_id = %(tenant)s AND m.quarantine_reason IS NOT NULL AND m.content_hash = %(content_hash)s

-- name: same_fact
-- The quarantined fact with the same text about the same property.
{same:fact} AND m.scope = %(scope)s AND m.subject = %(subject)s AND m.predicate = %(predicate)s LIMIT 1;

-- name: same_rule
-- The quarantined rule with the same text.
{same:rule} AND m.scope = %(scope)s LIMIT 1;

-- name: same_episode
-- A quarantined episode of the butler with the same text.
{same:episode} AND m.butler = %(butler)s ORDER BY m.created_at, m.id LIMIT 1;

-- name: contested_values
-- The current value of each property that a quarantined fact would change.
SELECT f.id AS contester, o.id, o.ref, o.content
FROM {schema}.facts f
JOIN {schema}.facts o ON o.tenant_id = %(tenant)s AND o.scope = f.scope AND o.subject = f.subject
    AND o.predicate = f.predicate AND o.id <> f.id AND o.validity IN ('active', 'fading') AND o.valid_at IS NULL
WHERE f.tenant_id = %(tenant)s AND f.id = ANY(%(ids)s) AND f.valid_at IS NULL;
