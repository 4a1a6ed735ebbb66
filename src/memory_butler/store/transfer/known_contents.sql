-- name: known
-- Those of some new memories that exist with the same content, in any state: importing again does not restore a
-- forgotten, superseded or expired memory. Deleted episodes are recognized by their time only.
SELECT g.n
FROM json_to_recordset(%(items)s::json) AS g (n int, kind text, place text, subject text, predicate text,
    content_hashes bytea[], at timestamptz, session text)
WHERE CASE g.kind
    WHEN 'fact' THEN EXISTS (SELECT FROM {schema}.facts f
        WHERE f.tenant_id = %(tenant)s AND f.content_hash = ANY(g.content_hashes) AND f.scope = g.place
            AND f.subject = g.subject AND f.predicate = g.predicate AND f.valid_at IS NOT DISTINCT FROM g.at)
    WHEN 'rule' THEN EXISTS (SELECT FROM {schema}.rules r
        WHERE r.tenant_id = %(tenant)s AND r.content_hash = ANY(g.content_hashes) AND r.scope = g.place)
    ELSE EXISTS (SELECT FROM {schema}.episodes e
            WHERE e.tenant_id = %(tenant)s AND e.butler = g.place AND e.content_hash = ANY(g.content_hashes)
                AND (g.at IS NULL OR e.observed_at = g.at OR e.session_id = g.session))
        OR EXISTS (SELECT FROM {schema}.episode_tombstones t
            WHERE t.tenant_id = %(tenant)s AND t.butler = g.place AND t.observed_at = g.at)
    END;
