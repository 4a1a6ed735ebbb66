-- Partitions: the functions that move the log and the episodes into monthly partitions. Nothing is moved here: a store
-- keeps its plain tables until it has grown, or until an administrator asks for partitions.

-- The table that a partition belongs to: memory_events for memory_events_p202603 and its parts by tenant.
CREATE FUNCTION {schema}.base_table(name text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(name, '_p([0-9]{6}|before|other)(_[0-9]+)?$', '');

-- Row triggers of a partitioned table run with the name of the partition.
CREATE OR REPLACE FUNCTION {schema}.guard_append_only() RETURNS trigger LANGUAGE plpgsql AS $body$
DECLARE
    holder text := {schema}.base_table(TG_TABLE_NAME);
BEGIN
    IF TG_LEVEL = 'ROW' AND current_setting('memory_butler.purging', true) = 'on' THEN
        IF TG_OP = 'DELETE' AND holder <> 'memory_events' THEN
            RETURN OLD;
        ELSIF TG_OP = 'UPDATE' AND holder = 'rule_applications' THEN
            RETURN NEW;
        ELSIF TG_OP = 'UPDATE' AND holder = 'memory_events' AND NEW.chain IS NOT DISTINCT FROM OLD.chain
            AND (OLD.chain IS NULL OR {schema}.chained_content(NEW) = {schema}.chained_content(OLD)) THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION '% is append-only', holder USING ERRCODE = 'MB001';
END $body$;

CREATE OR REPLACE FUNCTION {schema}.guard_content() RETURNS trigger LANGUAGE plpgsql AS $body$
DECLARE
    form text[] := '{content,content_hash,metadata}';
BEGIN
    IF current_setting('memory_butler.resealing', true) = 'on'
        AND {schema}.base_table(TG_TABLE_NAME) IN ('facts', 'rules', 'episodes')
        AND to_jsonb(NEW) ->> 'content' LIKE 'enc:v1:%' AND to_jsonb(NEW) - form = to_jsonb(OLD) - form THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'the content of a stored memory is never rewritten' USING ERRCODE = 'MB001';
END $body$;

-- A move that is under way: how far the rows are copied, by tenant and id.
CREATE TABLE {schema}.partition_moves (
    base text PRIMARY KEY CHECK (base IN ('memory_events', 'episodes')),
    state text NOT NULL CHECK (state IN ('copying', 'verifying')),
    buckets int NOT NULL CHECK (buckets BETWEEN 1 AND 256),
    at_tenant text NOT NULL DEFAULT '',
    at_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    copied bigint NOT NULL DEFAULT 0,
    started_at timestamptz NOT NULL
);

-- The smallest id of a month: ids are UUIDs of version 7, which begin with their time.
CREATE FUNCTION {schema}.month_id(moment timestamptz) RETURNS uuid LANGUAGE sql STABLE
RETURN (lpad(to_hex((extract(epoch FROM date_trunc('month', moment, 'UTC')) * 1000)::bigint), 12, '0')
    || repeat('0', 20))::uuid;

-- The time in an id.
CREATE FUNCTION {schema}.id_moment(id uuid) RETURNS timestamptz LANGUAGE sql STABLE
RETURN to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0);

