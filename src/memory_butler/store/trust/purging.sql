-- part: row
-- A memory m as a match, with its words for a dry run.
m.id, m.ref, m.content, m.tags, m.metadata

-- name: memories
-- Memories by id, with their words.
SELECT 'fact' AS type, {row}, m.subject_label, m.predicate_label, m.scope AS owner, NULL AS session
FROM {schema}.facts m WHERE m.tenant_id = %(tenant)s AND m.id = ANY(%(ids)s)
UNION ALL
SELECT 'rule', {row}, NULL, NULL, m.scope, NULL
FROM {schema}.rules m WHERE m.tenant_id = %(tenant)s AND m.id = ANY(%(ids)s)
UNION ALL
SELECT 'episode', {row}, NULL, NULL, m.butler, m.session_id
FROM {schema}.episodes m WHERE m.tenant_id = %(tenant)s AND m.id = ANY(%(ids)s)
ORDER BY id;

-- name: older_versions
-- The facts that these facts replaced, directly or not.
WITH RECURSIVE older AS (
    SELECT f.supersedes_id AS id FROM {schema}.facts f
    WHERE f.tenant_id = %(tenant)s AND f.id = ANY(%(ids)s) AND f.supersedes_id IS NOT NULL
    UNION
    SELECT f.supersedes_id FROM older o JOIN {schema}.facts f ON f.tenant_id = %(tenant)s AND f.id = o.id
    WHERE f.supersedes_id IS NOT NULL
)
SELECT id FROM older WHERE id <> ALL(%(ids)s) ORDER BY id;

-- name: derived_only
-- The facts and rules that were derived from some of these memories and from nothing else. Sources in `besides` do not
-- count.
SELECT l.source_id AS id FROM {schema}.memory_links l
WHERE l.tenant_id = %(tenant)s AND l.relation = 'derived_from' AND l.target_id = ANY(%(ids)s)
    AND l.source_id <> ALL(%(ids)s) AND l.source_type IN ('fact', 'rule')
GROUP BY l.source_id
HAVING NOT EXISTS (
    SELECT FROM {schema}.memory_links o
    WHERE o.tenant_id = %(tenant)s AND o.source_id = l.source_id AND o.relation = 'derived_from'
        AND o.target_id <> ALL(%(ids)s) AND o.target_id <> ALL(%(besides)s))
ORDER BY id;

-- name: withdrawn_sources
-- The withdrawn memories that facts and rules of this memory were derived from, too.
SELECT DISTINCT o.target_id AS id FROM {schema}.memory_links l
JOIN {schema}.memory_links o ON o.tenant_id = l.tenant_id AND o.source_id = l.source_id
    AND o.relation = 'derived_from' AND o.target_id <> l.target_id
WHERE l.tenant_id = %(tenant)s AND l.relation = 'derived_from' AND l.target_id = %(id)s
    AND (EXISTS (SELECT FROM {schema}.episodes e
            WHERE e.tenant_id = o.tenant_id AND e.id = o.target_id AND e.validity = 'retracted')
        OR EXISTS (SELECT FROM {schema}.facts f
            WHERE f.tenant_id = o.tenant_id AND f.id = o.target_id AND f.validity = 'retracted'))
ORDER BY id;

-- name: live
-- Those of some facts and rules that are in use, with their words.
SELECT 'fact' AS type, {row}, m.subject_label, m.predicate_label, m.scope AS owner
FROM {schema}.facts m
WHERE m.tenant_id = %(tenant)s AND m.id = ANY(%(ids)s) AND m.validity IN ('active', 'fading')
UNION ALL
SELECT 'rule', {row}, NULL, NULL, m.scope
FROM {schema}.rules m
WHERE m.tenant_id = %(tenant)s AND m.id = ANY(%(ids)s) AND m.validity IN ('active', 'fading')
ORDER BY id;

