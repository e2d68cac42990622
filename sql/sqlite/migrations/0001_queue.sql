-- The base of the schema: queues, their messages, the archive, and the workers. The comment at the head
-- of sql/postgres/migrations/0001_queue.sql explains the design; tables and terms are the same here.
-- Differences, and their reasons:
--
--   names       have the prefix pawl_ instead of a schema: the file may also hold the user's tables.
--   times       are integers, microseconds since 1970 in UTC: SQLite has no type for times, and
--               integers are cheapest to compare and to index.
--   locks       need no order. One writer at a time (begin immediate) sees and changes everything, so
--               no row is skipped or busy.
--   clock       is the host's, read by the store inside the write transaction, or pawl_clock if a test
--               has stored a time there: SQLite has no functions of ours.
--   ids         are autoincrement: SQLite would reuse the id of a deleted last row, and an old lease
--               would fit the new message.
--   arrays      are JSON text; booleans are 0 and 1; payloads are JSON text that the store has checked.
--   checks      of hot columns are chains of `or`: for a list of more than two values SQLite builds and
--               drops a table at every write, which costs as much as the write.

create table pawl_schema_version (
    version      integer primary key,
    name         text not null,
    installed_at integer not null
) strict;

-- The objects that install() created, so that verify() can report missing and different ones.
create table pawl_schema_manifest (
    kind       text not null,
    name       text not null,
    definition text not null,
    primary key (kind, name)
) strict, without rowid;

-- Empty: the clock of the host is used. One row: a test has stopped the clock at this time.
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

-- No foreign key to pawl_queues: it would cost a lookup per row, and the only writer ensures the same.
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

-- The state machine of a worker, as data; src/model/worker_state.h has the same table.
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
