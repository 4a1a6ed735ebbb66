-- How often the database counts what a table holds. Every count throws away the plans of all statements that read the
-- table, on every connection, and to plan the search takes longer than to run it: a busy service stood still for
-- seconds each minute. The plans are made to fit every tenant, so a table has to be counted again when it has doubled.
ALTER TABLE {schema}.episodes SET (autovacuum_analyze_scale_factor = 1);
ALTER TABLE {schema}.facts SET (autovacuum_analyze_scale_factor = 1);
ALTER TABLE {schema}.rules SET (autovacuum_analyze_scale_factor = 1);
ALTER TABLE {schema}.passages SET (autovacuum_analyze_scale_factor = 1);
ALTER TABLE {schema}.postings SET (autovacuum_analyze_scale_factor = 1);
ALTER TABLE {schema}.texts SET (autovacuum_analyze_scale_factor = 1);
ALTER TABLE {schema}.aliases SET (autovacuum_analyze_scale_factor = 1);
ALTER TABLE {schema}.memory_links SET (autovacuum_analyze_scale_factor = 1);
ALTER TABLE {schema}.memory_events SET (autovacuum_analyze_scale_factor = 1);
-- Each write changes its tenant's row, and none of those changes tells a plan anything.
ALTER TABLE {schema}.tenants SET (autovacuum_analyze_scale_factor = 100);

CREATE OR REPLACE FUNCTION {schema}.require_revision(program_revision text) RETURNS void
LANGUAGE plpgsql STABLE AS $body$
BEGIN
    IF program_revision <> '0007' THEN
        RAISE EXCEPTION 'the store is at revision 0007, this program works with %', program_revision
            USING ERRCODE = 'MB002';
    END IF;
END $body$;
