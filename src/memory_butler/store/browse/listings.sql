-- name: start
-- Plan each listing for its own filters: a generic plan for all filters is slow for each of them.
SELECT set_config('plan_cache_mode', 'force_custom_plan', true);

-- part: fact_time
-- The event time of a fact, or the time it was stored if it has none.
coalesce(m.valid_at, m.created_at)

-- part: accents
-- Letters with accents, and those without that the text filter compares instead: "ines" finds "Inês".
'áàâãäåéèêëíìîïóòôõöúùûüçñý', 'aaaaaaeeeeiiiiooooouuuucny'

-- part: patterns
-- The LIKE patterns of the text filter, built once for the whole list. Wildcards in the text are escaped.
(SELECT array_agg('%%' || regexp_replace(translate(lower(n.needle), {accents}), '([\\%%_])', '\\\1', 'g') || '%%')
    FROM unnest(%(needles)s::text[]) AS n (needle))::text[]

-- part: searched
-- The part of a content that the text filter compares: nothing of an encrypted one.
CASE WHEN m.content LIKE 'enc:v1:%%' THEN '' ELSE m.content END

-- part: chosen
-- Filters that all types have: pinned, never referenced, and a list of ids.
(%(pinned)s::boolean IS NULL OR m.pinned = %(pinned)s::boolean)
    AND (NOT %(unused)s::boolean OR m.last_referenced_at IS NULL)
    AND (%(ids)s::uuid[] IS NULL OR m.id = ANY(%(ids)s::uuid[]))

-- part: fact_filters
-- Filters of a list of facts.
m.tenant_id = %(tenant)s
    AND (%(scopes)s::text[] IS NULL OR m.scope = ANY(%(scopes)s::text[]))
    AND (%(learned_by)s::text IS NULL OR m.source_butler = %(learned_by)s::text)
    AND (%(subject)s::text IS NULL OR m.subject = %(subject)s::text)
    AND (%(predicate)s::text IS NULL OR m.predicate = %(predicate)s::text)
    AND (%(validity)s::text[] IS NULL OR m.validity = ANY(%(validity)s::text[]))
    AND (m.quarantine_reason IS NULL OR %(quarantined)s)
    AND {chosen}
    AND (%(permanence)s::text[] IS NULL OR m.permanence = ANY(%(permanence)s::text[]))
    AND (%(tags)s::text[] IS NULL OR m.tags @> %(tags)s::text[])
    AND (%(importance_min)s::int IS NULL OR m.importance >= %(importance_min)s::int)
    AND (%(importance_max)s::int IS NULL OR m.importance <= %(importance_max)s::int)
    AND (%(time_from)s::timestamptz IS NULL OR {fact_time} >= %(time_from)s::timestamptz)
    AND (%(time_to)s::timestamptz IS NULL OR {fact_time} < %(time_to)s::timestamptz)
    AND (%(needles)s::text[] IS NULL
        OR translate(lower(m.subject_label || ' ' || m.predicate_label || ' ' || {searched}), {accents})
            LIKE ALL ({patterns}))

-- part: rule_filters
-- Filters of a list of rules.
m.tenant_id = %(tenant)s
    AND (%(scopes)s::text[] IS NULL OR m.scope = ANY(%(scopes)s::text[]))
    AND (%(learned_by)s::text IS NULL OR m.source_butler = %(learned_by)s::text)
    AND (%(validity)s::text[] IS NULL OR m.validity = ANY(%(validity)s::text[]))
    AND (m.quarantine_reason IS NULL OR %(quarantined)s)
    AND {chosen}
    AND (%(maturity)s::text[] IS NULL OR m.maturity = ANY(%(maturity)s::text[]))
    AND (%(tags)s::text[] IS NULL OR m.tags @> %(tags)s::text[])
    AND (%(time_from)s::timestamptz IS NULL OR m.created_at >= %(time_from)s::timestamptz)
    AND (%(time_to)s::timestamptz IS NULL OR m.created_at < %(time_to)s::timestamptz)
    AND (%(needles)s::text[] IS NULL OR translate(lower({searched}), {accents}) LIKE ALL ({patterns}))

-- part: episode_filters
-- Filters of a list of episodes.
m.tenant_id = %(tenant)s
    AND (%(butlers)s::text[] IS NULL OR m.butler = ANY(%(butlers)s::text[]))
    AND (%(validity)s::text[] IS NULL OR m.validity = ANY(%(validity)s::text[]))
    AND (m.quarantine_reason IS NULL OR %(quarantined)s)
    AND {chosen}
    AND (%(tags)s::text[] IS NULL OR m.tags @> %(tags)s::text[])
    AND (%(importance_min)s::int IS NULL OR m.importance >= %(importance_min)s::int)
    AND (%(importance_max)s::int IS NULL OR m.importance <= %(importance_max)s::int)
    AND (%(time_from)s::timestamptz IS NULL OR m.observed_at >= %(time_from)s::timestamptz)
    AND (%(time_to)s::timestamptz IS NULL OR m.observed_at < %(time_to)s::timestamptz)
    AND (%(needles)s::text[] IS NULL OR translate(lower({searched}), {accents}) LIKE ALL ({patterns}))

-- part: newest
-- Newest first, after a cursor.
AND (m.created_at, m.id) < (%(after)s::timestamptz, %(after_id)s::uuid)
ORDER BY m.created_at DESC, m.id DESC LIMIT %(limit)s

