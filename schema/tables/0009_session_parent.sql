-- oldest writer: 1
-- The sessions that name a session as their parent, deleted ones too. Made in a transaction: it holds
-- up the projector, and no append.
create index session_info_parent on stemma.session_info (version, tenant, parent)
  where parent is not null
