-- name: begin
-- Let this transaction change the form of stored texts.
SELECT set_config('memory_butler.resealing', 'on', true);

-- name: page
-- The next memories by id, as they are stored, with what decides about encryption.
SELECT 'fact' AS type, id, content AS stored_content, content_hash, metadata AS stored_metadata, predicate,
    ARRAY[source_butler, scope] AS butlers, '{}'::text[] AS stored_reasons
FROM {schema}.facts WHERE tenant_id = %(tenant)s AND id > %(after)s
UNION ALL
SELECT 'rule', id, content, content_hash, metadata, NULL, ARRAY[source_butler, scope], harmful_reasons
FROM {schema}.rules WHERE tenant_id = %(tenant)s AND id > %(after)s
UNION ALL
SELECT 'episode', id, content, content_hash, metadata, NULL, ARRAY[butler], '{}'
FROM {schema}.episodes WHERE tenant_id = %(tenant)s AND id > %(after)s
ORDER BY id
LIMIT %(limit)s;

-- name: update
-- each: fact=facts, rule=rules, episode=episodes
-- Write the new form of the texts of memories.
UPDATE {schema}.{table} m SET content = g.content, content_hash = g.content_hash, metadata = g.metadata
FROM json_to_recordset(%(rows)s::json) AS g (id uuid, content text, content_hash bytea, metadata jsonb)
WHERE m.tenant_id = %(tenant)s AND m.id = g.id;

-- name: update_reasons
-- Write the new form of the reasons of a rule.
UPDATE {schema}.rules SET harmful_reasons = %(reasons)s WHERE tenant_id = %(tenant)s AND id = %(id)s;

-- name: texts
-- The texts of the events of some memories, as they are stored.
SELECT memory_id, hash, body AS stored_body FROM {schema}.texts
WHERE tenant_id = %(tenant)s AND memory_id = ANY(%(ids)s);

-- name: update_texts
-- Write the new form of texts. Events refer to them by their first hash, which stays.
UPDATE {schema}.texts t SET body = g.body
FROM json_to_recordset(%(rows)s::json) AS g (memory_id uuid, hash bytea, body text)
WHERE t.tenant_id = %(tenant)s AND t.memory_id = g.memory_id AND t.hash = g.hash;

-- name: reports
-- The reasons of reports on some rules, as they are stored.
SELECT id, rule_id, reason AS stored_reason FROM {schema}.rule_applications
WHERE tenant_id = %(tenant)s AND rule_id = ANY(%(ids)s) AND reason IS NOT NULL;

-- name: update_report
-- Write the new form of the reason of a report.
SELECT {schema}.reseal_reason(%(id)s, %(reason)s);

-- name: items
-- The proposals of a tenant's consolidation runs, as they are stored.
SELECT i.run_id, i.place, i.proposed, i.said, i.memory_id, r.butler
FROM {schema}.consolidation_items i
JOIN {schema}.consolidation_runs r ON r.tenant_id = i.tenant_id AND r.id = i.run_id
WHERE i.tenant_id = %(tenant)s
    AND (%(after_run)s::uuid IS NULL OR (i.run_id, i.place) > (%(after_run)s, %(after_place)s))
ORDER BY i.run_id, i.place
LIMIT %(limit)s;

-- name: update_item
-- Write the new form of a proposal.
UPDATE {schema}.consolidation_items SET proposed = %(proposed)s, said = %(said)s
WHERE tenant_id = %(tenant)s AND run_id = %(run)s AND place = %(place)s;

-- name: sealed_ids
-- The memories with an encrypted text.
SELECT id FROM {schema}.facts WHERE tenant_id = %(tenant)s AND content LIKE 'enc:v1:%%'
UNION ALL
SELECT id FROM {schema}.rules WHERE tenant_id = %(tenant)s AND content LIKE 'enc:v1:%%'
UNION ALL
SELECT id FROM {schema}.episodes WHERE tenant_id = %(tenant)s AND content LIKE 'enc:v1:%%';
