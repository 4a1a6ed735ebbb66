-- name: start
-- A list is read as it was asked for: a plan for any filters at all would be good for none.
SELECT set_config('plan_cache_mode', 'force_custom_plan', true);

-- part: fact_time
-- When a fact happened or, if it has no time, was stored.
coalesce(m.valid_at, m.created_at)

-- part: patterns
-- What must be found in a text, made once for the whole list. Nothing in it stands for anything else.
(SELECT array_agg('%%' || regexp_replace(lower(n.needle), '([\\%%_])', '\\\1', 'g') || '%%')
    FROM unnest(%(needles)s::text[]) AS n (needle))::text[]

-- part: fact_filters
-- The facts that are asked for.
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
-- The rules that are asked for.
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
-- The episodes that are asked for.
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
-- The order from the newest, after a place in it.
AND (m.created_at, m.id) < (%(after)s::timestamptz, %(after_id)s::uuid)
ORDER BY m.created_at DESC, m.id DESC LIMIT %(limit)s

-- part: oldest
-- The order from the oldest, after a place in it.
AND (m.created_at, m.id) > (%(after)s::timestamptz, %(after_id)s::uuid)
ORDER BY m.created_at, m.id LIMIT %(limit)s

-- part: by_key
-- The order by what was asked for, after a place in it; the sign turns it round.
WHERE (k.key, k.id) > (%(after)s::float8, %(after_id)s::uuid)
ORDER BY k.key, k.id LIMIT %(limit)s

-- part: by_key_back
-- The same order from its end, before a place in it.
WHERE (k.key, k.id) < (%(after)s::float8, %(after_id)s::uuid)
ORDER BY k.key DESC, k.id DESC LIMIT %(limit)s

-- part: never
-- What was never referenced stands before all that was.
-1e15

-- name: facts_newest
-- A page of facts, the newest first.
SELECT m.* FROM {schema}.facts m WHERE {fact_filters} {newest};

-- name: facts_oldest
-- A page of facts, the oldest first.
SELECT m.* FROM {schema}.facts m WHERE {fact_filters} {oldest};

-- part: fact_keys
-- The facts that are asked for, each with what it is sorted by.
SELECT m.*, %(sign)s::int * CASE %(sort)s::text
        WHEN 'observed' THEN date_part('epoch', {fact_time})
        WHEN 'importance' THEN m.importance
        WHEN 'confidence' THEN {schema}.effective_confidence(m.confidence,
            CASE WHEN m.pinned THEN 0 ELSE m.decay_rate END, coalesce(m.last_confirmed_at, m.created_at),
            %(now)s::timestamptz)
        ELSE coalesce(date_part('epoch', m.last_referenced_at), {never}) END AS key
FROM {schema}.facts m WHERE {fact_filters}

-- name: facts_by
-- A page of facts by something else.
SELECT k.* FROM ({fact_keys}) k {by_key};

-- name: facts_by_back
-- The page of facts before a place.
SELECT k.* FROM ({fact_keys}) k {by_key_back};

-- name: facts_count
-- How many facts there are, counted up to a bound.
SELECT count(*) AS count FROM (SELECT FROM {schema}.facts m WHERE {fact_filters} LIMIT %(most)s) c;

-- name: rules_newest
-- A page of rules, the newest first.
SELECT m.* FROM {schema}.rules m WHERE {rule_filters} {newest};

-- name: rules_oldest
-- A page of rules, the oldest first.
SELECT m.* FROM {schema}.rules m WHERE {rule_filters} {oldest};

-- part: rule_keys
-- The rules that are asked for, each with what it is sorted by.
SELECT m.*, %(sign)s::int * CASE %(sort)s::text
        WHEN 'confidence' THEN {schema}.effective_confidence(m.confidence,
            CASE WHEN m.pinned OR m.maturity = 'anti_pattern' THEN 0 ELSE m.decay_rate END,
            coalesce(m.last_confirmed_at, m.created_at), %(now)s::timestamptz)
        ELSE coalesce(date_part('epoch', m.last_referenced_at), {never}) END AS key
FROM {schema}.rules m WHERE {rule_filters}

-- name: rules_by
-- A page of rules by something else.
SELECT k.* FROM ({rule_keys}) k {by_key};

-- name: rules_by_back
-- The page of rules before a place.
SELECT k.* FROM ({rule_keys}) k {by_key_back};

-- name: rules_count
-- How many rules there are, counted up to a bound.
SELECT count(*) AS count FROM (SELECT FROM {schema}.rules m WHERE {rule_filters} LIMIT %(most)s) c;

-- name: episodes_newest
-- A page of episodes, the newest first.
SELECT m.* FROM {schema}.episodes m WHERE {episode_filters} {newest};

-- name: episodes_oldest
-- A page of episodes, the oldest first.
SELECT m.* FROM {schema}.episodes m WHERE {episode_filters} {oldest};

-- part: episode_keys
-- The episodes that are asked for, each with what it is sorted by.
SELECT m.*, %(sign)s::int * CASE %(sort)s::text
        WHEN 'observed' THEN date_part('epoch', m.observed_at)
        WHEN 'importance' THEN m.importance
        ELSE coalesce(date_part('epoch', m.last_referenced_at), {never}) END AS key
FROM {schema}.episodes m WHERE {episode_filters}

-- name: episodes_by
-- A page of episodes by something else.
SELECT k.* FROM ({episode_keys}) k {by_key};

-- name: episodes_by_back
-- The page of episodes before a place.
SELECT k.* FROM ({episode_keys}) k {by_key_back};

-- name: episodes_count
-- How many episodes there are, counted up to a bound.
SELECT count(*) AS count FROM (SELECT FROM {schema}.episodes m WHERE {episode_filters} LIMIT %(most)s) c;

-- name: history
-- Events of a memory, the oldest first, from the last of the page before.
SELECT seq, id, event_type, entity_type, entity_id, occurred_at, actor, request_id, group_id, undoes, payload
FROM {schema}.memory_events
WHERE tenant_id = %(tenant)s AND entity_id = %(id)s AND seq >= %(from_seq)s
ORDER BY seq LIMIT %(limit)s;

-- name: links
-- Links of a memory that somebody may see, the oldest first, each saying whether its other end is still there.
SELECT {links.columns} FROM ({links.ends}) l
WHERE {links.visible} AND (l.created_at, l.relation, l.source_id, l.target_id)
    > (%(after)s::timestamptz, %(after_relation)s::text, %(after_source)s::uuid, %(after_target)s::uuid)
ORDER BY l.created_at, l.relation, l.source_id, l.target_id LIMIT %(limit)s;

-- name: runs
-- Runs of consolidation, the newest first.
SELECT * FROM {schema}.consolidation_runs r
WHERE r.tenant_id = %(tenant)s AND (%(butler)s::text IS NULL OR r.butler = %(butler)s::text)
    AND (%(state)s::text IS NULL OR r.state = %(state)s::text)
    AND (r.claimed_at, r.id) < (%(after)s::timestamptz, %(after_id)s::uuid)
ORDER BY r.claimed_at DESC, r.id DESC LIMIT %(limit)s;

-- name: dead_letters
-- Episodes that consolidation gave up, the oldest first.
SELECT m.* FROM {schema}.episodes m
WHERE m.tenant_id = %(tenant)s AND (%(butler)s::text IS NULL OR m.butler = %(butler)s::text)
    AND m.validity = 'active' AND m.consolidation_status IN ('failed', 'dead_letter')
    {oldest};

-- name: tokens
-- Tokens, the newest first.
SELECT {tokens.columns} FROM {schema}.tokens m
WHERE m.tenant_id = %(tenant)s {newest};
