-- Run once by Patroni on the first primary. The program's account owns nothing and sees one tenant at a time; another
-- account owns the schema. The passwords come from cluster.env.
\getenv owner_password DB_OWNER_PASSWORD
\getenv password DB_PASSWORD
CREATE ROLE memory_app NOLOGIN;
CREATE ROLE memory_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE memory_butler LOGIN PASSWORD :'password';
GRANT memory_app TO memory_owner, memory_butler;
CREATE DATABASE memory;
GRANT CREATE ON DATABASE memory TO memory_owner;
\connect memory
CREATE EXTENSION vector;
