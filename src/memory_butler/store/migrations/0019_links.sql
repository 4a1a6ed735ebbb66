-- Links that callers write can be withdrawn by undo: the row goes, and the events of the link and of the undo stay.
CREATE FUNCTION {schema}.unlink(links json) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $body$
DECLARE
    removed bigint;
BEGIN
    PERFORM set_config('memory_butler.purging', 'on', true);
    DELETE FROM {schema}.memory_links m
    USING json_to_recordset(links) AS l (source_id uuid, relation text, target_id uuid)
    WHERE m.tenant_id = current_setting('memory_butler.tenant') AND m.source_id = l.source_id
        AND m.relation = l.relation AND m.target_id = l.target_id
        AND m.relation IN ('supports', 'contradicts', 'related_to');
    GET DIAGNOSTICS removed = ROW_COUNT;
    PERFORM set_config('memory_butler.purging', '', true);
    RETURN removed;
END $body$;
REVOKE EXECUTE ON FUNCTION {schema}.unlink(json) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION {schema}.unlink(json) TO {app_role};

CREATE OR REPLACE FUNCTION {schema}.require_revision(program_revision text) RETURNS void
LANGUAGE plpgsql STABLE AS $body$
BEGIN
    -- A program that knows of keys in the store says so.
    IF program_revision = '0019+keys' THEN
        RETURN;
    END IF;
    IF program_revision <> '0019' THEN
        RAISE EXCEPTION 'the store is at revision 0019, this program works with %', program_revision
            USING ERRCODE = 'MB002';
    END IF;
    -- A program without keys would show ciphertext, and store plain text beside it.
    IF EXISTS (
        SELECT FROM {schema}.tenant_keys WHERE tenant_id = current_setting('memory_butler.tenant', true)
    ) THEN
        RAISE EXCEPTION 'encryption was switched on after this program started' USING ERRCODE = 'MB003';
    END IF;
END $body$;
