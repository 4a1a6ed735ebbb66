-- name: around
-- The visible neighbours of each result, in reading order: the episodes before and after an episode of an agent
-- session, the other facts of a fact's subject (most recently confirmed first), and the latest source episodes of a
-- fact or rule.
WITH results AS MATERIALIZED (
    SELECT id, place FROM unnest(%(ids)s::uuid[]) WITH ORDINALITY AS given (id, place)
), turns AS MATERIALIZED (
    SELECT r.place, e.id, e.butler, e.session_id, e.observed_at, e.created_at
    FROM results r JOIN {schema}.episodes e ON e.tenant_id = %(tenant)s AND e.id = r.id
    WHERE e.session_id IS NOT NULL
), about AS MATERIALIZED (
    SELECT r.place, f.id, f.subject
    FROM results r JOIN {schema}.facts f ON f.tenant_id = %(tenant)s AND f.id = r.id
), subjects AS MATERIALIZED (
    -- Once for each subject, however many results are about it, and one more than asked for: the result is no neighbour
    -- of its own.
    SELECT s.subject, o.id, o.nth
    FROM (SELECT DISTINCT subject FROM about) s
    CROSS JOIN LATERAL (
        SELECT n.id, row_number() OVER (ORDER BY n.confirmed_at DESC, n.id) AS nth
        FROM (
            SELECT f.id, coalesce(f.last_confirmed_at, f.created_at) AS confirmed_at FROM {schema}.facts f
            WHERE f.tenant_id = %(tenant)s AND f.subject = s.subject AND f.validity IN ('active', 'fading')
            ORDER BY confirmed_at DESC, f.id
        ) n
        {visible.fact} ORDER BY n.confirmed_at DESC, n.id LIMIT %(expand)s + 1
    ) o
), found AS MATERIALIZED (
    SELECT t.place, 'episode' AS type, 'before' AS relation, -b.nth AS nth, b.id
    FROM turns t CROSS JOIN LATERAL (
        SELECT n.id, row_number() OVER (ORDER BY n.observed_at DESC, n.created_at DESC, n.id DESC) AS nth
        FROM (
            SELECT e.id, e.observed_at, e.created_at FROM {schema}.episodes e
            WHERE e.tenant_id = %(tenant)s AND e.butler = t.butler AND e.session_id = t.session_id
                AND (e.observed_at, e.created_at, e.id) < (t.observed_at, t.created_at, t.id)
            ORDER BY e.observed_at DESC, e.created_at DESC, e.id DESC
        ) n
        {visible.episode} ORDER BY n.observed_at DESC, n.created_at DESC, n.id DESC LIMIT %(expand)s
    ) b
    UNION ALL
    SELECT t.place, 'episode', 'after', a.nth, a.id
    FROM turns t CROSS JOIN LATERAL (
        SELECT n.id, row_number() OVER (ORDER BY n.observed_at, n.created_at, n.id) AS nth
        FROM (
            SELECT e.id, e.observed_at, e.created_at FROM {schema}.episodes e
            WHERE e.tenant_id = %(tenant)s AND e.butler = t.butler AND e.session_id = t.session_id
                AND (e.observed_at, e.created_at, e.id) > (t.observed_at, t.created_at, t.id)
            ORDER BY e.observed_at, e.created_at, e.id
        ) n
        {visible.episode} ORDER BY n.observed_at, n.created_at, n.id LIMIT %(expand)s
    ) a
    UNION ALL
    SELECT f.place, 'fact', 'same_subject', o.nth, o.id
    FROM about f CROSS JOIN LATERAL (
        SELECT s.id, s.nth FROM subjects s WHERE s.subject = f.subject AND s.id <> f.id ORDER BY s.nth LIMIT %(expand)s
    ) o
    UNION ALL
    SELECT r.place, 'episode', 'source', -s.nth, s.id
    FROM results r CROSS JOIN LATERAL (
        SELECT n.id, row_number() OVER (ORDER BY n.observed_at DESC, n.created_at DESC, n.id DESC) AS nth
        FROM (
            SELECT e.id, e.observed_at, e.created_at
            FROM {schema}.memory_links l JOIN {schema}.episodes e ON e.tenant_id = %(tenant)s AND e.id = l.target_id
            WHERE l.tenant_id = %(tenant)s AND l.source_id = r.id AND l.relation = 'derived_from'
        ) n
        {visible.episode} ORDER BY n.observed_at DESC, n.created_at DESC, n.id DESC LIMIT %(expand)s
    ) s
)
SELECT n.place, n.type, n.relation, n.id, m.ref, m.content, m.subject_label, m.predicate_label, m.created_at,
    m.observed_at, m.valid_at
FROM found n CROSS JOIN LATERAL (
    SELECT f.ref, f.content, f.subject_label, f.predicate_label, f.created_at, NULL::timestamptz AS observed_at,
        f.valid_at
    FROM {schema}.facts f WHERE n.type = 'fact' AND f.tenant_id = %(tenant)s AND f.id = n.id
    UNION ALL
    SELECT e.ref, e.content, NULL, NULL, e.created_at, e.observed_at, NULL
    FROM {schema}.episodes e WHERE n.type = 'episode' AND e.tenant_id = %(tenant)s AND e.id = n.id
) m
ORDER BY n.place, n.type DESC, n.nth;
