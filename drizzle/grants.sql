-- Not a migration: run by the runner after the files, and again after a restore (dumps are taken without privileges). The REVOKEs come last,
-- because a grant on all tables after them would silently give the audit log back.
do $$ begin
  if not exists (select from pg_roles where rolname = 'cuba_app') then
    raise warning 'the role cuba_app does not exist; nothing was granted';
    return;
  end if;
  grant usage on schema public to cuba_app;
  grant select, insert, update, delete on all tables in schema public to cuba_app;
  grant usage, select on all sequences in schema public to cuba_app;
  alter default privileges in schema public grant select, insert, update, delete on tables to cuba_app;
  revoke update, delete, truncate on brain_audit_log from cuba_app;
  revoke insert, update, delete on brain_principals, brain_grants, brain_node_identity, brain_migrations from cuba_app;
end $$;
