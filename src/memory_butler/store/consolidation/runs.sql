-- name: close_lost
-- End the expired claims of a shard: their episodes can be claimed again.
UPDATE {schema}.consolidation_runs
SET state = 'lost', finished_at = %(now)s, error = %(error)s
WHERE tenant_id = %(tenant)s AND butler = %(butler)s AND state = 'claimed' AND lease_until <= %(now)s
RETURNING id;

-- name: claimed
-- The current claim on a shard.
SELECT id, distiller, lease_until FROM {schema}.consolidation_runs
WHERE tenant_id = %(tenant)s AND butler = %(butler)s AND state = 'claimed';

-- part: in_runs
-- The runs of an episode e.
SELECT r.state FROM {schema}.consolidation_episodes h
JOIN {schema}.consolidation_runs r ON r.tenant_id = h.tenant_id AND r.id = h.run_id
WHERE h.tenant_id = e.tenant_id AND h.episode_id = e.id

-- part: held
-- True for an episode e of a proposal that awaits a decision. A single subquery for all episodes: one per episode of a
-- long backlog took longer than the rest of a claim.
(e.id IN (SELECT h.episode_id FROM {schema}.consolidation_runs r
    JOIN {schema}.consolidation_episodes h ON h.tenant_id = r.tenant_id AND h.run_id = r.id
    WHERE r.tenant_id = %(tenant)s AND r.state = 'waiting'))

-- part: locked
-- True for an episode e that is encrypted with a key that is not available now.
(cardinality(%(locked)s::text[]) > 0 AND e.content LIKE 'enc:v1:%%'
    AND substr(e.content, 8, 8) = ANY(%(locked)s::text[]))

-- part: waits
-- True for an episode e that waits for consolidation.
(e.validity = 'active' AND e.consolidation_status = 'pending' AND NOT {held})

-- part: proposed
-- True for an episode e whose proposal awaits a decision.
(e.validity = 'active' AND e.consolidation_status = 'pending' AND {held})

-- part: given_up
-- True for an episode e that consolidation failed on for good.
(e.validity = 'active' AND e.consolidation_status IN ('failed', 'dead_letter'))

-- part: unkept
-- True for an episode e of which nothing was kept.
(NOT EXISTS (SELECT FROM {schema}.distilled_keys k WHERE k.tenant_id = e.tenant_id AND k.episode_id = e.id))

-- part: losses
-- The number of lost workers that had claimed an episode e.
(SELECT count(*) FROM ({in_runs} AND r.state = 'lost') lost)

-- name: claim
-- Claim a batch for a run.
WITH run AS (
    INSERT INTO {schema}.consolidation_runs (tenant_id, id, butler, distiller, state, claimed_at, lease_until, episodes,
        request_id)
    VALUES (%(tenant)s, %(run)s, %(butler)s, %(distiller)s, 'claimed', %(now)s, %(lease_until)s,
        cardinality(%(episodes)s::uuid[]), %(request_id)s)
)
INSERT INTO {schema}.consolidation_episodes (tenant_id, run_id, episode_id, place)
SELECT %(tenant)s, %(run)s, b.id, b.place FROM unnest(%(episodes)s::uuid[]) WITH ORDINALITY AS b (id, place);

-- name: account
-- Record the cost of a dry run. It has no claim and holds no episode.
INSERT INTO {schema}.consolidation_runs (tenant_id, id, butler, distiller, state, claimed_at, lease_until, finished_at,
    error, episodes, input_tokens, output_tokens, cost_microdollars, request_id)
VALUES (%(tenant)s, %(run)s, %(butler)s, %(distiller)s, 'rehearsed', %(now)s, %(now)s, %(now)s, %(error)s, %(episodes)s,
    %(input_tokens)s, %(output_tokens)s, %(cost_microdollars)s, %(request_id)s);

-- name: finish
-- End a run or let it wait for a decision, if it is still in the expected state.
UPDATE {schema}.consolidation_runs
SET state = %(state)s, finished_at = CASE WHEN %(state)s = 'waiting' THEN NULL ELSE %(now)s::timestamptz END,
    error = %(error)s, input_tokens = input_tokens + %(input_tokens)s,
    output_tokens = output_tokens + %(output_tokens)s,
    cost_microdollars = cost_microdollars + %(cost_microdollars)s
WHERE tenant_id = %(tenant)s AND id = %(run)s AND state = %(from_state)s
RETURNING id;

-- name: get
-- One run.
SELECT * FROM {schema}.consolidation_runs WHERE tenant_id = %(tenant)s AND id = %(run)s;

