-- References: the record of single reads has a retention. The counts of references stay with the memories.

-- Up to which event the single reads of a tenant are dropped. Derived from the log; without a row, none are.
CREATE TABLE {schema}.reference_horizons (
    tenant_id text PRIMARY KEY REFERENCES {schema}.tenants,
    seq bigint NOT NULL CHECK (seq >= 0)
);
ALTER TABLE {schema}.reference_horizons ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.reference_horizons FORCE ROW LEVEL SECURITY;
CREATE POLICY one_tenant ON {schema}.reference_horizons
    USING (tenant_id = current_setting('memory_butler.tenant', true))
    WITH CHECK (tenant_id = current_setting('memory_butler.tenant', true));
GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.reference_horizons TO {app_role};

-- Remove the names of requests and sessions from the events of old reads. A purge finds such events by the single
-- reads, which are dropped with them.
CREATE FUNCTION {schema}.scrub_references(after bigint, upto bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $body$
DECLARE
    scrubbed bigint;
BEGIN
    PERFORM set_config('memory_butler.purging', 'on', true);
    UPDATE {schema}.memory_events e
    SET request_id = NULL, subrequest_id = NULL, segment_id = NULL, session_id = NULL
    WHERE e.tenant_id = current_setting('memory_butler.tenant') AND e.seq > after AND e.seq <= upto
        AND e.entity_type = 'reference'
        AND (e.request_id, e.subrequest_id, e.segment_id, e.session_id) IS DISTINCT FROM (NULL, NULL, NULL, NULL);
    GET DIAGNOSTICS scrubbed = ROW_COUNT;
    PERFORM set_config('memory_butler.purging', '', true);
    RETURN scrubbed;
END $body$;
REVOKE EXECUTE ON FUNCTION {schema}.scrub_references(bigint, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION {schema}.scrub_references(bigint, bigint) TO {app_role};

CREATE OR REPLACE FUNCTION {schema}.require_revision(program_revision text) RETURNS void
LANGUAGE plpgsql STABLE AS $body$
BEGIN
    -- A program that knows of keys in the store says so.
    IF program_revision = '0016+keys' THEN
        RETURN;
    END IF;
    IF program_revision <> '0016' THEN
        RAISE EXCEPTION 'the store is at revision 0016, this program works with %', program_revision
            USING ERRCODE = 'MB002';
    END IF;
    -- A program without keys would show ciphertext, and store plain text beside it.
    IF EXISTS (
        SELECT FROM {schema}.tenant_keys WHERE tenant_id = current_setting('memory_butler.tenant', true)
    ) THEN
        RAISE EXCEPTION 'encryption was switched on after this program started' USING ERRCODE = 'MB003';
    END IF;
END $body$;
