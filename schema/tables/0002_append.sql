-- oldest writer: 1
-- The append: one call for the appends of many sessions. Each session (a_*) is there once, new ones
-- (a_sid 0) first, the others in order of sid. Text lists are joined with U+001E, which neither JSON
-- nor an id can hold. What cannot be appended is reported, not raised: `conflict` (the head moved),
-- `locked` (another call holds the row and p_wait is false), `exists`, `missing`.
create function stemma.append_v1(
  p_wait boolean, p_state_version int,
  a_sid bigint[], a_tenant int[], a_session_id text, a_expected bigint[], a_head bigint[], a_state text,
  e_a int[], e_seq bigint[], e_id text, e_type text, e_version int[], e_data text, e_meta text,
  e_occurred text,
  n_a int[], n_name text, n_seq bigint[], n_replace boolean[],
  r_a int[], r_command text, r_route text, r_hash text, r_status int[], r_first bigint[],
  r_last bigint[], r_result text
) returns table (a int, outcome text, sid bigint, head bigint)
language plpgsql volatile
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $body$
#variable_conflict use_column
declare
  separator constant text := chr(30);
  appends constant int := cardinality(a_sid);
  created int := 0;
  session_ids constant text[] := string_to_array(a_session_id, separator);
  states constant text[] := string_to_array(a_state, separator);
  sids bigint[] := a_sid;
  heads bigint[] := a_expected;
  outcomes text[] := array_fill('ok'::text, array[appends]);
  locked_sid bigint[];
  locked_head bigint[];
  locked_tenant int[];
  locked_id text[];
  allocated bigint;
  now_at constant timestamptz := date_trunc('milliseconds', clock_timestamp());
  new_sid bigint;
  wanted bigint;
  all_ok boolean;
  done bigint;
