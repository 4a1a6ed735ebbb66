-- Consolidation: runs over batches of episodes, what each proposed and what became of it. Beside it, the last questions
-- of tenants with a vector index.

CREATE TABLE {schema}.consolidation_runs (
    tenant_id text NOT NULL REFERENCES {schema}.tenants,
    -- Also the group of the events that it writes.
    id uuid NOT NULL,
    butler text NOT NULL CHECK (length(butler) BETWEEN 1 AND 64),
    distiller text NOT NULL,
    -- A claimed run is being worked on, a waiting one awaits a person's decision; all others have ended. A rehearsed
    -- one changed nothing and is here for what it cost.
    state text NOT NULL CHECK (state IN ('claimed', 'waiting', 'applied', 'rejected', 'failed', 'lost', 'rehearsed')),
    claimed_at timestamptz NOT NULL,
    lease_until timestamptz NOT NULL,
    finished_at timestamptz,
    error text,
    episodes int NOT NULL CHECK (episodes > 0),
    input_tokens bigint NOT NULL DEFAULT 0 CHECK (input_tokens >= 0),
    output_tokens bigint NOT NULL DEFAULT 0 CHECK (output_tokens >= 0),
    -- In millionths of a dollar.
    cost_microdollars bigint NOT NULL DEFAULT 0 CHECK (cost_microdollars >= 0),
    request_id text,
    PRIMARY KEY (tenant_id, id),
    CHECK ((finished_at IS NULL) = (state IN ('claimed', 'waiting')))
);
-- One claim a shard: that keeps its order.
CREATE UNIQUE INDEX consolidation_runs_claim ON {schema}.consolidation_runs (tenant_id, butler)
    WHERE state = 'claimed';
CREATE INDEX consolidation_runs_waiting ON {schema}.consolidation_runs (tenant_id, butler) WHERE state = 'waiting';
CREATE INDEX consolidation_runs_time ON {schema}.consolidation_runs (tenant_id, claimed_at DESC);

CREATE TABLE {schema}.consolidation_episodes (
    tenant_id text NOT NULL,
    run_id uuid NOT NULL,
    episode_id uuid NOT NULL,
    place int NOT NULL,
    PRIMARY KEY (tenant_id, run_id, episode_id),
    FOREIGN KEY (tenant_id, run_id) REFERENCES {schema}.consolidation_runs ON DELETE CASCADE
);
CREATE INDEX consolidation_episodes_episode ON {schema}.consolidation_episodes (tenant_id, episode_id);

CREATE TABLE {schema}.consolidation_items (
    tenant_id text NOT NULL,
    run_id uuid NOT NULL,
    place int NOT NULL,
    kind text NOT NULL CHECK (kind IN ('fact', 'update', 'rule', 'confirmation')),
    -- What was proposed, as it was admitted or, if it was refused, as far as it can be shown.
    proposed jsonb NOT NULL,
    state text NOT NULL CHECK (state IN ('proposed', 'approved', 'applied', 'refused', 'rejected')),
    reason text,
    said text,
    outcome text,
    memory_type text,
    memory_id uuid,
    PRIMARY KEY (tenant_id, run_id, place),
    FOREIGN KEY (tenant_id, run_id) REFERENCES {schema}.consolidation_runs ON DELETE CASCADE,
    CHECK ((state = 'refused') = (reason IS NOT NULL))
);

-- What was distilled from which episode: the same again changes nothing.
CREATE TABLE {schema}.distilled_keys (
    tenant_id text NOT NULL REFERENCES {schema}.tenants,
    episode_id uuid NOT NULL,
    key bytea NOT NULL CHECK (octet_length(key) = 32),
    run_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, episode_id, key)
);

-- Text that a memory consists of is recognised where it comes back.
CREATE INDEX facts_content ON {schema}.facts (tenant_id, content_hash);

-- The vectors of a tenant's last questions, to measure its index with. The oldest makes room for the newest.
CREATE TABLE {schema}.recent_questions (
    tenant_id text NOT NULL REFERENCES {schema}.tenants,
    slot smallint NOT NULL CHECK (slot BETWEEN 0 AND 63),
    embedding_version smallint NOT NULL,
    embedding {vector}.vector(384) NOT NULL,
    asked_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, slot)
);

DO $body$
DECLARE
    holder text;
BEGIN
    FOREACH holder IN ARRAY ARRAY['consolidation_runs', 'consolidation_episodes', 'consolidation_items',
        'distilled_keys', 'recent_questions']
    LOOP
        EXECUTE format('ALTER TABLE {schema}.%I ENABLE ROW LEVEL SECURITY', holder);
        EXECUTE format('ALTER TABLE {schema}.%I FORCE ROW LEVEL SECURITY', holder);
        EXECUTE format('CREATE POLICY one_tenant ON {schema}.%I
            USING (tenant_id = current_setting(''memory_butler.tenant'', true))
            WITH CHECK (tenant_id = current_setting(''memory_butler.tenant'', true))', holder);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.%I TO {app_role}', holder);
    END LOOP;
END $body$;

CREATE OR REPLACE FUNCTION {schema}.require_revision(program_revision text) RETURNS void
LANGUAGE plpgsql STABLE AS $body$
BEGIN
    IF program_revision <> '0004' THEN
        RAISE EXCEPTION 'the store is at revision 0004, this program works with %', program_revision
            USING ERRCODE = 'MB002';
    END IF;
END $body$;
