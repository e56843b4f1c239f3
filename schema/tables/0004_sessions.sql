-- oldest writer: 1
-- The list of sessions. One checkpoint, moved in the transaction that writes the rows; a session's
-- row is touched at most once a second. Columns are what is filtered, sorted or searched; NUL and
-- lone surrogates are replaced in them, and only there.
create table stemma.sessions_checkpoint (
  version int primary key,
  position bigint not null
)
-- statement
insert into stemma.sessions_checkpoint (version, position) values (1, 0)
-- statement
create table stemma.session_info (
  version int not null,
  sid bigint not null,
  tenant int not null,
  seq bigint not null,
  touched bigint not null,
  archived boolean not null,
  deleted boolean not null,
  project text,
  parent text,
  title text not null,
  data json not null,
  primary key (version, sid)
) with (fillfactor = 70)
-- statement
create index session_info_touched on stemma.session_info (version, tenant, touched)