-- name: undone
-- The number of changes of a run and of the undone ones, with the actor and time of the last undo.
SELECT count(DISTINCT e.id) AS changes, count(DISTINCT u.undoes) AS undone, max(u.occurred_at) AS undone_at,
    (array_agg(u.actor ORDER BY u.seq DESC) FILTER (WHERE u.seq IS NOT NULL))[1] AS undone_by
FROM {schema}.memory_events e
LEFT JOIN {schema}.memory_events u ON u.tenant_id = e.tenant_id AND u.undoes = e.id
    AND NOT {schema}.is_undone(u.tenant_id, u.id)
WHERE e.tenant_id = %(tenant)s AND e.group_id = %(run)s;

-- name: batch
-- The existing episodes of a run, in the order of the batch.
SELECT e.*, {episodes.well_referenced} AS well_referenced
FROM {schema}.consolidation_episodes b
-- Looked up one by one: a plan made for a small store would read all episodes of a large one.
CROSS JOIN LATERAL (SELECT * FROM {schema}.episodes WHERE tenant_id = %(tenant)s AND id = b.episode_id OFFSET 0) e
WHERE b.tenant_id = %(tenant)s AND b.run_id = %(run)s
ORDER BY b.place;

-- name: put_items
-- Store the proposals of a run and their outcomes.
INSERT INTO {schema}.consolidation_items (tenant_id, run_id, place, kind, proposed, state, reason, said, outcome,
    memory_type, memory_id)
SELECT %(tenant)s, %(run)s, i.place, i.kind, i.proposed, i.state, i.reason, i.said, i.outcome, i.memory_type,
    i.memory_id
FROM jsonb_to_recordset(%(items)s::jsonb) AS i (place int, kind text, proposed jsonb, state text, reason text,
    said text, outcome text, memory_type text, memory_id uuid)
ON CONFLICT (tenant_id, run_id, place) DO UPDATE
SET state = EXCLUDED.state, reason = EXCLUDED.reason, said = EXCLUDED.said, outcome = EXCLUDED.outcome,
    memory_type = EXCLUDED.memory_type, memory_id = EXCLUDED.memory_id;

-- name: decide_items
-- Store a user's decision about items that await one.
UPDATE {schema}.consolidation_items SET state = %(state)s
WHERE tenant_id = %(tenant)s AND run_id = %(run)s AND place = ANY(%(places)s)
    AND state IN ('proposed', 'approved', 'rejected');

-- name: edit_item
-- Store other words for an item that awaits a decision.
UPDATE {schema}.consolidation_items SET proposed = %(proposed)s
WHERE tenant_id = %(tenant)s AND run_id = %(run)s AND place = %(place)s
    AND state IN ('proposed', 'approved', 'rejected')
RETURNING place;

-- name: undecided
-- The number of items of waiting runs that nobody has decided on.
SELECT count(*) AS count FROM {schema}.consolidation_items i
JOIN {schema}.consolidation_runs r ON r.tenant_id = i.tenant_id AND r.id = i.run_id
WHERE i.tenant_id = %(tenant)s AND r.state = 'waiting' AND i.state = 'proposed';

-- name: items
-- The proposals of a run, in order.
SELECT * FROM {schema}.consolidation_items WHERE tenant_id = %(tenant)s AND run_id = %(run)s ORDER BY place;

-- name: known_keys
-- Those of some keys that were distilled from their episode before.
SELECT k.episode_id, k.key FROM {schema}.distilled_keys k
JOIN unnest(%(episodes)s::uuid[], %(keys)s::bytea[]) AS w (episode_id, key)
    ON k.episode_id = w.episode_id AND k.key = w.key
WHERE k.tenant_id = %(tenant)s;

-- name: keep_keys
-- Store the keys of distilled items by episode.
INSERT INTO {schema}.distilled_keys (tenant_id, episode_id, key, run_id)
SELECT %(tenant)s, w.episode_id, w.key, %(run)s
FROM unnest(%(episodes)s::uuid[], %(keys)s::bytea[]) AS w (episode_id, key)
ON CONFLICT DO NOTHING;

-- name: drop_keys
-- Delete the distilled keys of episodes, so that they can be distilled again.
DELETE FROM {schema}.distilled_keys WHERE tenant_id = %(tenant)s AND episode_id = ANY(%(episodes)s);

-- name: drop_losses
-- Delete the records of lost workers of these episodes: their count restarts at 0.
DELETE FROM {schema}.consolidation_episodes b USING {schema}.consolidation_runs r
WHERE b.tenant_id = %(tenant)s AND b.episode_id = ANY(%(episodes)s)
    AND r.tenant_id = b.tenant_id AND r.id = b.run_id AND r.state = 'lost';