-- name: sources
-- The episodes that these memories were derived from and that are not among them.
SELECT DISTINCT e.ref FROM {schema}.memory_links l
JOIN {schema}.episodes e ON e.tenant_id = l.tenant_id AND e.id = l.target_id
WHERE l.tenant_id = %(tenant)s AND l.relation = 'derived_from' AND l.source_id = ANY(%(ids)s)
    AND l.target_id <> ALL(%(ids)s)
ORDER BY e.ref;

-- name: orphaned_aliases
-- Aliases of the subjects of these facts that no other fact is about.
SELECT a.id FROM {schema}.aliases a
WHERE a.tenant_id = %(tenant)s
    AND a.subject IN (SELECT f.subject FROM {schema}.facts f WHERE f.tenant_id = %(tenant)s AND f.id = ANY(%(ids)s))
    AND NOT EXISTS (SELECT FROM {schema}.facts o
        WHERE o.tenant_id = %(tenant)s AND o.subject = a.subject AND o.id <> ALL(%(ids)s))
ORDER BY a.id;

-- name: alias_names
-- The words of some aliases.
SELECT alias_label, subject FROM {schema}.aliases WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s);

-- name: texts_that_may_name
-- The texts of other memories that may contain an identifier: reasons, and earlier wordings.
SELECT memory_id, hash, words FROM (
    SELECT memory_id, hash, body AS words FROM {schema}.texts
    WHERE tenant_id = %(tenant)s AND memory_id <> ALL(%(ids)s)
    OFFSET 0
) t
WHERE {forgetting.passes};

-- name: items_that_may_name
-- The proposals of consolidation runs that may contain an identifier.
SELECT run_id, place, proposed, said FROM (
    SELECT run_id, place, proposed, said, concat_ws(E'\n', proposed::text, said, reason, outcome) AS words
    FROM {schema}.consolidation_items WHERE tenant_id = %(tenant)s
    OFFSET 0
) t
WHERE {forgetting.passes};

-- name: errors_that_may_name
-- The runs of consolidation and of jobs with a report that may contain an identifier.
SELECT id, words FROM (
    SELECT id, error AS words FROM {schema}.consolidation_runs WHERE tenant_id = %(tenant)s AND error IS NOT NULL
    UNION ALL
    SELECT id, report::text FROM {schema}.job_runs WHERE tenant_id = %(tenant)s
    OFFSET 0
) t
WHERE {forgetting.passes};

-- name: keys_that_may_name
-- The idempotency keys that may contain an identifier, in the key or in the response.
SELECT butler, key, words FROM (
    SELECT butler, key, key || E'\n' || response::text AS words
    FROM {schema}.idempotency_keys WHERE tenant_id = %(tenant)s
    OFFSET 0
) t
WHERE {forgetting.passes};

-- name: calls_that_may_name
-- The logged calls whose prompt may contain an identifier.
SELECT id, prompt FROM (
    SELECT id, prompt, prompt AS words FROM {schema}.call_log WHERE tenant_id = %(tenant)s
    OFFSET 0
) t
WHERE {forgetting.passes};

-- name: session_names
-- The names of all agent sessions in the log.
SELECT DISTINCT session_id AS name FROM {schema}.memory_events
WHERE tenant_id = %(tenant)s AND session_id IS NOT NULL
ORDER BY session_id;

-- name: ended_sessions
-- The sessions of these episodes that no other episode belongs to.
SELECT DISTINCT e.session_id AS name FROM {schema}.episodes e
WHERE e.tenant_id = %(tenant)s AND e.id = ANY(%(ids)s) AND e.session_id IS NOT NULL
    AND NOT EXISTS (SELECT FROM {schema}.episodes o
        WHERE o.tenant_id = %(tenant)s AND o.session_id = e.session_id AND o.id <> ALL(%(ids)s))
ORDER BY name;

