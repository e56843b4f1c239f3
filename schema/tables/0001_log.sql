-- oldest writer: 1
-- The log: sessions, their events, and what keeps both in order. Rules: docs/protocol.md.
create table stemma.tenant (
  tenant int generated always as identity primary key,
  name text collate "C" not null unique
)
-- statement
insert into stemma.tenant (name) values ('default')
-- statement
-- Half of each page stays free and no index covers what an append changes, so that the update of
-- head and state is a HOT update.
create table stemma.session (
  sid bigint generated always as identity primary key,
  tenant int not null references stemma.tenant,
  session_id text collate "C" not null,
  head bigint not null check (head >= 1),
  state json not null,
  state_version int not null,
  created_at timestamptz not null,
  unique (tenant, session_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02)
-- statement
create sequence stemma.position as bigint cache 1
-- statement
-- data and meta are json, not jsonb: jsonb refuses NUL and lone surrogates. SQL never looks inside.
create table stemma.event (
  sid bigint not null,
  seq bigint not null check (seq >= 1),
  tenant int not null,
  position bigint not null,
  event_id text collate "C" not null,
  type text collate "C" not null,
  version int not null,
  data json not null,
  meta json not null,
  occurred_at timestamptz not null,
  recorded_at timestamptz not null,
  primary key (sid, seq),
  constraint event_id_is_unique unique (sid, event_id)
)
-- statement
create unique index event_position on stemma.event (position)
-- statement
create index event_tenant_position on stemma.event (tenant, position)
-- statement
create table stemma.name (
  sid bigint not null,
  name text collate "C" not null,
  seq bigint not null,
  primary key (sid, name)
)
-- statement
create table stemma.receipt (
  sid bigint not null,
  command_id text collate "C" not null,
  route text not null,
  request_hash text collate "C" not null,
  status int not null,
  seqs int8range not null,
  result json not null,
  created_at timestamptz not null,
  primary key (sid, command_id)
)
-- statement
create function stemma.refuse_change() returns trigger language plpgsql as $body$
begin
  raise exception 'events are immutable' using errcode = 'P0S01';
end $body$
-- statement
create trigger event_is_immutable before update or delete on stemma.event
  for each row execute function stemma.refuse_change()
-- statement
create trigger event_is_not_truncated before truncate on stemma.event
  for each statement execute function stemma.refuse_change()
-- statement
-- The last position that may be read: nothing at or below it can still appear (docs/protocol.md, L7).
-- The order of the two reads is the proof: the last allocated value first, then the smallest key held.
create function stemma.horizon_v1() returns bigint language plpgsql volatile as $body$
declare
  allocated bigint;
  held bigint;
begin
  select case when is_called then last_value else 0 end into allocated from stemma.position;
  select min((classid::bigint << 32) | objid::bigint) - (1::bigint << 62) into held
    from pg_locks
    where locktype = 'advisory' and granted and objsubid = 1
      and database = (select oid from pg_database where datname = current_database())
      and classid::bigint between 1073741824 and 1610612735;
  return least(allocated, held);
end $body$
