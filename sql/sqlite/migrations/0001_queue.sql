-- The first floor: queues, their messages, the archive, and the workers. The story is told in
-- sql/postgres/migrations/0001_queue.sql; the tables and words are the same. What differs, and why:
--
--   names       carry the prefix pawl_ instead of a schema: the file may hold the user's tables too.
--   times       are integers, microseconds since 1970 in UTC: SQLite has no type for them, and
--               integers compare and index best.
--   locks       there are none to write down. One writer at a time (begin immediate) sees and changes
--               everything, so nothing is ever skipped or busy row by row.
--   clock       SQLite has no functions of ours: the store reads the host's clock inside the write
--               transaction, or pawl_clock where a test has put a time into it.
--   ids         autoincrement: SQLite would give the id of a deleted last row again, and an old
--               lease would fit the new message.
--   arrays      are JSON text; booleans are 0 and 1; payloads are JSON text that the store has checked.
--   checks      of hot columns are chains of `or`: for a list of more than two SQLite builds and drops a
--               table at every write, which costs as much as the write.

create table pawl_schema_version (
    version      integer primary key,
    name         text not null,
    installed_at integer not null
) strict;

-- What install() made, so that verify() can name what is missing or different.
create table pawl_schema_manifest (
    kind       text not null,
    name       text not null,
    definition text not null,
    primary key (kind, name)
) strict, without rowid;

-- Empty: the host's clock counts. One row: a test has stopped time here.
create table pawl_clock (
    fixed_at integer not null
) strict;

create table pawl_queues (
    queue_id        integer primary key autoincrement,
    name            text not null unique check (length(name) between 1 and 128),
    paused          integer not null default 0 check (paused in (0, 1)),
    keep_archive    integer not null default 1 check (keep_archive in (0, 1)),
    lease_ms        integer check (lease_ms > 0),  -- null: the caller's default
    max_strikes     integer not null default 5 check (max_strikes between 1 and 1000),
    max_attempts    integer not null default 25 check (max_attempts >= 0),  -- 0: no limit
    dead_letter_queue_id integer references pawl_queues on delete set null,  -- null: the archive
    created_at      integer not null
) strict;

-- No foreign key to pawl_queues: it would cost a look-up per row, and the one writer sees to it.
create table pawl_messages (
    message_id  integer primary key autoincrement,
    queue_id    integer not null,
    priority    integer not null check (priority between -1000000 and 1000000),
    delivery    integer not null default 0,
    strikes     integer not null default 0,
    attempts    integer not null default 0,
    state       text not null check (state = 'ready' or state = 'waiting' or state = 'leased'),
    visible_at  integer not null,
    enqueued_at integer not null,
    worker_id   integer,  -- the holder, where it is a registered worker
    last_error  text,
    payload     text not null
) strict;

create index pawl_messages_ready on pawl_messages (queue_id, priority desc, message_id)
    where state = 'ready';
create index pawl_messages_due on pawl_messages (queue_id, visible_at) where state <> 'ready';

create table pawl_archive (
    message_id  integer primary key,
    queue_id    integer not null,
    priority    integer not null,
    delivery    integer not null,
    strikes     integer not null,
    attempts    integer not null,
    dead        integer not null check (dead in (0, 1)),
    reason      text,
    enqueued_at integer not null,
    archived_at integer not null,
    worker_id   integer,
    payload     text not null
) strict;
create index pawl_archive_queue on pawl_archive (queue_id, message_id);
create index pawl_archive_dead on pawl_archive (queue_id, message_id) where dead = 1;

create table pawl_workers (
    worker_id     integer primary key autoincrement,
    name          text not null,
    host          text not null,
    port          integer not null,
    pid           integer not null,
    status        text not null
        check (status in ('READY', 'POLLING', 'INTERRUPTED', 'SUSPENDED', 'STOPPED')),
    lease_ms      integer not null,
    subscriptions text not null,
    handlers      text not null,
    started_at    integer not null,
    heartbeat_at  integer not null
) strict;

-- The state machine of a worker, as data; src/model/worker_state.h holds the same table.
create table pawl_worker_transitions (
    from_status text not null,
    event       text not null,
    to_status   text not null,
    primary key (from_status, event)
) strict, without rowid;
insert into pawl_worker_transitions (from_status, event, to_status) values
    ('READY',       'start_polling', 'POLLING'),
    ('READY',       'suspend',       'SUSPENDED'),
    ('READY',       'stop',          'STOPPED'),
    ('POLLING',     'start_polling', 'POLLING'),
    ('POLLING',     'poll_done',     'READY'),
    ('POLLING',     'interrupt',     'INTERRUPTED'),
    ('POLLING',     'suspend',       'SUSPENDED'),
    ('POLLING',     'stop',          'STOPPED'),
    ('INTERRUPTED', 'suspend',       'SUSPENDED'),
    ('INTERRUPTED', 'stop',          'STOPPED'),
    ('SUSPENDED',   'resume',        'READY'),
    ('SUSPENDED',   'stop',          'STOPPED');