-- name: rows_of
-- The number of rows of each table that belong to some memories and aliases.
SELECT
    (SELECT count(*) FROM {schema}.facts WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s)) AS facts,
    (SELECT count(*) FROM {schema}.rules WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s)) AS rules,
    (SELECT count(*) FROM {schema}.episodes WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s)) AS episodes,
    (SELECT count(*) FROM {schema}.aliases WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s)) AS aliases,
    (SELECT count(*) FROM {schema}.texts WHERE tenant_id = %(tenant)s AND memory_id = ANY(%(ids)s)) AS texts,
    (SELECT count(*) FROM {schema}.passages WHERE tenant_id = %(tenant)s
        AND memory_type IN ('episode', 'fact', 'rule') AND memory_id = ANY(%(ids)s)) AS passages,
    (SELECT count(*) FROM {schema}.postings WHERE tenant_id = %(tenant)s AND memory_id = ANY(%(ids)s)) AS postings,
    (SELECT count(*) FROM {schema}.profiles WHERE tenant_id = %(tenant)s
        AND memory_type IN ('episode', 'fact', 'rule') AND memory_id = ANY(%(ids)s)) AS profiles,
    (SELECT count(*) FROM {schema}.memory_references WHERE tenant_id = %(tenant)s AND memory_id = ANY(%(ids)s))
        AS memory_references,
    (SELECT count(*) FROM {schema}.rule_applications WHERE tenant_id = %(tenant)s AND rule_id = ANY(%(ids)s))
        AS rule_applications,
    (SELECT count(*) FROM {schema}.distilled_keys WHERE tenant_id = %(tenant)s AND episode_id = ANY(%(ids)s))
        AS distilled_keys,
    (SELECT count(*) FROM {schema}.consolidation_episodes WHERE tenant_id = %(tenant)s AND episode_id = ANY(%(ids)s))
        AS consolidation_episodes,
    (SELECT count(*) FROM {schema}.consolidation_items WHERE tenant_id = %(tenant)s AND memory_id = ANY(%(ids)s))
        AS consolidation_items;

-- name: insert_tombstones
-- Tombstones of the purged episodes.
INSERT INTO {schema}.episode_tombstones AS t (
    tenant_id, episode_id, ref, butler, observed_at, created_at, deleted_at, reason
)
SELECT tenant_id, id, ref, butler, observed_at, created_at, %(now)s, 'purged'
FROM {schema}.episodes WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s)
RETURNING t.episode_id, to_jsonb(t) AS tombstone;

-- name: cut_off
-- Cut the remaining facts off from purged ones that they replaced; returns them.
SELECT {schema}.cut_off(%(ids)s::uuid[]) AS id;

-- name: drop_provenance
-- Delete the links and the feedback of purged facts and rules.
SELECT links, applications FROM {schema}.drop_provenance(%(ids)s::uuid[]);

-- name: scrub_events
-- Remove the words of purged memories from their events, and the names of sessions from all events.
SELECT {schema}.scrub_events(%(ids)s::uuid[], %(sessions)s::text[]) AS events;

-- name: drop_calls
-- Delete the logged calls that returned a purged memory, and these ones.
WITH gone AS (
    DELETE FROM {schema}.call_log
    WHERE tenant_id = %(tenant)s AND (memory_ids && %(ids)s::uuid[] OR id = ANY(%(calls)s::uuid[]))
    RETURNING 1
)
SELECT count(*) AS calls FROM gone;

-- name: forget_sessions
-- Remove the names of sessions from the references and the call log.
WITH logged AS (
    UPDATE {schema}.call_log SET session_id = NULL
    WHERE tenant_id = %(tenant)s AND session_id = ANY(%(sessions)s)
)
UPDATE {schema}.memory_references SET session_id = NULL
WHERE tenant_id = %(tenant)s AND session_id = ANY(%(sessions)s);

-- name: close_runs
-- End the claims on purged episodes, so that a worker cannot store what it reads in them; remove the errors of their
-- runs.
UPDATE {schema}.consolidation_runs r
SET error = NULL, state = CASE WHEN r.state = 'claimed' THEN 'lost' ELSE r.state END,
    finished_at = CASE WHEN r.state = 'claimed' THEN %(now)s ELSE r.finished_at END