begin
  -- 1. Locks. New sessions: one creator of an id at a time, so that nobody waits inside the insert.
  while created < appends and a_sid[created + 1] = 0 loop
    created := created + 1;
    if p_wait then
      perform pg_advisory_xact_lock(x'57E4A'::int, hashtext(a_tenant[created] || ' ' || session_ids[created]));
    elsif not pg_try_advisory_xact_lock(x'57E4A'::int, hashtext(a_tenant[created] || ' ' || session_ids[created])) then
      outcomes[created] := 'locked';
    end if;
    if outcomes[created] = 'ok' then
      insert into stemma.session as s (tenant, session_id, head, state, state_version, created_at)
        values (a_tenant[created], session_ids[created], a_head[created], states[created]::json,
          p_state_version, now_at)
        on conflict do nothing returning s.sid into new_sid;
      if found then sids[created] := new_sid; else outcomes[created] := 'exists'; end if;
    end if;
  end loop;
  if created < appends then
    if p_wait then
      select array_agg(l.sid), array_agg(l.head), array_agg(l.tenant), array_agg(l.session_id)
          into locked_sid, locked_head, locked_tenant, locked_id from (
        select s.sid, s.head, s.tenant, s.session_id from stemma.session s
          where s.sid = any (a_sid) order by s.sid for update) l;
    else
      select array_agg(l.sid), array_agg(l.head), array_agg(l.tenant), array_agg(l.session_id)
          into locked_sid, locked_head, locked_tenant, locked_id from (
        select s.sid, s.head, s.tenant, s.session_id from stemma.session s
          where s.sid = any (a_sid) order by s.sid for update skip locked) l;
    end if;
    -- 2. Compare. The usual case is one comparison of two arrays.
    -- The id is compared too: after a restore the same sid may be another session.
    if locked_sid is distinct from a_sid[created + 1:] or locked_head is distinct from a_expected[created + 1:]
        or locked_tenant is distinct from a_tenant[created + 1:]
        or locked_id is distinct from session_ids[created + 1:] then
      for i in created + 1 .. appends loop
        new_sid := array_position(locked_sid, a_sid[i]);
        if new_sid is not null then
          heads[i] := locked_head[new_sid];
          if locked_tenant[new_sid] <> a_tenant[i] or locked_id[new_sid] <> session_ids[i] then
            outcomes[i] := 'missing';
          elsif heads[i] <> a_expected[i] then outcomes[i] := 'conflict';
          end if;
        elsif exists (select from stemma.session s where s.sid = a_sid[i]) then
          outcomes[i] := 'locked';
        else
          outcomes[i] := 'missing';
        end if;
      end loop;
    end if;
  end if;

  if 'ok' = any (outcomes) then
    -- 3. The horizon key: after the row locks, before any position is drawn.
    select case when is_called then last_value else 0 end into allocated from stemma.position;
    perform pg_advisory_xact_lock_shared((1::bigint << 62) + allocated);

    -- 4. Events, with positions in order of seq.
    all_ok := 'ok' = all (outcomes);
    if all_ok then wanted := cardinality(e_a);
    else select count(*) into wanted from unnest(e_a) u(a) where outcomes[u.a] = 'ok';
    end if;
    insert into stemma.event (sid, seq, tenant, position, event_id, type, version, data, meta,
        occurred_at, recorded_at)
      select sids[e.a], e.seq, a_tenant[e.a], nextval('stemma.position'), e.id, e.type, e.version,
          e.data::json, e.meta::json, coalesce(nullif(e.occurred, '')::timestamptz, now_at), now_at
        from (select u.* from unnest(e_a, e_seq, string_to_array(e_id, separator),
            string_to_array(e_type, separator), e_version, string_to_array(e_data, separator),
            string_to_array(e_meta, separator), string_to_array(e_occurred, separator))
            with ordinality u(a, seq, id, type, version, data, meta, occurred, o)
          where outcomes[u.a] = 'ok' order by u.o) e;
    get diagnostics done = row_count;
    if done <> wanted or done = 0 then
      raise exception 'inserted % of % events', done, wanted using errcode = 'P0S02';
    end if;

    -- 5. Heads and states.
    if created < appends then
      if all_ok then wanted := appends - created;
      else select count(*) into wanted from generate_series(created + 1, appends) g(a) where outcomes[g.a] = 'ok';
      end if;
      update stemma.session s set head = a_head[g.a], state = states[g.a]::json, state_version = p_state_version
        from generate_series(created + 1, appends) g(a)
        where s.sid = a_sid[g.a] and outcomes[g.a] = 'ok';
      get diagnostics done = row_count;
      if done <> wanted then
        raise exception 'updated % of % sessions', done, wanted using errcode = 'P0S02';
      end if;
    end if;

    -- 6. Names and receipts.
    if cardinality(n_a) > 0 then
      insert into stemma.name (sid, name, seq)
        select sids[u.a], u.name, u.seq
          from unnest(n_a, string_to_array(n_name, separator), n_seq, n_replace) u(a, name, seq, replace)
          where outcomes[u.a] = 'ok' and not u.replace;
      if true = any (n_replace) then
        insert into stemma.name as n (sid, name, seq)
          select sids[u.a], u.name, u.seq
            from unnest(n_a, string_to_array(n_name, separator), n_seq, n_replace) u(a, name, seq, replace)
            where outcomes[u.a] = 'ok' and u.replace
          on conflict (sid, name) do update set seq = excluded.seq;
      end if;
    end if;
    if cardinality(r_a) > 0 then
      insert into stemma.receipt (sid, command_id, route, request_hash, status, seqs, result, created_at)
        select sids[u.a], u.command, u.route, u.hash, u.status, int8range(u.first, u.last, '[]'),
            u.result::json, now_at
          from unnest(r_a, string_to_array(r_command, separator), string_to_array(r_route, separator),
            string_to_array(r_hash, separator), r_status, r_first, r_last,
            string_to_array(r_result, separator)) u(a, command, route, hash, status, first, last, result)
          where outcomes[u.a] = 'ok';
    end if;
  end if;

  return query
    select g.a, outcomes[g.a], sids[g.a],
        case when outcomes[g.a] = 'ok' then a_head[g.a] else heads[g.a] end
      from generate_series(1, appends) g(a);
