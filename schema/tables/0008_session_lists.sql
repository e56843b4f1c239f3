-- oldest writer: 1
-- Turns, requests and what waits for an owner, listed across sessions. They are written with the list
-- of sessions, behind the same checkpoint. What was said stands in the log, at the seqs given here.
create table stemma.turn (
  version int not null,
  sid bigint not null,
  turn_id text collate "C" not null,
  tenant int not null,
  owner_id text collate "C" not null,
  incarnation bigint,
  fence bigint not null,
  released boolean not null,
  started_seq bigint not null,
  started_at timestamptz not null,
  -- Of the last start, claim or release.
  held_seq bigint not null,
  claims json not null,
  -- Of the first request to interrupt it, whose reason and author count.
  interrupt_seq bigint,
  -- When the grace that was given last is over; null where none was given.
  interrupt_due_at timestamptz,
  ended_seq bigint,
  ended_at timestamptz,
  outcome text collate "C",
  primary key (version, sid, turn_id)
) with (fillfactor = 70)
-- statement
create index turn_started on stemma.turn (version, sid, started_seq)
-- statement
create index turn_active on stemma.turn (version, sid) where ended_seq is null
-- statement
create index turn_active_of_owner on stemma.turn (version, tenant, owner_id) where ended_seq is null
-- statement
create index turn_interrupted on stemma.turn (version, interrupt_due_at)
  where ended_seq is null and interrupt_seq is not null
-- statement
-- position: of the event that opened it, the order of the list.
create table stemma.request (
  version int not null,
  sid bigint not null,
  request_id text collate "C" not null,
  tenant int not null,
  position bigint not null,
  kind text collate "C" not null,
  status text collate "C" not null check (status in ('open', 'answered', 'closed')),
  reason text collate "C",
  opened_seq bigint not null,
  opened_at timestamptz not null,
  expires_at timestamptz,
  settled_seq bigint,
  settled_at timestamptz,
  primary key (version, sid, request_id)
) with (fillfactor = 70)
-- statement
create index request_position on stemma.request (version, tenant, position)
-- statement
create index request_of_session on stemma.request (version, sid, position)
-- statement
create index request_open on stemma.request (version, tenant, position) where status = 'open'
-- statement
create index request_expires on stemma.request (version, expires_at)
  where status = 'open' and expires_at is not null
-- statement
-- Inputs that were not delivered, and answers given while no turn was active that no turn has taken
-- up. A row goes when its thing waits no longer.
create table stemma.waiting (
  version int not null,
  sid bigint not null,
  kind text collate "C" not null check (kind in ('input', 'answer')),
  id text collate "C" not null,
  tenant int not null,
  seq bigint not null,
  primary key (version, sid, kind, id)
)
-- statement
create index waiting_of_tenant on stemma.waiting (version, tenant, sid)
-- statement
-- Sessions that these lists have set aside, because their event at this seq cannot be folded or
-- written: their rows stay as they were. They are tried again when the head is above the one given
-- here, not too often, until a limit of tries, and under another version.
create table stemma.lists_stalled (
  version int not null,
  sid bigint not null,
  tenant int not null,
  seq bigint not null,
  code text collate "C" not null,
  head bigint not null,
  tries int not null,
  tried_at timestamptz not null,
  primary key (version, sid)
)
-- statement
-- The list of sessions is written anew with them: a build before this one goes on with its own rows.
insert into stemma.sessions_checkpoint (version, position) values (2, 0)
-- statement
insert into stemma.projection_generation (name, version, fold, state)
  values ('sessions', 2, 2, 'whole')
-- statement
update stemma.projection set live_version = 2 where name = 'sessions'