WHERE r.tenant_id = %(tenant)s AND r.id IN (
    SELECT h.run_id FROM {schema}.consolidation_episodes h
    WHERE h.tenant_id = %(tenant)s AND h.episode_id = ANY(%(ids)s));

-- name: drop_items
-- Delete the proposals that concern purged memories: stored as one, aimed at one, or derived from a purged episode. A
-- refused proposal need not name its episodes.
WITH gone AS (
    DELETE FROM {schema}.consolidation_items i
    WHERE i.tenant_id = %(tenant)s AND (i.memory_id = ANY(%(ids)s)
        OR i.proposed ->> 'target' = ANY(%(names)s)
        OR i.proposed -> 'evidence' ?| %(names)s::text[]
        OR (i.run_id IN (SELECT h.run_id FROM {schema}.consolidation_episodes h
            WHERE h.tenant_id = %(tenant)s AND h.episode_id = ANY(%(ids)s))
            AND (i.state = 'refused' OR NOT i.proposed ? 'evidence'))
        OR (i.run_id, i.place) IN (SELECT * FROM unnest(%(runs)s::uuid[], %(places)s::int[])))
    RETURNING 1
)
SELECT count(*) AS items FROM gone;

-- name: drop_reports
-- Empty the error or report of some runs.
WITH jobs AS (
    UPDATE {schema}.job_runs SET report = '{}' WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s)
)
UPDATE {schema}.consolidation_runs SET error = NULL WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s);

-- name: drop_emptied_runs
-- Forget which runs read the purged episodes, and end undecided runs that have no proposal left.
WITH left_out AS (
    DELETE FROM {schema}.consolidation_episodes WHERE tenant_id = %(tenant)s AND episode_id = ANY(%(ids)s)
    RETURNING run_id
)
UPDATE {schema}.consolidation_runs r SET state = 'rejected', finished_at = %(now)s
WHERE r.tenant_id = %(tenant)s AND r.state = 'waiting' AND NOT EXISTS (
    SELECT FROM {schema}.consolidation_items i WHERE i.tenant_id = %(tenant)s AND i.run_id = r.id);

-- name: drop_keys
-- Delete the idempotency keys whose response names a purged memory, and these ones.
WITH gone AS (
    DELETE FROM {schema}.idempotency_keys k
    WHERE k.tenant_id = %(tenant)s AND (
        (k.butler, k.key) IN (SELECT * FROM unnest(%(butlers)s::text[], %(keys)s::text[]))
        OR EXISTS (SELECT FROM unnest(%(names)s::text[]) AS n (name) WHERE strpos(k.response::text, n.name) > 0))
    RETURNING 1
)
SELECT count(*) AS keys FROM gone;

-- name: drop_texts
-- Delete texts of other memories.
DELETE FROM {schema}.texts t USING unnest(%(memories)s::uuid[], %(hashes)s::bytea[]) AS o (memory_id, hash)
WHERE t.tenant_id = %(tenant)s AND t.memory_id = o.memory_id AND t.hash = o.hash;

-- name: applications_of
-- The reports on rules whose reason is one of these texts.
SELECT (e.payload #>> '{application,id}')::uuid AS id
FROM unnest(%(memories)s::uuid[], %(hashes)s::bytea[]) AS o (memory_id, hash)
JOIN {schema}.memory_events e ON e.tenant_id = %(tenant)s AND e.entity_id = o.memory_id
    AND e.payload #>> '{application,reason_hash}' = encode(o.hash, 'hex');

-- name: drop_reasons
-- Delete the reasons of these reports.
SELECT {schema}.drop_reasons(%(ids)s::uuid[]) AS reasons;

-- name: delete
-- Delete memories and aliases with everything that belongs to them alone. Links, feedback and the search index are
-- deleted before.
WITH words AS (
    DELETE FROM {schema}.texts WHERE tenant_id = %(tenant)s AND memory_id = ANY(%(ids)s)
), uses AS (
    DELETE FROM {schema}.memory_references WHERE tenant_id = %(tenant)s AND memory_id = ANY(%(ids)s)
), distilled AS (
    DELETE FROM {schema}.distilled_keys WHERE tenant_id = %(tenant)s AND episode_id = ANY(%(ids)s)
), questions AS (
    DELETE FROM {schema}.recent_questions WHERE tenant_id = %(tenant)s
), gone_aliases AS (
    DELETE FROM {schema}.aliases WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s)
), gone_rules AS (
    DELETE FROM {schema}.rules WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s)
), gone_episodes AS (
    DELETE FROM {schema}.episodes WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s)
)
DELETE FROM {schema}.facts WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s);

