-- oldest writer: 1
-- Owners: the agent servers that run turns. A registration is an incarnation; a later one, an exit or
-- a lapsed lease makes the earlier one's turns claimable, and fails none of them.
create table stemma.owner (
  tenant int not null references stemma.tenant,
  owner_id text collate "C" not null,
  incarnation bigint not null check (incarnation >= 1),
  lifetime text collate "C" not null check (lifetime in ('lease', 'process')),
  ttl_ms int check ((lifetime = 'lease') = (ttl_ms is not null)),
  host text,
  registered_at timestamptz not null,
  heartbeat_at timestamptz not null,
  ended_at timestamptz,
  end_reason text,
  primary key (tenant, owner_id)
) with (fillfactor = 50)
-- statement
-- What a registration under an Idempotency-Key was answered, so that one that comes again, however
-- late, supersedes nobody.
create table stemma.registration (
  tenant int not null references stemma.tenant,
  owner_id text collate "C" not null,
  command_id text collate "C" not null,
  incarnation bigint,
  lifetime text collate "C" not null,
  ttl_ms int,
  host text,
  primary key (tenant, owner_id, command_id)
)
-- statement
-- One row: when a server could last write here, and since when they could without a break.
create table stemma.availability (
  one boolean primary key default true check (one),
  pulsed_at timestamptz not null,
  since timestamptz not null
) with (fillfactor = 10)
-- statement
insert into stemma.availability (pulsed_at, since) values (clock_timestamp(), clock_timestamp())
-- statement
-- Every server calls it twice a second. After two seconds in which none could, heartbeats could not be
-- taken either: leases count anew from here.
create function stemma.pulse_v1() returns void language sql volatile as $body$
  update stemma.availability
    set since = case when clock_timestamp() - pulsed_at > interval '2 s'
          then clock_timestamp() else since end,
      pulsed_at = clock_timestamp()
    where clock_timestamp() - pulsed_at > interval '250 ms'
$body$
-- statement
-- An owner as it is now. `lost`: its turns may be claimed. `lapses_at`: when its lease ends if no
-- heartbeat comes; null for one that has ended or has no lease. No row: nobody of that id registered.
create function stemma.owner_now_v1(p_tenant int, p_owner_id text)
  returns table (incarnation bigint, lifetime text, ttl_ms int, host text, ended boolean,
    end_reason text, lost boolean, lapses_at timestamptz, lost_at timestamptz)
language sql volatile as $body$
  select o.incarnation, o.lifetime, o.ttl_ms, o.host, o.ended_at is not null, o.end_reason,
      o.ended_at is not null
        or coalesce(l.lapses_at <= clock_timestamp(), false)
          and clock_timestamp() - v.pulsed_at <= interval '2 s',
      l.lapses_at, coalesce(o.ended_at, l.lapses_at)
    from stemma.owner o cross join stemma.availability v
      left join lateral (
        select greatest(o.heartbeat_at, v.since, pg_postmaster_start_time())
            + o.ttl_ms * interval '1 ms' as lapses_at
          where o.lifetime = 'lease' and o.ended_at is null) l on true
    where o.tenant = p_tenant and o.owner_id = p_owner_id
$body$
-- statement
-- Guards: what an append needs of owners, checked after each owner's lock and before the sessions'
-- (a heartbeat waits for `lost` alone). g_need: `current` (this incarnation is registered, and its
-- turns may not be claimed), `lost` (this incarnation's turns may be claimed). What fails is raised: nothing is appended.
create function stemma.check_owners_v1(
  g_tenant int[], g_owner text, g_incarnation bigint[], g_need text[]
) returns void language plpgsql volatile as $body$
declare
  owners constant text[] := string_to_array(g_owner, chr(30));
  found_incarnation bigint;
  owner_ended boolean;
  owner_lost boolean;
begin
  for i in 1 .. cardinality(g_tenant) loop
    if g_need[i] = 'lost' then
      perform 1 from stemma.owner o where o.tenant = g_tenant[i] and o.owner_id = owners[i] for share;
    else
      perform 1 from stemma.owner o where o.tenant = g_tenant[i] and o.owner_id = owners[i] for key share;
    end if;
    select n.incarnation, n.ended, n.lost into found_incarnation, owner_ended, owner_lost
      from stemma.owner_now_v1(g_tenant[i], owners[i]) n;
    if (case g_need[i]
        when 'current' then found_incarnation = g_incarnation[i] and not owner_lost
        when 'lost' then found_incarnation > g_incarnation[i]
          or found_incarnation = g_incarnation[i] and owner_lost
      end) is not true then
      raise exception 'owner % is not %', owners[i], g_need[i] using errcode = 'P0S03';
    end if;
  end loop;
end $body$
-- statement
-- The append behind its guards: owners are locked and checked first, so that nobody waits for an
-- owner with a session's row or the horizon's key in hand.
create function stemma.append_guarded_v1(
  p_wait boolean, p_state_version int,
  a_sid bigint[], a_tenant int[], a_session_id text, a_expected bigint[], a_head bigint[], a_state text,
  e_a int[], e_seq bigint[], e_id text, e_type text, e_version int[], e_data text, e_meta text,
  e_occurred text,
  n_a int[], n_name text, n_seq bigint[], n_replace boolean[],
  r_a int[], r_command text, r_route text, r_hash text, r_status int[], r_first bigint[],
  r_last bigint[], r_result text,
  g_tenant int[], g_owner text, g_incarnation bigint[], g_need text[]
) returns table (a int, outcome text, sid bigint, head bigint)
language plpgsql volatile
as $body$
begin
  perform stemma.check_owners_v1(g_tenant, g_owner, g_incarnation, g_need);
  return query select r.a, r.outcome, r.sid, r.head from stemma.append_v1(
    p_wait, p_state_version, a_sid, a_tenant, a_session_id, a_expected, a_head, a_state,
    e_a, e_seq, e_id, e_type, e_version, e_data, e_meta, e_occurred,
    n_a, n_name, n_seq, n_replace,
    r_a, r_command, r_route, r_hash, r_status, r_first, r_last, r_result) r;
end $body$
