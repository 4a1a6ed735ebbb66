-- name: find
-- The event with an id or, if there is none, the group.
(SELECT 'event' AS kind, e.entity_type, e.group_id, e.seq AS oldest, ({undoable})::int::bigint AS events
FROM {schema}.memory_events e WHERE e.tenant_id = %(tenant)s AND e.id = %(id)s)
UNION ALL
(SELECT 'group', NULL, %(id)s::uuid, coalesce(min(e.seq) FILTER (WHERE {undoable}), 0),
    count(*) FILTER (WHERE {undoable})
FROM {schema}.memory_events e WHERE e.tenant_id = %(tenant)s AND e.group_id = %(id)s HAVING count(*) > 0)
ORDER BY kind
LIMIT 1;

-- part: undoable
-- A decay rate follows the settings, and a purge is for good: the events that write a changed rate or cut a fact off
-- from the purged one that it replaced are exempt from undo.
split_part(e.event_type, '.', 2) NOT IN ('rate_changed', 'cut_off')

-- part: present
-- The current state of the memory or alias of an event.
LEFT JOIN LATERAL (
    SELECT to_jsonb(f) AS state, f.source_butler AS butler FROM {schema}.facts f
    WHERE e.entity_type = 'fact' AND f.tenant_id = %(tenant)s AND f.id = e.entity_id
    UNION ALL
    SELECT to_jsonb(r), r.source_butler FROM {schema}.rules r
    WHERE e.entity_type = 'rule' AND r.tenant_id = %(tenant)s AND r.id = e.entity_id
    UNION ALL
    SELECT to_jsonb(p), p.butler FROM {schema}.episodes p
    WHERE e.entity_type = 'episode' AND p.tenant_id = %(tenant)s AND p.id = e.entity_id
    UNION ALL
    SELECT to_jsonb(a), '' FROM {schema}.aliases a
    WHERE e.entity_type = 'alias' AND a.tenant_id = %(tenant)s AND a.id = e.entity_id
) here ON true