-- part: oldest
-- Oldest first, after a cursor.
AND (m.created_at, m.id) > (%(after)s::timestamptz, %(after_id)s::uuid)
ORDER BY m.created_at, m.id LIMIT %(limit)s

-- part: never
-- Sort key of memories that were never referenced: they come before all others.
-1e15

-- part: fact_keys
-- The filtered facts with their sort keys.
SELECT m.*, %(sign)s::int * CASE %(sort)s::text
        WHEN 'observed' THEN date_part('epoch', {fact_time})
        WHEN 'importance' THEN m.importance
        WHEN 'confidence' THEN {schema}.effective_confidence(m.confidence,
            CASE WHEN m.pinned THEN 0 ELSE m.decay_rate END, coalesce(m.last_confirmed_at, m.created_at),
            %(now)s::timestamptz)
        ELSE coalesce(date_part('epoch', m.last_referenced_at), {never}) END AS key
FROM {schema}.facts m WHERE {fact_filters}

-- part: rule_keys
-- The filtered rules with their sort keys.
SELECT m.*, %(sign)s::int * CASE %(sort)s::text
        WHEN 'confidence' THEN {schema}.effective_confidence(m.confidence,
            CASE WHEN m.pinned OR m.maturity = 'anti_pattern' THEN 0 ELSE m.decay_rate END,
            coalesce(m.last_confirmed_at, m.created_at), %(now)s::timestamptz)
        ELSE coalesce(date_part('epoch', m.last_referenced_at), {never}) END AS key
FROM {schema}.rules m WHERE {rule_filters}

-- part: episode_keys
-- The filtered episodes with their sort keys.
SELECT m.*, %(sign)s::int * CASE %(sort)s::text
        WHEN 'observed' THEN date_part('epoch', m.observed_at)
        WHEN 'importance' THEN m.importance
        ELSE coalesce(date_part('epoch', m.last_referenced_at), {never}) END AS key
FROM {schema}.episodes m WHERE {episode_filters}

-- name: newest
-- each: fact=facts, rule=rules, episode=episodes
-- A page of memories, the newest first.
SELECT m.* FROM {schema}.{table} m WHERE {{kind}_filters} {newest};

-- name: oldest
-- each: fact=facts, rule=rules, episode=episodes
-- A page of memories, the oldest first.
SELECT m.* FROM {schema}.{table} m WHERE {{kind}_filters} {oldest};

-- name: by
-- each: fact=facts, rule=rules, episode=episodes
-- A page of memories by a sort key; the sign sets the direction.
SELECT k.* FROM ({{kind}_keys}) k WHERE (k.key, k.id) > (%(after)s::float8, %(after_id)s::uuid)
ORDER BY k.key, k.id LIMIT %(limit)s;

-- name: by_back
-- each: fact=facts, rule=rules, episode=episodes
-- The same order backwards, before a cursor.
SELECT k.* FROM ({{kind}_keys}) k WHERE (k.key, k.id) < (%(after)s::float8, %(after_id)s::uuid)
ORDER BY k.key DESC, k.id DESC LIMIT %(limit)s;

-- name: count
-- each: fact=facts, rule=rules, episode=episodes
-- The number of memories, counted up to a limit.
SELECT count(*) AS count FROM (SELECT FROM {schema}.{table} m WHERE {{kind}_filters} LIMIT %(most)s) c;

-- name: history
-- A page of the events of a memory, oldest first.
SELECT {events.columns} FROM {schema}.memory_events e
WHERE e.tenant_id = %(tenant)s AND e.entity_id = %(id)s AND e.seq >= %(from_seq)s
ORDER BY e.seq LIMIT %(limit)s;

-- name: links
-- A page of the links of a memory that the caller may see, oldest first, and whether the other end still exists.
SELECT {links.columns} FROM ({links.ends}) l
WHERE {links.visible} AND (l.created_at, l.relation, l.source_id, l.target_id)
    > (%(after)s::timestamptz, %(after_relation)s::text, %(after_source)s::uuid, %(after_target)s::uuid)
ORDER BY l.created_at, l.relation, l.source_id, l.target_id LIMIT %(limit)s;

-- name: runs
-- Consolidation runs, newest first.
SELECT * FROM {schema}.consolidation_runs r
WHERE r.tenant_id = %(tenant)s AND (%(butler)s::text IS NULL OR r.butler = %(butler)s::text)
    AND (%(state)s::text IS NULL OR r.state = %(state)s::text)
    AND (r.claimed_at, r.id) < (%(after)s::timestamptz, %(after_id)s::uuid)
ORDER BY r.claimed_at DESC, r.id DESC LIMIT %(limit)s;

-- name: dead_letters
-- Dead-lettered episodes, oldest first.
SELECT m.* FROM {schema}.episodes m
WHERE m.tenant_id = %(tenant)s AND (%(butler)s::text IS NULL OR m.butler = %(butler)s::text)
    AND m.validity = 'active' AND m.consolidation_status IN ('failed', 'dead_letter')
    {oldest};

-- name: tokens
-- Tokens, the newest first.
SELECT {tokens.columns} FROM {schema}.tokens m
WHERE m.tenant_id = %(tenant)s {newest};