-- name: record
-- One event per purged memory or alias, and one of the purge with the digest of its receipt, all without words.
WITH given AS (
    SELECT * FROM json_to_recordset(%(items)s::json)
        AS g (n int, event_id uuid, event_type text, entity_type text, id uuid, payload jsonb)
), numbered AS (
    UPDATE {schema}.tenants SET last_seq = last_seq + (SELECT count(*) FROM given) WHERE tenant_id = %(tenant)s
    RETURNING last_seq
)
INSERT INTO {schema}.memory_events (
    tenant_id, id, seq, event_type, entity_type, entity_id, occurred_at, actor, group_id, payload_version, payload
)
SELECT %(tenant)s, g.event_id, (SELECT last_seq FROM numbered) - (SELECT count(*) FROM given) + g.n, g.event_type,
    g.entity_type, g.id, %(now)s, %(actor)s, %(receipt)s, 1, g.payload
FROM given g
ORDER BY g.n;

-- name: keep_receipt
-- Store a receipt.
INSERT INTO {schema}.purge_receipts (
    tenant_id, id, purged_at, actor, reason, matched_by, counts, items, backups, digest
) VALUES (
    %(tenant)s, %(id)s, %(purged_at)s, %(actor)s, %(reason)s, %(matched_by)s, %(counts)s, %(items)s, %(backups)s,
    %(digest)s
);

-- name: receipts
-- The newest receipts.
SELECT * FROM {schema}.purge_receipts WHERE tenant_id = %(tenant)s ORDER BY purged_at DESC, id DESC LIMIT %(limit)s;

-- name: receipt
-- One receipt.
SELECT * FROM {schema}.purge_receipts WHERE tenant_id = %(tenant)s AND id = %(id)s;

-- name: recorded
-- The events of a purge.
SELECT seq, event_type, entity_id, payload FROM {schema}.memory_events
WHERE tenant_id = %(tenant)s AND group_id = %(id)s AND (payload ? 'purged' OR event_type = 'store.purged')
ORDER BY seq;

-- name: archive_slots
-- The replication slots of continuous backups.
SELECT slot_name FROM pg_replication_slots WHERE slot_name LIKE 'memory\_butler\_%%' ORDER BY slot_name;

-- name: find_purged
-- The purge event of a memory, by id or reference.
SELECT e.occurred_at, e.group_id AS receipt, e.payload #>> '{purged,owner}' AS owner FROM {schema}.memory_events e
WHERE e.tenant_id = %(tenant)s
    AND e.event_type IN ('fact.purged', 'rule.purged', 'episode.purged', 'alias.purged')
    AND e.entity_type = %(type)s AND (e.entity_id = %(id)s::uuid OR e.payload #>> '{purged,ref}' = %(ref)s::text)
ORDER BY e.seq DESC
LIMIT 1;

-- name: unclean
-- The receipts whose words may still be in the data files.
SELECT id FROM {schema}.purge_receipts WHERE tenant_id = %(tenant)s AND residue IS NULL;

-- name: mark_clean
-- Note when and how the data files were rewritten after a purge.
UPDATE {schema}.purge_receipts SET residue = %(residue)s
WHERE tenant_id = %(tenant)s AND id = ANY(%(ids)s) AND residue IS NULL;