-- Close a table of partitions, or a partition, to everybody who does not come through the gate.
CREATE FUNCTION {schema}.close_partition(part text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $body$
BEGIN
    EXECUTE format('ALTER TABLE {schema}.%1$I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', part);
    EXECUTE format('CREATE POLICY one_tenant ON {schema}.%I
        USING (tenant_id = current_setting(''memory_butler.tenant'', true))
        WITH CHECK (tenant_id = current_setting(''memory_butler.tenant'', true))', part);
    -- Row triggers of the whole table run for its partitions too, but not those for TRUNCATE.
    IF {schema}.base_table(part) = 'memory_events' AND part <> 'memory_events' THEN
        EXECUTE format('CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON {schema}.%I
            FOR EACH STATEMENT EXECUTE FUNCTION {schema}.guard_append_only()', part);
    END IF;
END $body$;

-- Make one partition of a table, with parts by tenant if there are several buckets. It is filled and attached later.
CREATE FUNCTION {schema}.make_partition(parent text, part text, buckets int, options text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $body$
DECLARE
    stored text := CASE WHEN options = '' THEN '' ELSE format('WITH (%s)', options) END;
BEGIN
    IF buckets = 1 THEN
        EXECUTE format('CREATE TABLE {schema}.%I (LIKE {schema}.%I INCLUDING ALL) %s', part, parent, stored);
    ELSE
        EXECUTE format('CREATE TABLE {schema}.%I (LIKE {schema}.%I INCLUDING ALL) PARTITION BY HASH (tenant_id)', part,
            parent);
        FOR bucket IN 0 .. buckets - 1 LOOP
            EXECUTE format('CREATE TABLE {schema}.%I PARTITION OF {schema}.%I
                FOR VALUES WITH (MODULUS %s, REMAINDER %s) %s', part || '_' || bucket, part, buckets, bucket, stored);
            PERFORM {schema}.close_partition(part || '_' || bucket);
        END LOOP;
    END IF;
    PERFORM {schema}.close_partition(part);
END $body$;

-- Move the rows of a month out of the partition for other ids, where a clock that was far ahead has put them. The new
-- partition is not attached yet: no trigger runs.
CREATE FUNCTION {schema}.move_from_other(base text, part text, lowest uuid, above uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $body$
DECLARE
    other text := base || '_pother';
    one text;
BEGIN
    FOREACH one IN ARRAY ARRAY[other, part] LOOP
        EXECUTE format('ALTER TABLE {schema}.%I NO FORCE ROW LEVEL SECURITY', one);
    END LOOP;
    EXECUTE format('ALTER TABLE {schema}.%I DISABLE TRIGGER USER', other);
    EXECUTE format('WITH moved AS (DELETE FROM {schema}.%1$I WHERE id >= $1 AND id < $2 RETURNING *)
        INSERT INTO {schema}.%2$I (%3$s) SELECT %3$s FROM moved', other, part, {schema}.written_columns(base, ''))
    USING lowest, above;
    EXECUTE format('ALTER TABLE {schema}.%I ENABLE TRIGGER USER', other);
    FOREACH one IN ARRAY ARRAY[other, part] LOOP
        EXECUTE format('ALTER TABLE {schema}.%I FORCE ROW LEVEL SECURITY', one);
    END LOOP;
END $body$;

-- Make and attach the monthly partitions from one month to another that are missing; returns their number.
CREATE FUNCTION {schema}.add_months(base text, parent text, first timestamptz, last timestamptz, buckets int,
    options text) RETURNS int
LANGUAGE plpgsql SET search_path = pg_catalog AS $body$
DECLARE
    month timestamptz := date_trunc('month', first, 'UTC');
    following timestamptz;
    made int := 0;
    part text;
    attach text;
BEGIN
    WHILE month <= last LOOP
        part := base || '_p' || to_char(month AT TIME ZONE 'UTC', 'YYYYMM');
        IF to_regclass(format('{schema}.%I', part)) IS NULL THEN
            following := (month AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC';
            LOCK TABLE {schema}.tenants IN SHARE ROW EXCLUSIVE MODE;
            PERFORM {schema}.make_partition(parent, part, buckets, options);
            attach := format('ALTER TABLE {schema}.%I ATTACH PARTITION {schema}.%I FOR VALUES FROM (%L) TO (%L)',
                parent, part, {schema}.month_id(month), {schema}.month_id(following));
            BEGIN
                EXECUTE attach;
            EXCEPTION WHEN check_violation THEN
                PERFORM {schema}.move_from_other(base, part, {schema}.month_id(month), {schema}.month_id(following));
                EXECUTE attach;
            END;
            made := made + 1;
        END IF;
        month := (month AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC';
    END LOOP;
    RETURN made;
END $body$;

-- Copy each change of a row to the new table, while its rows are copied.
CREATE FUNCTION {schema}.mirror_row() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $body$
BEGIN
    IF TG_OP = 'DELETE' THEN
        EXECUTE format('DELETE FROM {schema}.%I WHERE tenant_id = $1 AND id = $2', TG_TABLE_NAME || '_next')
        USING OLD.tenant_id, OLD.id;
    ELSE
        EXECUTE format('INSERT INTO {schema}.%1$I (%2$s) SELECT %2$s FROM (SELECT ($1).*) AS n
            ON CONFLICT (tenant_id, id) DO UPDATE SET (%2$s) = ROW(%3$s)', TG_TABLE_NAME || '_next', TG_ARGV[0],
            TG_ARGV[1])
        USING NEW;
    END IF;
    RETURN NULL;
END $body$;

-- The columns of a table that a statement may write.
CREATE FUNCTION {schema}.written_columns(base text, prefix text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog AS $body$
    SELECT string_agg(prefix || quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
    WHERE attrelid = to_regclass(format('{schema}.%I', base)) AND attnum > 0 AND NOT attisdropped
        AND attgenerated = ''
$body$;

-- Begin a move: the new table with its partitions and indexes, and from now on each change in both tables.
CREATE FUNCTION {schema}.begin_move(base text, first timestamptz, last timestamptz, buckets int, now timestamptz)
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog AS $body$
DECLARE
    following text := base || '_next';
    plain oid := to_regclass(format('{schema}.%I', base));
    options text := coalesce((SELECT array_to_string(reloptions, ', ') FROM pg_class WHERE oid = plain), '');
    defined record;
BEGIN
    -- In the order of every write, which begins with the row of its tenant.
    LOCK TABLE {schema}.tenants IN SHARE ROW EXCLUSIVE MODE;
    EXECUTE format('LOCK TABLE {schema}.%I IN SHARE ROW EXCLUSIVE MODE', base);
    EXECUTE format('CREATE TABLE {schema}.%I (LIKE {schema}.%I INCLUDING ALL EXCLUDING INDEXES)
        PARTITION BY RANGE (id)', following, base);
    FOR defined IN SELECT conname, contype, pg_get_constraintdef(oid) AS body FROM pg_constraint
        WHERE conrelid = plain AND contype IN ('p', 'u', 'f') LOOP
        EXECUTE format('ALTER TABLE {schema}.%I ADD CONSTRAINT %I %s', following,
            defined.conname || CASE WHEN defined.contype = 'f' THEN '' ELSE '_next' END, defined.body);
    END LOOP;
    FOR defined IN SELECT c.relname AS name, pg_get_indexdef(i.indexrelid) AS body FROM pg_index i
        JOIN pg_class c ON c.oid = i.indexrelid
        WHERE i.indrelid = plain AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid
            AND k.contype IN ('p', 'u')) LOOP
        EXECUTE regexp_replace(defined.body, '^CREATE (UNIQUE )?INDEX .+? ON .+? USING ',
            format('CREATE \1INDEX %I ON {schema}.%I USING ', defined.name || '_next', following));
    END LOOP;
    PERFORM {schema}.make_partition(following, base || '_pbefore', 1, options);
    EXECUTE format('ALTER TABLE {schema}.%I ATTACH PARTITION {schema}.%I FOR VALUES FROM (MINVALUE) TO (%L)',
        following, base || '_pbefore', {schema}.month_id(first));
    PERFORM {schema}.add_months(base, following, first, last, buckets, options);
    -- Ids that are not of version 7, or from a clock that was far ahead.
    PERFORM {schema}.make_partition(following, base || '_pother', 1, options);
    EXECUTE format('ALTER TABLE {schema}.%I ATTACH PARTITION {schema}.%I DEFAULT', following, base || '_pother');
    EXECUTE format('CREATE TRIGGER mirror AFTER INSERT OR UPDATE OR DELETE ON {schema}.%I
        FOR EACH ROW EXECUTE FUNCTION {schema}.mirror_row(%L, %L)', base, {schema}.written_columns(base, ''),
        {schema}.written_columns(base, 'excluded.'));
    INSERT INTO {schema}.partition_moves (base, state, buckets, started_at)
    VALUES (begin_move.base, 'copying', begin_move.buckets, begin_move.now);
END $body$;

-- Give up a move. The plain table has every row.
CREATE FUNCTION {schema}.cancel_move(base text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $body$
BEGIN
    LOCK TABLE {schema}.tenants IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('DROP TRIGGER IF EXISTS mirror ON {schema}.%I', base);
    EXECUTE format('DROP TABLE IF EXISTS {schema}.%I', base || '_next');
    DELETE FROM {schema}.partition_moves m WHERE m.base = cancel_move.base;
END $body$;

-- Copy the next rows of a tenant; returns their number and the last id. Their rows are locked meanwhile: a change waits
-- for a moment, and then reaches both tables.
CREATE FUNCTION {schema}.copy_page(base text, tenant text, after uuid, size int,
    OUT copied bigint, OUT last uuid)
LANGUAGE plpgsql SET search_path = pg_catalog AS $body$
BEGIN
    PERFORM set_config('memory_butler.tenant', tenant, true);
    EXECUTE format('WITH page AS MATERIALIZED (
            SELECT * FROM {schema}.%1$I WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3 FOR SHARE
        ), put AS (
            INSERT INTO {schema}.%2$I (%3$s) SELECT %3$s FROM page ON CONFLICT (tenant_id, id) DO NOTHING
        )
        SELECT count(*), (array_agg(id ORDER BY id DESC))[1] FROM page', base, base || '_next',
        {schema}.written_columns(base, ''))
    INTO copied, last USING tenant, after, size;
    UPDATE {schema}.partition_moves m
    SET at_tenant = tenant, at_id = coalesce(copy_page.last, after), copied = m.copied + copy_page.copied
    WHERE m.base = copy_page.base;
END $body$;

-- Compare the next rows of a tenant in both tables; returns the number of rows, of those that differ, and the last id.
CREATE FUNCTION {schema}.verify_page(base text, tenant text, after uuid, size int,
    OUT seen bigint, OUT wrong bigint, OUT last uuid)
LANGUAGE plpgsql SET search_path = pg_catalog AS $body$
BEGIN
    PERFORM set_config('memory_butler.tenant', tenant, true);
    EXECUTE format('WITH ending AS MATERIALIZED (
            SELECT id FROM {schema}.%1$I WHERE tenant_id = $1 AND id > $2 ORDER BY id OFFSET $3 - 1 LIMIT 1
        ), pairs AS (
            SELECT coalesce(o.id, n.id) AS id, row(o.*) IS DISTINCT FROM row(n.*) AS differs
            FROM (SELECT * FROM {schema}.%1$I WHERE tenant_id = $1 AND id > $2
                AND id <= coalesce((SELECT id FROM ending), ''ffffffff-ffff-ffff-ffff-ffffffffffff'')) o
            FULL JOIN (SELECT * FROM {schema}.%2$I WHERE tenant_id = $1 AND id > $2
                AND id <= coalesce((SELECT id FROM ending), ''ffffffff-ffff-ffff-ffff-ffffffffffff'')) n
            ON n.id = o.id
        )
        SELECT count(*), count(*) FILTER (WHERE differs), (SELECT id FROM ending) FROM pairs', base,
        base || '_next')
    INTO seen, wrong, last USING tenant, after, size;
END $body$;

-- End a move: the new table takes the place of the plain one with its indexes, triggers, rights and functions.
CREATE FUNCTION {schema}.end_move(base text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $body$
DECLARE
    plain oid := to_regclass(format('{schema}.%I', base));
    rowtype oid := (SELECT reltype FROM pg_class WHERE oid = plain);
    triggers text[] := ARRAY(SELECT pg_get_triggerdef(oid) FROM pg_trigger
        WHERE tgrelid = plain AND NOT tgisinternal AND tgname <> 'mirror' ORDER BY tgname);
    functions text[] := ARRAY(SELECT pg_get_functiondef(oid) FROM pg_proc WHERE rowtype = ANY (proargtypes));
    signatures text[] := ARRAY(SELECT oid::regprocedure::text FROM pg_proc WHERE rowtype = ANY (proargtypes));
    rights text[] := ARRAY(SELECT format('GRANT %s ON {schema}.%I TO %I', a.privilege_type, base, r.rolname)
        FROM pg_class c, aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee WHERE c.oid = plain
        AND a.grantee <> c.relowner);
    comment text := obj_description(plain, 'pg_class');
    one text;
BEGIN
    -- In the order of every write. Dropping a table with a foreign key changes the table that it points to.
    LOCK TABLE {schema}.tenants IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('LOCK TABLE {schema}.%I IN ACCESS EXCLUSIVE MODE', base);
    EXECUTE format('DROP TRIGGER mirror ON {schema}.%I', base);
    FOREACH one IN ARRAY signatures LOOP
        EXECUTE 'DROP FUNCTION ' || one;
    END LOOP;
    EXECUTE format('DROP TABLE {schema}.%I', base);
    EXECUTE format('ALTER TABLE {schema}.%I RENAME TO %I', base || '_next', base);
    FOR one IN SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        WHERE i.indrelid = to_regclass(format('{schema}.%I', base)) AND c.relname LIKE '%\_next' LOOP
        EXECUTE format('ALTER INDEX {schema}.%I RENAME TO %I', one, left(one, -5));
    END LOOP;
    FOREACH one IN ARRAY functions || triggers || rights LOOP
        EXECUTE one;
    END LOOP;
    PERFORM {schema}.close_partition(base);
    IF comment IS NOT NULL THEN
        EXECUTE format('COMMENT ON TABLE {schema}.%I IS %L', base, comment);
    END IF;
    DELETE FROM {schema}.partition_moves m WHERE m.base = end_move.base;
END $body$;

-- Make the partitions of the coming months of every partitioned table; returns how many were made.
CREATE FUNCTION {schema}.partition_ahead(now timestamptz, months int, buckets int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog SET lock_timeout = '500ms' AS $body$
DECLARE
    made int := 0;
    base text;
    options text;
BEGIN
    FOREACH base IN ARRAY ARRAY['memory_events', 'episodes'] LOOP
        SELECT coalesce(array_to_string(c.reloptions, ', '), '') INTO options
        FROM pg_class c WHERE c.oid = to_regclass(format('{schema}.%I', base || '_pother')) AND c.relispartition
            AND (SELECT p.relkind FROM pg_class p WHERE p.oid = to_regclass(format('{schema}.%I', base))) = 'p';
        IF FOUND THEN
            made := made
                + {schema}.add_months(base, base, now, now + make_interval(months => months), buckets, options);
        END IF;
    END LOOP;
    RETURN made;
END $body$;
REVOKE EXECUTE ON FUNCTION {schema}.partition_ahead(timestamptz, int, int) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION {schema}.partition_ahead(timestamptz, int, int) TO {app_role};
DO $body$
DECLARE
    one text;
BEGIN
    FOREACH one IN ARRAY ARRAY['close_partition(text)', 'move_from_other(text, text, uuid, uuid)',
        'make_partition(text, text, int, text)',
        'add_months(text, text, timestamptz, timestamptz, int, text)', 'mirror_row()', 'cancel_move(text)',
        'begin_move(text, timestamptz, timestamptz, int, timestamptz)', 'copy_page(text, text, uuid, int)',
        'verify_page(text, text, uuid, int)', 'end_move(text)']
    LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION {schema}.%s FROM PUBLIC', one);
    END LOOP;
END $body$;
GRANT SELECT ON {schema}.partition_moves TO {app_role};

CREATE OR REPLACE FUNCTION {schema}.require_revision(program_revision text) RETURNS void
LANGUAGE plpgsql STABLE AS $body$
BEGIN
    -- A program that knows of keys in the store says so.
    IF program_revision = '0015+keys' THEN
        RETURN;
    END IF;
    IF program_revision <> '0015' THEN
        RAISE EXCEPTION 'the store is at revision 0015, this program works with %', program_revision
            USING ERRCODE = 'MB002';
    END IF;
    -- A program without keys would show ciphertext, and store plain text beside it.
    IF EXISTS (
        SELECT FROM {schema}.tenant_keys WHERE tenant_id = current_setting('memory_butler.tenant', true)
    ) THEN
        RAISE EXCEPTION 'encryption was switched on after this program started' USING ERRCODE = 'MB003';
    END IF;
END $body$;
