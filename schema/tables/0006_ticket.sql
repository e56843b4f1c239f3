-- oldest writer: 1
-- Tickets for browsers' sockets: used once, within 30 seconds, at any server. Only the hash is kept.
-- Unlogged: nobody misses a ticket after a crash, and none stands in the write-ahead log.
create unlogged table stemma.ticket (
  hash text collate "C" primary key,
  tenant int not null references stemma.tenant,
  subject text not null,
  scopes text not null,
  expires_at timestamptz not null
)
-- statement
create index ticket_expires_at on stemma.ticket (expires_at)
