-- Projections: memories by state, beside the daily counts and counted from the log with them.

-- `owner` is the scope of a fact or rule and the butler of an episode.
CREATE TABLE {schema}.memory_counts (
    tenant_id text NOT NULL,
    entity_type text NOT NULL CHECK (entity_type IN ('episode', 'fact', 'rule')),
    owner text NOT NULL,
    validity text NOT NULL,
    memories bigint NOT NULL,
    PRIMARY KEY (tenant_id, entity_type, owner, validity)
);

-- The daily counts say it already. The owner is bound by row-level security like any other role, except here.
ALTER TABLE {schema}.daily_counts NO FORCE ROW LEVEL SECURITY;
INSERT INTO {schema}.memory_counts (tenant_id, entity_type, owner, validity, memories)
SELECT d.tenant_id, d.entity_type, d.owner, s.validity, sum(d.events * s.change)
FROM {schema}.daily_counts d CROSS JOIN LATERAL (VALUES (d.after, 1), (d.before, -1)) AS s (validity, change)
WHERE d.entity_type IN ('episode', 'fact', 'rule') AND s.validity <> ''
GROUP BY d.tenant_id, d.entity_type, d.owner, s.validity
HAVING sum(d.events * s.change) <> 0;
ALTER TABLE {schema}.daily_counts FORCE ROW LEVEL SECURITY;

ALTER TABLE {schema}.memory_counts ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.memory_counts FORCE ROW LEVEL SECURITY;
CREATE POLICY one_tenant ON {schema}.memory_counts
    USING (tenant_id = current_setting('memory_butler.tenant', true))
    WITH CHECK (tenant_id = current_setting('memory_butler.tenant', true));
GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.memory_counts TO {app_role};

CREATE OR REPLACE FUNCTION {schema}.require_revision(program_revision text) RETURNS void
LANGUAGE plpgsql STABLE AS $body$
BEGIN
    -- A program that knows of keys in the store says so.
    IF program_revision = '0013+keys' THEN
        RETURN;
    END IF;
    IF program_revision <> '0013' THEN
        RAISE EXCEPTION 'the store is at revision 0013, this program works with %', program_revision
            USING ERRCODE = 'MB002';
    END IF;
    -- A program without keys would show ciphertext, and store plain text beside it.
    IF EXISTS (
        SELECT FROM {schema}.tenant_keys WHERE tenant_id = current_setting('memory_butler.tenant', true)
    ) THEN
        RAISE EXCEPTION 'encryption was switched on after this program started' USING ERRCODE = 'MB003';
    END IF;
END $body$;
