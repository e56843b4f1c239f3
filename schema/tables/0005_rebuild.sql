-- oldest writer: 1
-- Generations of a projection: the numbers under `version` in its tables, never used twice. `fold` is
-- the version of the code that made the rows; a build reads and writes only generations of its own
-- fold. The one row of stemma.projection says which generation is live.
create table stemma.projection_generation (
  name text collate "C" not null references stemma.projection,
  version int not null,
  fold int not null,
  state text collate "C" not null check (state in ('filling', 'whole', 'leaving', 'removed')),
  primary key (name, version)
)
-- statement
insert into stemma.projection_generation (name, version, fold, state)
  select name, live_version, 1, 'whole' from stemma.projection
-- statement
-- A rebuild is named by the generation that it fills. Any number of processes work on one.
create table stemma.rebuild (
  name text collate "C" not null,
  version int not null,
  replaces int not null,
  verify boolean not null,
  phase text collate "C" not null
    check (phase in ('filling', 'verifying', 'differs', 'removing', 'done')),
  outcome text collate "C" check (outcome in ('live', 'checked', 'discarded')),
  caught_up bigint not null default 0,
  difference text,
  began_at timestamptz not null default now(),
  ended_at timestamptz,
  primary key (name, version),
  foreign key (name, version) references stemma.projection_generation
)
-- statement
create unique index rebuild_one_at_a_time on stemma.rebuild (name) where ended_at is null
-- statement
-- Sessions in ranges of sids: who claims a range works on it, and says so while it does.
create table stemma.rebuild_range (
  name text collate "C" not null,
  version int not null,
  first_sid bigint not null,
  last_sid bigint not null,
  sessions int not null,
  filled_sessions int not null default 0,
  events bigint not null default 0,
  filled boolean not null default false,
  verified_sessions int not null default 0,
  verified boolean not null default false,
  claimed_by text,
  claimed_at timestamptz,
  primary key (name, version, first_sid),
  foreign key (name, version) references stemma.rebuild
) with (fillfactor = 70)