-- name: examine
-- Events to undo, newest first, each with the state before it, the current state, and the memory that may block it. Of
-- several events of a group on one memory the newer are undone first; the older are compared with the state before
-- those. A column that is NULL is equal to one that did not exist when an event was written.
WITH picked AS MATERIALIZED (
    (SELECT * FROM {schema}.memory_events e WHERE e.tenant_id = %(tenant)s AND e.id = %(event_id)s::uuid)
    UNION ALL
    (SELECT * FROM {schema}.memory_events e
    WHERE e.tenant_id = %(tenant)s AND e.group_id = %(group_id)s::uuid AND e.seq < %(below)s::bigint AND {undoable}
    ORDER BY e.seq DESC LIMIT %(limit)s)
)
SELECT e.seq, e.id, e.event_type, e.entity_type, e.entity_id, e.occurred_at,
    coalesce(e.payload #>> '{state,ref}', e.payload #>> '{tombstone,ref}', e.entity_id::text) AS ref,
    e.payload -> 'application' AS application, e.payload -> 'undone' AS undid,
    CASE WHEN coalesce(e.payload #>> '{undone,event}', e.event_type) LIKE '%%.linked' THEN e.payload -> 'links' END
        AS links,
    e.payload -> 'unlinked' AS unlinked,
    here.state IS NULL AS is_gone, {schema}.is_undone(%(tenant)s, e.id) AS is_undone,
    l.id = e.id OR ({schema}.same_text(%(tenant)s, e.entity_id, l.text_hash, e.text_hash)
        AND jsonb_strip_nulls({schema}.left_state(l.payload)) = jsonb_strip_nulls({schema}.left_state(e.payload)))
        AS is_unchanged,
    l.undoes IS NOT NULL AS is_last_undo,
    (e.payload #>> '{state,last_confirmed_at}') IS DISTINCT FROM (b.payload #>> '{state,last_confirmed_at}')
        AS is_confirmation,
    b.text_hash IS DISTINCT FROM e.text_hash AS is_rewording,
    coalesce(b.id, e.id) AS source_id, h.id AS holder_id, h.ref AS holder_ref,
    here.state AS current, here.butler, b.payload -> 'state' AS before,
    -- The state that the newer events of the group, undone first, leave behind.
    CASE WHEN n.seq IS NOT NULL THEN l.payload -> 'state' END AS left_behind
FROM picked e
LEFT JOIN LATERAL (
    SELECT x.seq FROM {schema}.memory_events x
    WHERE x.tenant_id = %(tenant)s AND x.entity_id = e.entity_id AND x.seq > e.seq AND %(group_id)s::uuid IS NOT NULL
        -- Not `=`: the memory's few events are to be looked through, not the many of the group.
        AND x.group_id IS NOT DISTINCT FROM %(group_id)s::uuid AND NOT {schema}.is_undone(%(tenant)s, x.id)
    ORDER BY x.seq LIMIT 1
) n ON true
CROSS JOIN LATERAL (
    SELECT x.id, x.payload, x.text_hash, x.undoes FROM {schema}.memory_events x
    WHERE x.tenant_id = %(tenant)s AND x.entity_id = e.entity_id AND (n.seq IS NULL OR x.seq < n.seq)
    ORDER BY x.seq DESC LIMIT 1
) l
LEFT JOIN LATERAL (
    SELECT x.id, x.payload, x.text_hash FROM {schema}.memory_events x
    WHERE x.tenant_id = %(tenant)s AND x.entity_id = e.entity_id AND x.seq < e.seq
    ORDER BY x.seq DESC LIMIT 1
) b ON true
{present}
LEFT JOIN LATERAL (
    -- The validity is spelled in a way that no index on live memories is used: there may be ever so many of them.
    SELECT o.id, 'fact:' || o.ref AS ref
    FROM {schema}.facts f
    JOIN {schema}.facts o ON o.tenant_id = %(tenant)s AND o.subject = f.subject AND o.predicate = f.predicate
        AND o.scope = f.scope AND o.validity || '' IN ('active', 'fading') AND o.id <> f.id
        AND (o.valid_at IS NULL AND f.valid_at IS NULL OR o.valid_at = f.valid_at AND o.content_hash = f.content_hash)
    WHERE e.entity_type = 'fact' AND f.tenant_id = %(tenant)s AND f.id = e.entity_id
    UNION ALL
    SELECT o.id, 'rule:' || o.ref
    FROM {schema}.rules r
    JOIN {schema}.rules o ON o.tenant_id = %(tenant)s AND o.content_hash = r.content_hash AND o.scope = r.scope
        AND o.validity || '' IN ('active', 'fading') AND o.id <> r.id
    WHERE e.entity_type = 'rule' AND r.tenant_id = %(tenant)s AND r.id = e.entity_id
    LIMIT 1
) h ON here.state ->> 'validity' NOT IN ('active', 'fading')
    AND b.payload #>> '{state,validity}' IN ('active', 'fading')
ORDER BY e.seq DESC;

-- name: undone_to
-- Those events whose memories returned to them by undoing later ones. A memory may differ slightly from the event, if
-- its exact state could not be restored.
WITH RECURSIVE earlier AS (
    SELECT e.id AS wanted, e.entity_id, e.payload AS left_as, e.text_hash AS words, l.id, l.undoes, l.payload,
        l.text_hash
    FROM {schema}.memory_events e
    CROSS JOIN LATERAL (
        SELECT * FROM {schema}.memory_events x
        WHERE x.tenant_id = %(tenant)s AND x.entity_id = e.entity_id
        ORDER BY x.seq DESC LIMIT 1
    ) l
    WHERE e.tenant_id = %(tenant)s AND e.id = ANY(%(ids)s)
    UNION ALL
    SELECT w.wanted, w.entity_id, w.left_as, w.words, y.id, y.undoes, y.payload, y.text_hash
    FROM earlier w
    JOIN {schema}.memory_events x ON x.tenant_id = %(tenant)s AND x.id = w.undoes
    CROSS JOIN LATERAL (
        SELECT * FROM {schema}.memory_events z
        WHERE z.tenant_id = %(tenant)s AND z.entity_id = x.entity_id AND z.seq < x.seq
        ORDER BY z.seq DESC LIMIT 1
    ) y
)
SELECT DISTINCT wanted AS id FROM earlier
WHERE jsonb_strip_nulls({schema}.left_state(payload)) = jsonb_strip_nulls({schema}.left_state(left_as))
    AND {schema}.same_text(%(tenant)s, entity_id, text_hash, words);

-- name: later
-- Later events of a memory that are not undone, oldest first.
SELECT x.id, x.event_type, x.occurred_at, x.actor
FROM {schema}.memory_events e
JOIN {schema}.memory_events x ON x.tenant_id = %(tenant)s AND x.entity_id = e.entity_id AND x.seq > e.seq
LEFT JOIN {schema}.memory_events u ON u.tenant_id = %(tenant)s AND u.id = x.undoes
WHERE e.tenant_id = %(tenant)s AND e.id = %(id)s AND (u.seq IS NULL OR u.seq <= e.seq)
    AND NOT {schema}.is_undone(%(tenant)s, x.id) AND split_part(x.event_type, '.', 2) NOT IN ('rate_changed', 'cut_off')
ORDER BY x.seq
LIMIT %(limit)s;

-- name: look_up_by_key
-- Read rows by index for the rest of the transaction: rows changed by a sweep or an undo are not in the statistics yet,
-- and the planner may scan all memories of a tenant for each page.
SELECT set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);

-- part: restored
-- The memories to restore: the event whose state they return to, and the fields to override. Texts only if they change.
(
    SELECT o.id, o.renews, {schema}.left_state(e.payload) || coalesce(t.body::jsonb, '{}') || o.given AS state
    FROM unnest(%(ids)s::uuid[], %(sources)s::uuid[], %(renews)s::boolean[], %(rewords)s::boolean[], %(given)s::jsonb[])
        AS o (id, source, renews, rewords, given)
    JOIN {schema}.memory_events e ON e.tenant_id = %(tenant)s AND e.id = o.source
    LEFT JOIN {schema}.texts t ON o.rewords AND t.tenant_id = %(tenant)s AND t.memory_id = o.id AND t.hash = e.text_hash
) o

-- name: restore
-- each: fact=facts, rule=rules
-- Restore facts or rules to the state after an event, except their references.
UPDATE {schema}.{table} m
SET ({{table}.mutable}) = (
    SELECT {{table}.mutable}
    FROM jsonb_populate_record(m, o.state || CASE WHEN o.renews THEN jsonb_build_object(
        'last_confirmed_at', greatest(%(now)s, m.created_at, m.last_confirmed_at)) ELSE '{}' END))
FROM {restored}
WHERE m.tenant_id = %(tenant)s AND m.id = o.id;

-- name: restore_episodes
-- Restore episodes to the state after an event, except their references.
UPDATE {schema}.episodes m
SET ({episodes.mutable}) = (
    SELECT {episodes.mutable}
    FROM jsonb_populate_record(m, o.state || CASE WHEN o.renews THEN jsonb_build_object(
        'expires_at', %(now)s::timestamptz + ((o.state ->> 'expires_at')::timestamptz - m.created_at)) ELSE '{}' END))
FROM {restored}
WHERE m.tenant_id = %(tenant)s AND m.id = o.id;

-- name: restore_aliases
-- Withdraw or restore aliases.
UPDATE {schema}.aliases m SET validity = o.state ->> 'validity' FROM {restored}
WHERE m.tenant_id = %(tenant)s AND m.id = o.id;

-- name: find_application
-- One application of a rule.
SELECT rule_id, outcome, reason, butler, session_id, created_at FROM {schema}.rule_applications
WHERE tenant_id = %(tenant)s AND id = %(id)s;

-- name: settle_evidence
-- Write the remaining evidence to a rule.
UPDATE {schema}.rules
SET applied_count = %(successes)s::int + %(harmful)s::int, success_count = %(successes)s, harmful_count = %(harmful)s,
    effectiveness_score = %(effectiveness)s, harmful_reasons = %(reasons)s
WHERE tenant_id = %(tenant)s AND id = %(rule_id)s;

-- part: around_event
-- Context of an event: the text of its reason, and the other fact it names. The fact that replaced a superseded one is
-- in the same group. OFFSET computes the keys first: only plain values use an index under row-level security.
LEFT JOIN LATERAL (
    SELECT decode(coalesce(e.payload #>> '{application,reason_hash}', e.payload #>> '{correction,reason_hash}',
            e.payload ->> 'reason_hash'), 'hex') AS hash,
        coalesce(e.payload #>> '{correction,by}', e.payload #>> '{correction,of}', e.payload ->> 'restored',
            e.payload ->> 'supersedes')::uuid AS other
    OFFSET 0
) k ON true
LEFT JOIN {schema}.texts t ON t.tenant_id = %(tenant)s AND t.memory_id = e.entity_id AND t.hash = k.hash
LEFT JOIN {schema}.facts f ON f.tenant_id = %(tenant)s AND f.id = k.other
LEFT JOIN LATERAL (
    SELECT x.payload #>> '{state,ref}' AS ref FROM {schema}.memory_events x
    WHERE x.tenant_id = %(tenant)s AND x.group_id = e.group_id AND x.event_type = 'fact.created'
        AND (x.payload #>> '{state,supersedes_id}')::uuid = e.entity_id
    LIMIT 1
) s ON e.event_type = 'fact.superseded'

-- name: around
-- Context of the newest events of a memory, and whether each is undone.
SELECT e.id, e.entity_id, t.body::jsonb ->> 'reason' AS reason, {schema}.is_undone(%(tenant)s, e.id) AS is_undone,
    'fact:' || coalesce(f.ref, s.ref) AS other
FROM (
    SELECT * FROM {schema}.memory_events
    WHERE tenant_id = %(tenant)s AND entity_id = %(id)s
    ORDER BY seq DESC
    LIMIT %(limit)s
) e
{around_event};
