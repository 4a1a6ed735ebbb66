-- Encryption: the keys of the tenants, each encrypted with a master key that is kept outside the database.

-- `data` keys encrypt texts; the newest is used, the retired ones until their texts are encrypted anew. The `index` key
-- makes hashes. A key without `wrapped` was destroyed.
CREATE TABLE {schema}.tenant_keys (
    tenant_id text NOT NULL REFERENCES {schema}.tenants,
    id text NOT NULL CHECK (id ~ '^[0-9a-f]{8}$'),
    purpose text NOT NULL CHECK (purpose IN ('data', 'index')),
    master_id text NOT NULL,
    wrapped bytea,
    created_at timestamptz NOT NULL,
    retired_at timestamptz CHECK (retired_at >= created_at),
    destroyed_at timestamptz CHECK (destroyed_at >= created_at),
    PRIMARY KEY (tenant_id, id),
    CHECK ((wrapped IS NULL) = (destroyed_at IS NOT NULL))
);
CREATE UNIQUE INDEX tenant_keys_used ON {schema}.tenant_keys (tenant_id, purpose)
    WHERE retired_at IS NULL AND destroyed_at IS NULL;
ALTER TABLE {schema}.tenant_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.tenant_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY one_tenant ON {schema}.tenant_keys
    USING (tenant_id = current_setting('memory_butler.tenant', true))
    WITH CHECK (tenant_id = current_setting('memory_butler.tenant', true));
GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.tenant_keys TO {app_role};

-- The beginning of a text for a list. An encrypted text stays whole: only then can it be decrypted.
CREATE FUNCTION {schema}.preview(content text, characters int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    CASE WHEN content LIKE 'enc:v1:%' THEN content ELSE left(content, characters) END;

-- A memory's words are never rewritten. Only their form changes when they are encrypted, or encrypted anew.
CREATE OR REPLACE FUNCTION {schema}.guard_content() RETURNS trigger LANGUAGE plpgsql AS $body$
DECLARE
    form text[] := '{content,content_hash,metadata}';
BEGIN
    IF current_setting('memory_butler.resealing', true) = 'on' AND TG_TABLE_NAME IN ('facts', 'rules', 'episodes')
        AND to_jsonb(NEW) ->> 'content' LIKE 'enc:v1:%' AND to_jsonb(NEW) - form = to_jsonb(OLD) - form THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'the content of a stored memory is never rewritten' USING ERRCODE = 'MB001';
END $body$;

-- Replace the encrypted reason of a report on a rule by the same one under another key.
CREATE FUNCTION {schema}.reseal_reason(report uuid, sealed text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $body$
BEGIN
    PERFORM set_config('memory_butler.purging', 'on', true);
    UPDATE {schema}.rule_applications SET reason = sealed
    WHERE tenant_id = current_setting('memory_butler.tenant') AND id = report AND reason IS NOT NULL
        AND sealed LIKE 'enc:v1:%';
    PERFORM set_config('memory_butler.purging', '', true);
END $body$;
REVOKE EXECUTE ON FUNCTION {schema}.reseal_reason(uuid, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION {schema}.reseal_reason(uuid, text) TO {app_role};

CREATE OR REPLACE FUNCTION {schema}.require_revision(program_revision text) RETURNS void
LANGUAGE plpgsql STABLE AS $body$
BEGIN
    -- A program that knows of keys in the store says so.
    IF program_revision = '0012+keys' THEN
        RETURN;
    END IF;
    IF program_revision <> '0012' THEN
        RAISE EXCEPTION 'the store is at revision 0012, this program works with %', program_revision
            USING ERRCODE = 'MB002';
    END IF;
    -- A program without keys would show ciphertext, and store plain text beside it.
    IF EXISTS (
        SELECT FROM {schema}.tenant_keys WHERE tenant_id = current_setting('memory_butler.tenant', true)
    ) THEN
        RAISE EXCEPTION 'encryption was switched on after this program started' USING ERRCODE = 'MB003';
    END IF;
END $body$;