-- name: drop_needless_keys
-- Delete distilled keys whose episode no longer exists.
DELETE FROM {schema}.distilled_keys
WHERE tenant_id = %(tenant)s AND (episode_id, key) IN (
    SELECT k.episode_id, k.key FROM {schema}.distilled_keys k
    WHERE k.tenant_id = %(tenant)s
        AND NOT EXISTS (SELECT FROM {schema}.episodes e WHERE e.tenant_id = k.tenant_id AND e.id = k.episode_id)
    LIMIT %(limit)s)
RETURNING key;

-- name: set_status
-- Set the consolidation status of episodes.
UPDATE {schema}.episodes e
SET consolidation_status = s.status, consolidation_attempts = s.attempts, last_consolidation_error = s.error,
    next_consolidation_retry_at = s.retry_at
FROM unnest(%(ids)s::uuid[], %(statuses)s::text[], %(attempts)s::int[], %(errors)s::text[], %(retries)s::timestamptz[])
    AS s (id, status, attempts, error, retry_at)
WHERE e.tenant_id = %(tenant)s AND e.id = s.id
RETURNING e.id;

-- name: stored_hashes
-- Those of some content hashes that belong to a live fact or rule in these scopes.
SELECT content_hash AS hash FROM {schema}.facts
WHERE tenant_id = %(tenant)s AND content_hash = ANY(%(hashes)s) AND validity IN ('active', 'fading')
    AND scope = ANY(%(scopes)s)
UNION
SELECT content_hash FROM {schema}.rules
WHERE tenant_id = %(tenant)s AND content_hash = ANY(%(hashes)s) AND validity IN ('active', 'fading')
    AND scope = ANY(%(scopes)s);

-- name: alike
-- Live facts of these subjects and predicate classes, or whole predicates, in these scopes.
SELECT f.id, f.ref, f.scope, f.subject, f.predicate, f.valid_at, f.content, f.origin
FROM {schema}.facts f
JOIN unnest(%(subjects)s::text[], %(classes)s::text[]) AS w (subject, class)
    ON f.subject = w.subject AND (split_part(f.predicate, ':', 1) = w.class OR f.predicate = w.class)
WHERE f.tenant_id = %(tenant)s AND f.scope = ANY(%(scopes)s::text[]) AND f.validity IN ('active', 'fading')
ORDER BY f.predicate = ANY(%(predicates)s::text[]) DESC, f.created_at, f.id
LIMIT %(limit)s;

-- name: about
-- The newest live facts about these subjects in these scopes.
SELECT f.id, f.ref, f.scope, f.subject, f.predicate, f.valid_at, f.content, f.origin
FROM {schema}.facts f
WHERE f.tenant_id = %(tenant)s AND f.subject = ANY(%(subjects)s::text[]) AND f.scope = ANY(%(scopes)s::text[])
    AND f.validity IN ('active', 'fading')
ORDER BY f.created_at DESC, f.id DESC
LIMIT %(limit)s;

-- name: stated_times
-- For each fact: when it was stored, whether it was distilled, and the latest time of its episodes. Deleted episodes
-- count too.
SELECT f.id, f.created_at, f.source_episode_id IS NOT NULL AS is_distilled, (
    SELECT max(least(coalesce(e.observed_at, t.observed_at), coalesce(e.created_at, t.created_at)))
    FROM {schema}.memory_links l
    LEFT JOIN {schema}.episodes e ON e.tenant_id = l.tenant_id AND e.id = l.target_id
    LEFT JOIN {schema}.episode_tombstones t ON t.tenant_id = l.tenant_id AND t.episode_id = l.target_id
    WHERE l.tenant_id = f.tenant_id AND l.source_id = f.id AND l.relation = 'derived_from') AS told
FROM {schema}.facts f
WHERE f.tenant_id = %(tenant)s AND f.id = ANY(%(ids)s::uuid[]);

-- name: stated_times_of_rules
-- The same for rules.
SELECT r.id, r.created_at, told.at IS NOT NULL AS is_distilled, told.at AS told
FROM {schema}.rules r
CROSS JOIN LATERAL (
    SELECT max(least(coalesce(e.observed_at, t.observed_at), coalesce(e.created_at, t.created_at))) AS at
    FROM {schema}.memory_links l
    LEFT JOIN {schema}.episodes e ON e.tenant_id = l.tenant_id AND e.id = l.target_id
    LEFT JOIN {schema}.episode_tombstones t ON t.tenant_id = l.tenant_id AND t.episode_id = l.target_id
    WHERE l.tenant_id = r.tenant_id AND l.source_id = r.id AND l.relation = 'derived_from'
) told
WHERE r.tenant_id = %(tenant)s AND r.id = ANY(%(ids)s::uuid[]);

