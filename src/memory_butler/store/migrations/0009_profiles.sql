-- Briefings: the domain profile of each memory, and the pinned memories.

-- How much a memory belongs to each kind of work. Derived; rebuilt at will, like passages and postings.
CREATE TABLE {schema}.profiles (
    tenant_id text NOT NULL,
    memory_type text NOT NULL CHECK (memory_type IN ('episode', 'fact', 'rule')),
    memory_id uuid NOT NULL,
    version int NOT NULL,
    profile {vector}.vector NOT NULL,
    PRIMARY KEY (tenant_id, memory_type, memory_id)
);
ALTER TABLE {schema}.profiles ALTER COLUMN profile SET STORAGE PLAIN;
ALTER TABLE {schema}.profiles SET (autovacuum_analyze_scale_factor = 1);
ALTER TABLE {schema}.profiles ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.profiles FORCE ROW LEVEL SECURITY;
CREATE POLICY one_tenant ON {schema}.profiles
    USING (tenant_id = current_setting('memory_butler.tenant', true))
    WITH CHECK (tenant_id = current_setting('memory_butler.tenant', true));
GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.profiles TO {app_role};

CREATE INDEX facts_pinned ON {schema}.facts (tenant_id, id) WHERE pinned;
CREATE INDEX rules_pinned ON {schema}.rules (tenant_id, id) WHERE pinned;
-- The facts that came from an episode.
CREATE INDEX facts_source ON {schema}.facts (tenant_id, source_episode_id) WHERE source_episode_id IS NOT NULL;

CREATE OR REPLACE FUNCTION {schema}.require_revision(program_revision text) RETURNS void
LANGUAGE plpgsql STABLE AS $body$
BEGIN
    IF program_revision <> '0009' THEN
        RAISE EXCEPTION 'the store is at revision 0009, this program works with %', program_revision
            USING ERRCODE = 'MB002';
    END IF;
END $body$;
