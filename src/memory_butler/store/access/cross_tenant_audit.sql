-- name: add
-- Record an access by a user of another tenant. Returns nothing if the tenant does not exist.
WITH numbered AS (
    UPDATE {schema}.tenants SET last_seq = last_seq + 1 WHERE tenant_id = %(tenant)s RETURNING last_seq
)
INSERT INTO {schema}.memory_events (
    tenant_id, id, seq, event_type, entity_type, occurred_at, actor, request_id, subrequest_id, segment_id,
    session_id, payload_version, payload
)
SELECT %(tenant)s, %(event_id)s, last_seq, 'operator.visited', 'access', %(now)s, %(actor)s, %(request_id)s,
    %(subrequest_id)s, %(segment_id)s, %(session_id)s, 1,
    jsonb_build_object('operation', %(operation)s::text, 'home', %(home)s::text)
FROM numbered
RETURNING id;
