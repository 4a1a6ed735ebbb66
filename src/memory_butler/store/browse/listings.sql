-- name: start
-- Plan each listing for its own filters: a generic plan for all filters is slow for each of them.
SELECT set_config('plan_cache_mode', 'force_custom_plan', true);

-- part: fact_time
-- The event time of a fact, or the time it was stored if it has none.
coalesce(m.valid_at, m.created_at)

-- part: patterns
-- The LIKE patterns of the text filter, built once for the whole list. Wildcards in the text are escaped.
(SELECT array_agg('%%' || regexp_replace(lower(n.needle), '([\\%%_])', '\\\1', 'g') || '%%')
    FROM unnest(%(needles)s::text[]) AS n (needle))::text[]

-- part: fact_filters
-- Filters of a list of facts.
m.tenant_id = %(tenant)s
    AND (%(scopes)s::text[] IS NULL OR m.scope = ANY(%(scopes)s::text[]))
    AND (%(learned_by)s::text IS NULL OR m.source_butler = %(learned_by)s::text)
    AND (%(subject)s::text IS NULL OR m.subject = %(subject)s::text)
    AND (%(predicate)s::text IS NULL OR m.predicate = %(predicate)s::text)
    AND (%(validity)s::text[] IS NULL OR m.validity = ANY(%(validity)s::text[]))
    AND (%(permanence)s::text[] IS NULL OR m.permanence = ANY(%(permanence)s::text[]))
    AND (%(tags)s::text[] IS NULL OR m.tags @> %(tags)s::text[])
    AND (%(importance_min)s::int IS NULL OR m.importance >= %(importance_min)s::int)
    AND (%(importance_max)s::int IS NULL OR m.importance <= %(importance_max)s::int)
    AND (%(time_from)s::timestamptz IS NULL OR {fact_time} >= %(time_from)s::timestamptz)
    AND (%(time_to)s::timestamptz IS NULL OR {fact_time} < %(time_to)s::timestamptz)
    AND (%(needles)s::text[] IS NULL
        OR lower(m.subject_label || ' ' || m.predicate_label || ' ' || m.content) LIKE ALL ({patterns}))

-- part: rule_filters
-- Filters of a list of rules.
m.tenant_id = %(tenant)s
    AND (%(scopes)s::text[] IS NULL OR m.scope = ANY(%(scopes)s::text[]))
    AND (%(learned_by)s::text IS NULL OR m.source_butler = %(learned_by)s::text)
    AND (%(validity)s::text[] IS NULL OR m.validity = ANY(%(validity)s::text[]))
    AND (%(maturity)s::text[] IS NULL OR m.maturity = ANY(%(maturity)s::text[]))
    AND (%(tags)s::text[] IS NULL OR m.tags @> %(tags)s::text[])
    AND (%(time_from)s::timestamptz IS NULL OR m.created_at >= %(time_from)s::timestamptz)
    AND (%(time_to)s::timestamptz IS NULL OR m.created_at < %(time_to)s::timestamptz)
    AND (%(needles)s::text[] IS NULL OR lower(m.content) LIKE ALL ({patterns}))

-- part: episode_filters
-- Filters of a list of episodes.
m.tenant_id = %(tenant)s
    AND (%(butlers)s::text[] IS NULL OR m.butler = ANY(%(butlers)s::text[]))
    AND (%(validity)s::text[] IS NULL OR m.validity = ANY(%(validity)s::text[]))
    AND (%(tags)s::text[] IS NULL OR m.tags @> %(tags)s::text[])
    AND (%(importance_min)s::int IS NULL OR m.importance >= %(importance_min)s::int)
    AND (%(importance_max)s::int IS NULL OR m.importance <= %(importance_max)s::int)
    AND (%(time_from)s::timestamptz IS NULL OR m.observed_at >= %(time_from)s::timestamptz)
    AND (%(time_to)s::timestamptz IS NULL OR m.observed_at < %(time_to)s::timestamptz)
    AND (%(needles)s::text[] IS NULL OR lower(m.content) LIKE ALL ({patterns}))

-- part: newest
-- Newest first, after a cursor.
AND (m.created_at, m.id) < (%(after)s::timestamptz, %(after_id)s::uuid)
ORDER BY m.created_at DESC, m.id DESC LIMIT %(limit)s

