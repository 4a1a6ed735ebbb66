-- part: columns
-- The columns of an event that a reader gets.
e.seq, e.id, e.event_type, e.entity_type, e.entity_id, e.occurred_at, e.actor, e.request_id, e.group_id, e.undoes,
e.payload

-- part: described
-- An event with its lineage, the state before it, its reason, and the other fact it names: see `undo.around_event`.
{columns}, e.subrequest_id, e.segment_id, e.session_id, b.state AS before, t.body::jsonb ->> 'reason' AS reason,
'fact:' || coalesce(f.ref, s.ref) AS other

-- part: before
-- The state of the memory before an event.
LEFT JOIN LATERAL (
    SELECT x.payload -> 'state' AS state FROM {schema}.memory_events x
    WHERE x.tenant_id = %(tenant)s AND x.entity_id = e.entity_id AND x.seq < e.seq
    ORDER BY x.seq DESC
    LIMIT 1
) b ON true

-- part: salt
-- The salt of a memory's texts: random, and the same in all of them. It makes their hashes keyed: once the texts are
-- deleted, nobody can tell if a hash is that of a guessed text.
jsonb_build_object('salt', coalesce((
    SELECT x.body::jsonb ->> 'salt' FROM {schema}.texts x
    WHERE x.tenant_id = %(tenant)s AND x.memory_id = o.id AND x.body::jsonb ? 'salt' LIMIT 1),
    gen_random_uuid()::text))

-- name: record
-- One event per changed memory, with its full state after the change taken from its row; words go to `texts`.
WITH changed AS (
    SELECT o.entity_type, o.id, o.event_id, o.event_type, o.extra, o.undoes, o.request_id, o.n, s.state,
        (s.words || {salt})::text AS body
    FROM json_to_recordset(%(changes)s::json)
        AS o (n int, entity_type text, id uuid, event_id uuid, event_type text, extra jsonb, undoes uuid,
            request_id text)
    -- A memory that does not exist has no words, and the texts refuse that: no event goes missing unnoticed.
    -- The order by id makes the planner use the primary key: see `visible.fact_by_id`.
    LEFT JOIN LATERAL (
        SELECT to_jsonb(f) - '{{facts.texts}}'::text[] AS state,
            (SELECT to_jsonb(t) FROM (SELECT {facts.texts}) t) AS words
        FROM (
            SELECT * FROM {schema}.facts WHERE tenant_id = %(tenant)s AND id = ANY(ARRAY[o.id]) ORDER BY id OFFSET 0
        ) f
        WHERE o.entity_type = 'fact'
        UNION ALL
        SELECT to_jsonb(r) - '{{rules.texts}}'::text[], (SELECT to_jsonb(t) FROM (SELECT {rules.texts}) t)
        FROM (
            SELECT * FROM {schema}.rules WHERE tenant_id = %(tenant)s AND id = ANY(ARRAY[o.id]) ORDER BY id OFFSET 0
        ) r
        WHERE o.entity_type = 'rule'
        UNION ALL
        SELECT to_jsonb(p) - '{{episodes.texts}, consolidated}'::text[],
            (SELECT to_jsonb(t) FROM (SELECT {episodes.texts}) t)
        FROM (
            SELECT * FROM {schema}.episodes WHERE tenant_id = %(tenant)s AND id = ANY(ARRAY[o.id]) ORDER BY id OFFSET 0
        ) p
        WHERE o.entity_type = 'episode'
        UNION ALL
        SELECT to_jsonb(a) - '{{aliases.texts}}'::text[], (SELECT to_jsonb(t) FROM (SELECT {aliases.texts}) t)
        FROM {schema}.aliases a WHERE o.entity_type = 'alias' AND a.tenant_id = %(tenant)s AND a.id = o.id
    ) s ON true
), kept AS (
    INSERT INTO {schema}.texts (tenant_id, memory_id, hash, body)
    SELECT DISTINCT %(tenant)s, id, sha256(convert_to(body, 'UTF8')), body FROM changed
    ON CONFLICT DO NOTHING
), numbered AS (
    UPDATE {schema}.tenants SET last_seq = last_seq + (SELECT count(*) FROM changed)
    WHERE tenant_id = %(tenant)s
    RETURNING last_seq
)
INSERT INTO {schema}.memory_events (
    tenant_id, id, seq, event_type, entity_type, entity_id, occurred_at, actor, request_id, subrequest_id,
    segment_id, session_id, group_id, payload_version, payload, text_hash, undoes
)
SELECT %(tenant)s, c.event_id, (SELECT last_seq FROM numbered) - (SELECT count(*) FROM changed) + c.n,
    c.event_type, c.entity_type, c.id, %(now)s, %(actor)s, c.request_id, %(subrequest_id)s, %(segment_id)s,
    %(session_id)s, %(group_id)s, 1, jsonb_build_object('state', c.state) || c.extra,
    sha256(convert_to(c.body, 'UTF8')), c.undoes
FROM changed c
ORDER BY c.n;

-- name: keep_text
-- Store a text that belongs to a memory but not to its row, for example the reason of a harmful mark.
INSERT INTO {schema}.texts (tenant_id, memory_id, hash, body)
VALUES (%(tenant)s, %(memory_id)s, sha256(convert_to(%(body)s, 'UTF8')), %(body)s)
ON CONFLICT DO NOTHING;

-- name: bump
-- Count a reference to all memories that a read returned: one statement, one event.
WITH referenced_facts AS (
    UPDATE {schema}.facts
    SET reference_count = reference_count + 1, last_referenced_at = greatest(%(now)s, last_referenced_at)
    WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s)
), referenced_rules AS (
    UPDATE {schema}.rules
    SET reference_count = reference_count + 1, last_referenced_at = greatest(%(now)s, last_referenced_at)
    WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s)
), referenced_episodes AS (
    UPDATE {schema}.episodes
    SET reference_count = reference_count + 1, last_referenced_at = greatest(%(now)s, last_referenced_at)
    WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s)
), numbered AS (
    UPDATE {schema}.tenants SET last_seq = last_seq + 1 WHERE tenant_id = %(tenant)s RETURNING last_seq
), listed AS (
    INSERT INTO {schema}.memory_references (tenant_id, memory_id, seq, referenced_at, session_id)
    SELECT DISTINCT %(tenant)s, m.id, n.last_seq, %(now)s::timestamptz, %(session_id)s::text
    FROM numbered n CROSS JOIN unnest(%(ids)s::uuid[]) AS m (id)
)
INSERT INTO {schema}.memory_events (
    tenant_id, id, seq, event_type, entity_type, occurred_at, actor, request_id, subrequest_id, segment_id,
    session_id, payload_version, payload
)
SELECT %(tenant)s, %(event_id)s, last_seq, 'memory.referenced', 'reference', %(now)s, %(actor)s, %(request_id)s,
    %(subrequest_id)s, %(segment_id)s, %(session_id)s, 1,
    jsonb_build_object('ids', to_jsonb(%(ids)s::uuid[]), 'read', %(read)s::text)
FROM numbered;

-- name: of_memory
-- The history of one memory, oldest first; of a long history the newest part.
SELECT * FROM (
    SELECT {columns} FROM {schema}.memory_events e
    WHERE e.tenant_id = %(tenant)s AND e.entity_id = %(id)s
    ORDER BY e.seq DESC
    LIMIT %(limit)s
) newest
ORDER BY seq;
