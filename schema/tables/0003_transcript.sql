-- oldest writer: 1
-- The transcript: messages and their parts as rows, computed from the log alone. Every table carries
-- the projection's version, so that another version can be filled beside the live one.
create table stemma.projection (
  name text collate "C" primary key,
  live_version int not null
)
-- statement
insert into stemma.projection (name, live_version) values ('transcript', 1), ('sessions', 1)
-- statement
create table stemma.transcript_progress (
  version int not null,
  sid bigint not null,
  seq bigint not null,
  state json not null,
  stalled_seq bigint,
  stalled_code text,
  tries int not null default 0,
  tried_build text,
  primary key (version, sid)
) with (fillfactor = 70)
-- statement
create table stemma.transcript_message (
  version int not null,
  sid bigint not null,
  message_id text collate "C" not null,
  place bigint,
  first_seq bigint not null,
  last_seq bigint not null,
  type text collate "C" not null,
  data json not null,
  primary key (version, sid, message_id)
)
-- statement
create unique index transcript_message_place on stemma.transcript_message (version, sid, place)
  where place is not null
-- statement
create table stemma.transcript_part (
  version int not null,
  sid bigint not null,
  message_id text collate "C" not null,
  attempt int not null,
  part_id text collate "C" not null,
  index int not null,
  start_seq bigint not null,
  end_seq bigint,
  type text collate "C" not null,
  data json not null,
  primary key (version, sid, message_id, attempt, part_id)
)