-- name: rules_in
-- Live rules of these scopes, for the detection of paraphrases.
SELECT r.id, r.ref, r.content, r.maturity, r.origin FROM {schema}.rules r
WHERE r.tenant_id = %(tenant)s AND r.scope = ANY(%(scopes)s::text[]) AND r.validity IN ('active', 'fading')
ORDER BY r.content_hash = ANY(%(hashes)s::bytea[]) DESC, r.created_at, r.id
LIMIT %(limit)s;

-- name: spent
-- Cost of the runs since a time.
SELECT coalesce(sum(input_tokens + output_tokens), 0)::bigint AS tokens,
    coalesce(sum(cost_microdollars), 0)::bigint AS cost_microdollars
FROM {schema}.consolidation_runs WHERE tenant_id = %(tenant)s AND claimed_at >= %(since)s;

-- name: waiting_shards
-- Butlers of a tenant with episodes to consolidate now: their number, highest importance, earliest expiry, and when the
-- oldest was stored.
SELECT e.butler, count(*) AS backlog, max(e.importance) AS importance, min(e.expires_at) AS expires_at,
    min(e.created_at) AS oldest
FROM {schema}.episodes e
WHERE e.tenant_id = %(tenant)s AND e.validity = 'active' AND e.consolidation_status = 'pending'
    AND (e.next_consolidation_retry_at IS NULL OR e.next_consolidation_retry_at <= %(now)s)
    AND (%(butler)s::text IS NULL OR e.butler = %(butler)s)
    AND NOT {held} AND NOT {locked}
GROUP BY e.butler ORDER BY e.butler;

-- name: count_locked
-- The number of pending episodes that are encrypted with a key that is not available now.
SELECT count(*) AS episodes FROM {schema}.episodes e
WHERE e.tenant_id = %(tenant)s AND e.validity = 'active' AND e.consolidation_status = 'pending'
    AND (%(butler)s::text IS NULL OR e.butler = %(butler)s) AND {locked};

-- name: empty_episodes
-- Consolidated episodes of which nothing was kept, oldest first.
SELECT e.ref FROM {schema}.episodes e
WHERE e.tenant_id = %(tenant)s AND e.consolidation_status = 'consolidated' AND e.validity = 'active'
    AND (%(butler)s::text IS NULL OR e.butler = %(butler)s)
    AND {unkept}
ORDER BY e.created_at, e.id
LIMIT %(limit)s;

-- name: count_empty
-- The number of consolidated episodes of which nothing was kept.
SELECT count(*) AS episodes FROM {schema}.episodes e
WHERE e.tenant_id = %(tenant)s AND e.consolidation_status = 'consolidated' AND e.validity = 'active'
    AND (%(butler)s::text IS NULL OR e.butler = %(butler)s)
    AND {unkept};

-- name: states
-- Runs since a time, by distiller and state.
SELECT r.distiller, r.state, count(*) AS runs, sum(r.episodes)::bigint AS episodes,
    sum(r.input_tokens)::bigint AS input_tokens, sum(r.output_tokens)::bigint AS output_tokens,
    sum(r.cost_microdollars)::bigint AS cost_microdollars, max(r.finished_at) AS finished_at
FROM {schema}.consolidation_runs r
WHERE r.tenant_id = %(tenant)s AND r.claimed_at >= %(since)s AND (%(butler)s::text IS NULL OR r.butler = %(butler)s)
GROUP BY r.distiller, r.state ORDER BY r.distiller, r.state;

-- name: outcomes
-- Items of the runs since a time, by state, reason and outcome.
SELECT i.state, i.reason, i.outcome, count(*) AS items
FROM {schema}.consolidation_runs r
JOIN {schema}.consolidation_items i ON i.tenant_id = r.tenant_id AND i.run_id = r.id
WHERE r.tenant_id = %(tenant)s AND r.claimed_at >= %(since)s AND (%(butler)s::text IS NULL OR r.butler = %(butler)s)
GROUP BY i.state, i.reason, i.outcome ORDER BY 1, 2, 3;

-- name: drop_old_runs
-- Delete the records of runs that ended before a time.
DELETE FROM {schema}.consolidation_runs
WHERE tenant_id = %(tenant)s AND id IN (
    SELECT id FROM {schema}.consolidation_runs
    WHERE tenant_id = %(tenant)s AND butler = %(butler)s AND finished_at < %(before)s
    ORDER BY finished_at LIMIT %(limit)s)
RETURNING id;