-- part: oldest
-- Oldest first, after a cursor.
AND (m.created_at, m.id) > (%(after)s::timestamptz, %(after_id)s::uuid)
ORDER BY m.created_at, m.id LIMIT %(limit)s

-- part: by_key
-- Order by the sort key, after a cursor; the sign sets the direction.
WHERE (k.key, k.id) > (%(after)s::float8, %(after_id)s::uuid)
ORDER BY k.key, k.id LIMIT %(limit)s

-- part: by_key_back
-- The same order backwards, before a cursor.
WHERE (k.key, k.id) < (%(after)s::float8, %(after_id)s::uuid)
ORDER BY k.key DESC, k.id DESC LIMIT %(limit)s

-- part: never
-- Sort key of memories that were never referenced: they come before all others.
-1e15

-- name: facts_newest
-- A page of facts, the newest first.
SELECT m.* FROM {schema}.facts m WHERE {fact_filters} {newest};

-- name: facts_oldest
-- A page of facts, the oldest first.
SELECT m.* FROM {schema}.facts m WHERE {fact_filters} {oldest};

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

-- name: facts_by
-- A page of facts by a sort key.
SELECT k.* FROM ({fact_keys}) k {by_key};

-- name: facts_by_back
-- The page of facts before a cursor.
SELECT k.* FROM ({fact_keys}) k {by_key_back};

-- name: facts_count
-- The number of facts, counted up to a limit.
SELECT count(*) AS count FROM (SELECT FROM {schema}.facts m WHERE {fact_filters} LIMIT %(most)s) c;

-- name: rules_newest
-- A page of rules, the newest first.
SELECT m.* FROM {schema}.rules m WHERE {rule_filters} {newest};

-- name: rules_oldest
-- A page of rules, the oldest first.
SELECT m.* FROM {schema}.rules m WHERE {rule_filters} {oldest};

-- part: rule_keys
-- The filtered rules with their sort keys.
SELECT m.*, %(sign)s::int * CASE %(sort)s::text
        WHEN 'confidence' THEN {schema}.effective_confidence(m.confidence,
            CASE WHEN m.pinned OR m.maturity = 'anti_pattern' THEN 0 ELSE m.decay_rate END,
            coalesce(m.last_confirmed_at, m.created_at), %(now)s::timestamptz)
        ELSE coalesce(date_part('epoch', m.last_referenced_at), {never}) END AS key
FROM {schema}.rules m WHERE {rule_filters}

-- name: rules_by
-- A page of rules by a sort key.
SELECT k.* FROM ({rule_keys}) k {by_key};

-- name: rules_by_back
-- The page of rules before a cursor.
SELECT k.* FROM ({rule_keys}) k {by_key_back};

-- name: rules_count
-- The number of rules, counted up to a limit.
SELECT count(*) AS count FROM (SELECT FROM {schema}.rules m WHERE {rule_filters} LIMIT %(most)s) c;

-- name: episodes_newest
-- A page of episodes, the newest first.
SELECT m.* FROM {schema}.episodes m WHERE {episode_filters} {newest};

-- name: episodes_oldest
-- A page of episodes, the oldest first.
SELECT m.* FROM {schema}.episodes m WHERE {episode_filters} {oldest};

-- part: episode_keys
-- The filtered episodes with their sort keys.
SELECT m.*, %(sign)s::int * CASE %(sort)s::text
        WHEN 'observed' THEN date_part('epoch', m.observed_at)
        WHEN 'importance' THEN m.importance
        ELSE coalesce(date_part('epoch', m.last_referenced_at), {never}) END AS key
FROM {schema}.episodes m WHERE {episode_filters}

-- name: episodes_by
-- A page of episodes by a sort key.
SELECT k.* FROM ({episode_keys}) k {by_key};

-- name: episodes_by_back
-- The page of episodes before a cursor.
SELECT k.* FROM ({episode_keys}) k {by_key_back};

-- name: episodes_count
-- The number of episodes, counted up to a limit.
SELECT count(*) AS count FROM (SELECT FROM {schema}.episodes m WHERE {episode_filters} LIMIT %(most)s) c;

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
