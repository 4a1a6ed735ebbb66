-- The call log: which briefings and searches agents asked for, and which memories they got.

-- It is no part of the memory's state: it has no events, is not exported, and no answer depends on it. `prompt` holds
-- no secrets; it is encrypted if the tenant has a key.
CREATE TABLE {schema}.call_log (
    tenant_id text NOT NULL REFERENCES {schema}.tenants,
    id uuid NOT NULL,
    asked_at timestamptz NOT NULL,
    kind text NOT NULL CHECK (kind IN ('briefing', 'search')),
    butler text NOT NULL,
    client text NOT NULL,
    session_id text,
    prompt text NOT NULL,
    token_budget integer,
    tokens integer CHECK (tokens >= 0),
    milliseconds real NOT NULL CHECK (milliseconds >= 0),
    memory_ids uuid[] NOT NULL,
    refs text[] NOT NULL CHECK (cardinality(refs) = cardinality(memory_ids)),
    degraded text[] NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX call_log_asked ON {schema}.call_log (tenant_id, asked_at DESC, id DESC);
ALTER TABLE {schema}.call_log ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.call_log FORCE ROW LEVEL SECURITY;
CREATE POLICY one_tenant ON {schema}.call_log
    USING (tenant_id = current_setting('memory_butler.tenant', true))
    WITH CHECK (tenant_id = current_setting('memory_butler.tenant', true));
GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.call_log TO {app_role};

CREATE OR REPLACE FUNCTION {schema}.require_revision(program_revision text) RETURNS void
LANGUAGE plpgsql STABLE AS $body$
BEGIN
    -- A program that knows of keys in the store says so.
    IF program_revision = '0018+keys' THEN
        RETURN;
    END IF;
    IF program_revision <> '0018' THEN
        RAISE EXCEPTION 'the store is at revision 0018, this program works with %', program_revision
            USING ERRCODE = 'MB002';
    END IF;
    -- A program without keys would show ciphertext, and store plain text beside it.
    IF EXISTS (
        SELECT FROM {schema}.tenant_keys WHERE tenant_id = current_setting('memory_butler.tenant', true)
    ) THEN
        RAISE EXCEPTION 'encryption was switched on after this program started' USING ERRCODE = 'MB003';
    END IF;
END $body$;