end $body$
-- statement
-- The same for the call that a quiet server makes most: one session that is there. Gives whether it
-- was appended; if not, nothing happened, and append_v1 says why. Its seqs follow the head.
-- Statements of one row on scalars take a third of the time of those on lists. An UPDATE that waits
-- only a moment for the row (then 55P03) is a statement less than a lock that skips it.
create function stemma.append_one_v1(
  p_state_version int, p_sid bigint, p_tenant int, p_session_id text, p_expected bigint,
  p_head bigint, p_state text,
  e_id text, e_type text, e_version text, e_data text, e_meta text, e_occurred text,
  n_name text, n_seq text, p_receipt text
) returns boolean
language plpgsql volatile
set lock_timeout = '10ms' set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $body$
declare
  separator constant text := chr(30);
  now_at constant timestamptz := date_trunc('milliseconds', clock_timestamp());
  receipt text[];
  done bigint;
begin
  -- 1. Lock, compare and write, at once.
  update stemma.session s
    set head = p_head, state = p_state::json, state_version = p_state_version
    where s.sid = p_sid and s.head = p_expected and s.tenant = p_tenant
      and s.session_id = p_session_id;
  if not found then return false; end if;

  -- 2. The horizon key: after the row lock, before any position is drawn. As an expression, which
  -- costs a tenth of a statement; its argument is read before the lock is taken.
  if pg_advisory_xact_lock_shared(
      (1::bigint << 62) + coalesce(pg_sequence_last_value('stemma.position'), 0)) is null then
    raise exception 'no key' using errcode = 'P0S02';
  end if;

  -- 3. Events.
  if p_head = p_expected + 1 then
    insert into stemma.event (sid, seq, tenant, position, event_id, type, version, data, meta,
        occurred_at, recorded_at)
      values (p_sid, p_head, p_tenant, nextval('stemma.position'), e_id, e_type, e_version::int,
        e_data::json, e_meta::json, coalesce(nullif(e_occurred, '')::timestamptz, now_at), now_at);
  else
    insert into stemma.event (sid, seq, tenant, position, event_id, type, version, data, meta,
        occurred_at, recorded_at)
      select p_sid, p_expected + e.o, p_tenant, nextval('stemma.position'), e.id, e.type,
          e.version, e.data::json, e.meta::json,
          coalesce(nullif(e.occurred, '')::timestamptz, now_at), now_at
        from unnest(string_to_array(e_id, separator), string_to_array(e_type, separator),
          string_to_array(e_version, separator)::int[], string_to_array(e_data, separator),
          string_to_array(e_meta, separator), string_to_array(e_occurred, separator))
          with ordinality e(id, type, version, data, meta, occurred, o);
    get diagnostics done = row_count;
    if done <> p_head - p_expected then
      raise exception 'inserted % of % events', done, p_head - p_expected using errcode = 'P0S02';
    end if;
  end if;

  -- 4. Names and the receipt.
  if n_name <> '' then
    insert into stemma.name (sid, name, seq)
      select p_sid, n.name, n.seq
        from unnest(string_to_array(n_name, separator), string_to_array(n_seq, separator)::bigint[])
          n(name, seq);
  end if;
  if p_receipt <> '' then
    receipt := string_to_array(p_receipt, separator);
    insert into stemma.receipt (sid, command_id, route, request_hash, status, seqs, result, created_at)
      values (p_sid, receipt[1], receipt[2], receipt[3], receipt[4]::int,
        int8range(receipt[5]::bigint, receipt[6]::bigint, '[]'), receipt[7]::json, now_at);
  end if;
  return true;
end $body$
