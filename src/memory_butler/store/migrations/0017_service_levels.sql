-- Service levels, and what one process finds out about all tenants for all others.

-- Measurements of one objective in ten minutes: how many fell into each step of its scale. No tenant, no caller.
CREATE TABLE {schema}.objective_buckets (
    objective text NOT NULL CHECK (objective <> ''),
    started_at timestamptz NOT NULL,
    counts bigint[] NOT NULL,
    PRIMARY KEY (objective, started_at)
);
-- The newest figures of all tenants together. Who takes them claims the row first.
CREATE TABLE {schema}.fleet_sample (
    is_only boolean PRIMARY KEY CHECK (is_only),
    claimed_at timestamptz NOT NULL,
    taken_at timestamptz,
    figures jsonb CHECK (jsonb_typeof(figures) = 'object')
);
INSERT INTO {schema}.fleet_sample (is_only, claimed_at) VALUES (true, 'epoch');
GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.objective_buckets TO {app_role};
GRANT SELECT, UPDATE ON {schema}.fleet_sample TO {app_role};

CREATE OR REPLACE FUNCTION {schema}.require_revision(program_revision text) RETURNS void
LANGUAGE plpgsql STABLE AS $body$
BEGIN
    -- A program that knows of keys in the store says so.
    IF program_revision = '0017+keys' THEN
        RETURN;
    END IF;
    IF program_revision <> '0017' THEN
        RAISE EXCEPTION 'the store is at revision 0017, this program works with %', program_revision
            USING ERRCODE = 'MB002';
    END IF;
    -- A program without keys would show ciphertext, and store plain text beside it.
    IF EXISTS (
        SELECT FROM {schema}.tenant_keys WHERE tenant_id = current_setting('memory_butler.tenant', true)
    ) THEN
        RAISE EXCEPTION 'encryption was switched on after this program started' USING ERRCODE = 'MB003';
    END IF;
END $body$;