-- name: named
-- Memories that a proposal names by id or reference and that its butler may see; a fact with the one it superseded.
SELECT 'fact' AS type, f.id, f.ref, f.subject_label AS subject, f.predicate_label AS predicate, f.content,
    o.ref AS old_ref, o.content AS old_content, o.id AS old_id
FROM {schema}.facts f
LEFT JOIN {schema}.facts o ON o.tenant_id = f.tenant_id AND o.id = f.supersedes_id
WHERE f.tenant_id = %(tenant)s AND (f.id = ANY(%(ids)s::uuid[]) OR f.ref = ANY(%(refs)s::text[]))
    AND f.scope IN ('global', %(butler)s)
UNION ALL
SELECT 'rule', r.id, r.ref, NULL, NULL, r.content, NULL, NULL, NULL::uuid FROM {schema}.rules r
WHERE r.tenant_id = %(tenant)s AND (r.id = ANY(%(ids)s::uuid[]) OR r.ref = ANY(%(refs)s::text[]))
    AND r.scope IN ('global', %(butler)s)
UNION ALL
SELECT 'episode', e.id, e.ref, NULL, NULL, NULL, NULL, NULL, NULL FROM {schema}.episodes e
WHERE e.tenant_id = %(tenant)s AND (e.id = ANY(%(ids)s::uuid[]) OR e.ref = ANY(%(refs)s::text[]))
    AND e.butler = %(butler)s
UNION ALL
SELECT 'episode', t.episode_id, t.ref, NULL, NULL, NULL, NULL, NULL, NULL FROM {schema}.episode_tombstones t
WHERE t.tenant_id = %(tenant)s AND (t.episode_id = ANY(%(ids)s::uuid[]) OR t.ref = ANY(%(refs)s::text[]))
    AND t.butler = %(butler)s;

-- name: backlog
-- The backlog of each butler: episodes to consolidate now, those waiting for a retry, and the oldest.
SELECT e.butler,
    count(*) FILTER (WHERE e.next_consolidation_retry_at IS NULL OR e.next_consolidation_retry_at <= %(now)s)
        AS waiting,
    count(*) FILTER (WHERE e.next_consolidation_retry_at > %(now)s) AS later, min(e.created_at) AS oldest
FROM {schema}.episodes e
WHERE e.tenant_id = %(tenant)s AND {waits}
GROUP BY e.butler ORDER BY e.butler;

-- name: deciding
-- Those of some episodes whose proposal awaits a decision, with its run; optionally only of one butler.
SELECT e.id AS episode, r.id AS run
FROM {schema}.episodes e
JOIN {schema}.consolidation_episodes h ON h.tenant_id = e.tenant_id AND h.episode_id = e.id
JOIN {schema}.consolidation_runs r ON r.tenant_id = h.tenant_id AND r.id = h.run_id AND r.state = 'waiting'
WHERE e.tenant_id = %(tenant)s AND e.id = ANY(%(episodes)s::uuid[]) AND e.validity = 'active'
    AND e.consolidation_status = 'pending' AND (%(eyes)s::text IS NULL OR e.butler = %(eyes)s);

-- name: under_way
-- The number of claimed runs.
SELECT count(*) AS runs FROM {schema}.consolidation_runs WHERE tenant_id = %(tenant)s AND state = 'claimed';

-- name: spent_by_day
-- Cost of the runs since a time, by UTC day of their start.
SELECT date_trunc('day', r.claimed_at, 'UTC') AS day, count(*) AS runs,
    sum(r.input_tokens + r.output_tokens)::bigint AS tokens, sum(r.cost_microdollars)::bigint AS cost_microdollars
FROM {schema}.consolidation_runs r
WHERE r.tenant_id = %(tenant)s AND r.claimed_at >= %(since)s
GROUP BY 1 ORDER BY 1;

-- name: outcomes_of
-- Outcomes of the items of some runs, with counts.
SELECT i.run_id AS run, CASE WHEN i.state = 'applied' THEN i.outcome ELSE i.state END AS outcome, count(*) AS items
FROM {schema}.consolidation_items i
WHERE i.tenant_id = %(tenant)s AND i.run_id = ANY(%(runs)s::uuid[])
GROUP BY 1, 2 ORDER BY 1, 2;

-- name: undone_of
-- Those of some runs with an undone change.
SELECT DISTINCT e.group_id AS run
FROM {schema}.memory_events e
JOIN {schema}.memory_events u ON u.tenant_id = e.tenant_id AND u.undoes = e.id
    AND NOT {schema}.is_undone(u.tenant_id, u.id)
WHERE e.tenant_id = %(tenant)s AND e.group_id = ANY(%(runs)s::uuid[]);
