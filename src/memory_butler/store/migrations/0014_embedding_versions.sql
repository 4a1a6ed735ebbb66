-- Embedding: vectors of any size, several embedding versions side by side, and how many memories each of them has.

-- An index of vectors needs their size, which the column no longer says. The worker builds new ones.
DO $body$
DECLARE
    outdated text;
BEGIN
    FOR outdated IN SELECT c.relname FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
        WHERE i.indrelid = to_regclass('{schema}.passages') AND c.relname ~ '^passages_(near|next|past)_'
    LOOP
        EXECUTE format('DROP INDEX {schema}.%I', outdated);
    END LOOP;
END $body$;
ALTER TABLE {schema}.passages ALTER COLUMN embedding TYPE {vector}.vector;
ALTER TABLE {schema}.recent_questions ALTER COLUMN embedding TYPE {vector}.vector;

-- Of the versions in use, the one that was chosen last replaces the others. One is in use while a program says so.
ALTER TABLE {schema}.embedding_versions ADD COLUMN chosen_at timestamptz, ADD COLUMN used_at timestamptz;
UPDATE {schema}.embedding_versions SET chosen_at = created_at, used_at = created_at;
ALTER TABLE {schema}.embedding_versions ALTER COLUMN chosen_at SET NOT NULL, ALTER COLUMN used_at SET NOT NULL;
GRANT UPDATE (chosen_at, used_at) ON {schema}.embedding_versions TO {app_role};

-- How many memories and passages of each type have vectors of each version. Derived; a search reads it.
CREATE TABLE {schema}.embedding_counts (
    tenant_id text NOT NULL,
    memory_type text NOT NULL CHECK (memory_type IN ('episode', 'fact', 'rule')),
    embedding_version smallint NOT NULL REFERENCES {schema}.embedding_versions,
    memories bigint NOT NULL CHECK (memories >= 0),
    passages bigint NOT NULL CHECK (passages >= memories),
    PRIMARY KEY (tenant_id, memory_type, embedding_version)
) WITH (fillfactor = 50);
-- Tenants that do not want to be embedded again for now.
CREATE TABLE {schema}.reembedding_pauses (
    tenant_id text PRIMARY KEY,
    paused_at timestamptz NOT NULL
);

ALTER TABLE {schema}.passages NO FORCE ROW LEVEL SECURITY;
INSERT INTO {schema}.embedding_counts (tenant_id, memory_type, embedding_version, memories, passages)
SELECT tenant_id, memory_type, embedding_version, count(*) FILTER (WHERE ordinal = 0), count(*)
FROM {schema}.passages GROUP BY 1, 2, 3;
ALTER TABLE {schema}.passages FORCE ROW LEVEL SECURITY;

DO $body$
DECLARE
    holder text;
BEGIN
    FOREACH holder IN ARRAY ARRAY['embedding_counts', 'reembedding_pauses']
    LOOP
        EXECUTE format('ALTER TABLE {schema}.%I ENABLE ROW LEVEL SECURITY', holder);
        EXECUTE format('ALTER TABLE {schema}.%I FORCE ROW LEVEL SECURITY', holder);
        EXECUTE format('CREATE POLICY one_tenant ON {schema}.%I
            USING (tenant_id = current_setting(''memory_butler.tenant'', true))
            WITH CHECK (tenant_id = current_setting(''memory_butler.tenant'', true))', holder);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.%I TO {app_role}', holder);
    END LOOP;
END $body$;
-- Each write changes its tenant's row, and none of those changes tells a plan anything.
ALTER TABLE {schema}.embedding_counts SET (autovacuum_analyze_scale_factor = 100);

CREATE OR REPLACE FUNCTION {schema}.require_revision(program_revision text) RETURNS void
LANGUAGE plpgsql STABLE AS $body$
BEGIN
    -- A program that knows of keys in the store says so.
    IF program_revision = '0014+keys' THEN
        RETURN;
    END IF;
    IF program_revision <> '0014' THEN
        RAISE EXCEPTION 'the store is at revision 0014, this program works with %', program_revision
            USING ERRCODE = 'MB002';
    END IF;
    -- A program without keys would show ciphertext, and store plain text beside it.
    IF EXISTS (
        SELECT FROM {schema}.tenant_keys WHERE tenant_id = current_setting('memory_butler.tenant', true)
    ) THEN
        RAISE EXCEPTION 'encryption was switched on after this program started' USING ERRCODE = 'MB003';
    END IF;
END $body$;
