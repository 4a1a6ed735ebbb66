-- name: before
-- The newest matching entries before a cursor. The events of a group are one entry, at the position of its last event.
-- Scans a bounded part of the log: every row tells how far.
WITH {activity.ending}, piece AS (
    SELECT least(%(before)s::bigint, last_seq + 1) AS below,
        greatest(0, least(%(before)s::bigint, last_seq + 1) - 1 - %(piece)s) AS down_to
    FROM ending
), seen AS (
    SELECT o.* FROM {schema}.memory_events o
    CROSS JOIN LATERAL (SELECT o.*) e
    WHERE o.tenant_id = %(tenant)s AND o.seq < (SELECT below FROM piece) AND o.seq > (SELECT down_to FROM piece)
        AND {chosen} AND {is_last}
    ORDER BY o.seq DESC
    LIMIT %(limit)s
)
{told};

-- name: before_of
-- The same for some memories, over their whole history.
WITH piece AS (
    SELECT 0::bigint AS down_to
), seen AS (
    SELECT o.* FROM {schema}.memory_events o
    CROSS JOIN LATERAL (SELECT o.*) e
    WHERE o.tenant_id = %(tenant)s AND o.entity_id = ANY(%(memories)s) AND o.seq < %(before)s AND {chosen} AND {is_last}
    ORDER BY o.seq DESC
    LIMIT %(limit)s
)
{told};

-- name: before_in
-- The same for one group, with an entry for each of its events.
WITH piece AS (
    SELECT 0::bigint AS down_to
), seen AS (
    SELECT e.* FROM {schema}.memory_events e
    WHERE e.tenant_id = %(tenant)s AND e.group_id = %(group)s AND e.seq < %(before)s
        AND (%(memories)s::uuid[] IS NULL OR e.entity_id = ANY(%(memories)s)) AND {chosen}
    ORDER BY e.seq DESC
    LIMIT %(limit)s
)
{told};

-- name: named
-- The memories with a short reference, of any type, including deleted episodes and purged memories.
SELECT id FROM {schema}.facts WHERE tenant_id = %(tenant)s AND ref = %(ref)s
UNION ALL SELECT id FROM {schema}.rules WHERE tenant_id = %(tenant)s AND ref = %(ref)s
UNION ALL SELECT id FROM {schema}.episodes WHERE tenant_id = %(tenant)s AND ref = %(ref)s
UNION ALL SELECT episode_id FROM {schema}.episode_tombstones WHERE tenant_id = %(tenant)s AND ref = %(ref)s
UNION ALL SELECT entity_id FROM {schema}.memory_events
WHERE tenant_id = %(tenant)s AND event_type IN ('fact.purged', 'rule.purged') AND payload #>> '{purged,ref}' = %(ref)s;

-- part: chosen
-- True if an event matches the filters and is visible to the caller.
(%(actions)s::text[] IS NULL OR split_part(e.event_type, '.', 2) = ANY(%(actions)s))
    AND (%(kinds)s::text[] IS NULL OR e.entity_type = ANY(%(kinds)s))
    AND (%(actor)s::text IS NULL OR strpos(lower(e.actor), lower(%(actor)s)) > 0)
    AND (%(until)s::timestamptz IS NULL OR e.occurred_at < %(until)s)
    AND {activity.visible}

-- part: is_last
-- True if an event is the last matching one of its group.
(o.group_id IS NULL OR NOT EXISTS (
    SELECT FROM {schema}.memory_events e
    WHERE e.tenant_id = %(tenant)s AND e.group_id = o.group_id AND e.seq > o.seq
        AND (%(memories)s::uuid[] IS NULL OR e.entity_id = ANY(%(memories)s)) AND {chosen}
))

-- part: told
-- Entries with their last events and the data that a description needs.
, groups AS (
    SELECT g.group_id, sum(g.events)::bigint AS together, jsonb_object_agg(g.event_type, g.events) AS counts,
        NOT EXISTS (
            SELECT FROM {schema}.memory_events x
            WHERE x.tenant_id = %(tenant)s AND x.group_id = g.group_id AND x.event_type <> 'episode.deleted'
                AND NOT {schema}.is_undone(%(tenant)s, x.id)
        ) AS all_undone
    FROM (
        SELECT e.group_id, e.event_type, count(*) AS events FROM {schema}.memory_events e
        WHERE e.tenant_id = %(tenant)s AND %(group)s::uuid IS NULL
            AND e.group_id = ANY (ARRAY(SELECT DISTINCT s.group_id FROM seen s)) AND {activity.visible}
        GROUP BY e.group_id, e.event_type
    ) g
    GROUP BY g.group_id
), shown AS (
    SELECT s.seq AS place, s.* FROM seen s LEFT JOIN groups g ON g.group_id = s.group_id
    WHERE g.group_id IS NULL OR g.together = 1
    UNION ALL
    SELECT s.seq, m.* FROM seen s JOIN groups g ON g.group_id = s.group_id AND g.together > 1
    CROSS JOIN LATERAL (
        SELECT e.* FROM {schema}.memory_events e
        WHERE e.tenant_id = %(tenant)s AND e.group_id = s.group_id AND {activity.visible}
        ORDER BY e.seq DESC
        LIMIT %(lines)s
    ) m
)
SELECT p.down_to, e.place, {events.described}, {schema}.is_undone(%(tenant)s, e.id) AS is_undone,
    w.about, w.subject, w.predicate, g.together, g.counts, g.all_undone
FROM piece p
LEFT JOIN shown e ON true
LEFT JOIN groups g ON g.group_id = e.group_id
{events.before}
LEFT JOIN LATERAL (
    SELECT {schema}.preview(m.content, %(about)s) AS about, m.subject_label AS subject, m.predicate_label AS predicate
    FROM {schema}.facts m WHERE e.entity_type = 'fact' AND m.tenant_id = %(tenant)s AND m.id = e.entity_id
    UNION ALL
    SELECT {schema}.preview(m.content, %(about)s), NULL, NULL FROM {schema}.rules m
    WHERE e.entity_type = 'rule' AND m.tenant_id = %(tenant)s AND m.id = e.entity_id
    UNION ALL
    SELECT {schema}.preview(m.content, %(about)s), NULL, NULL FROM {schema}.episodes m
    WHERE e.entity_type = 'episode' AND m.tenant_id = %(tenant)s AND m.id = e.entity_id
    UNION ALL
    SELECT m.alias_label || ' is ' || m.subject, NULL, NULL FROM {schema}.aliases m
    WHERE e.entity_type = 'alias' AND m.tenant_id = %(tenant)s AND m.id = e.entity_id
) w ON true
{undo.around_event}
ORDER BY e.place DESC, e.seq
