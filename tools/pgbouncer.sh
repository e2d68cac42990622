#!/usr/bin/env bash
# A private PgBouncer in front of a PostgreSQL server, for tests.
set -euo pipefail

usage() {
    cat >&2 <<'TEXT'
usage: pgbouncer.sh start DIR POSTGRES_URL [transaction|session]   (re)start it in front of that server, print its URL
       pgbouncer.sh stop DIR                 a no-op if it is not running
       pgbouncer.sh remove DIR               stop it and delete its files
TEXT
    exit 2
}

source "$(dirname "${BASH_SOURCE[0]}")/private_server.bash"

port() { sed -n 's/^listen_port = //p' "$work/pgbouncer.ini" 2>/dev/null || true; }
accepts_connections() { (: <>"/dev/tcp/127.0.0.1/$(port)") 2>/dev/null; }
has_no_process() { [[ -z $(processes_in "$work") ]]; }

# PgBouncer does not accept a URL; its ini file has the parts, quoted.
connection_string() {
    python3 - "$1" <<'PYTHON'
import sys
from urllib.parse import unquote, urlsplit

url = urlsplit(sys.argv[1])
parts = {
    "host": url.hostname or "127.0.0.1",
    "port": url.port or 5432,
    "dbname": url.path.lstrip("/"),
    "user": url.username,
    "password": url.password,
}
quoted = {key: unquote(str(value)).replace("'", "''") for key, value in parts.items() if value}
print(" ".join(f"{key}='{value}'" for key, value in quoted.items()))
PYTHON
}

write_ini() { # POSTGRES_URL MODE
    write_as_server_user "$work/pgbouncer.ini" <<TEXT
[databases]
pawl = $(connection_string "$1")

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $(free_port "$(port)")
unix_socket_dir =
; "any" accepts every client as the user in [databases], so no list of users is needed.
auth_type = any
pool_mode = $2
max_client_conn = 100
default_pool_size = $([[ $2 == session ]] && echo 20 || echo 4)
ignore_startup_parameters = extra_float_digits
logfile = $work/pgbouncer.log
pidfile = $work/pgbouncer.pid
TEXT
}

start() { # POSTGRES_URL MODE
    stop
    write_ini "$1" "$2"
    # stop() finds it by its working directory.
    if ! (cd "$work" && as_server_user "$binary" --daemon --quiet pgbouncer.ini >&2) ||
        ! wait_until 5 accepts_connections; then
        tail -n 20 "$work/pgbouncer.log" >&2 || true
        fail "PgBouncer did not start"
    fi
    echo "postgresql://pawl@127.0.0.1:$(port)/pawl"
}

stop() {
    local pids
    pids=$(processes_in "$work")
    [[ -n $pids ]] || return 0
    kill -TERM $pids
    wait_until 10 has_no_process || fail "PgBouncer did not stop"
}

(($# >= 2)) || usage
command=$1 dir=$(realpath -m -- "$2")
shift 2
cd / # the server's user may lack access to the caller's directory

# sbin is not in every user's PATH.
binary=$(PATH=$PATH:/usr/sbin command -v pgbouncer) || fail "pgbouncer not found; install pgbouncer"

work=$(find_home "$dir" pgbouncer.location)/pgbouncer
case $command/$# in
start/1 | start/2)
    mkdir -p "$dir"
    work=$(create_home "$dir" pgbouncer.location pgbouncer)/pgbouncer
    start "$1" "${2:-transaction}"
    ;;
stop/0)
    stop
    ;;
remove/0)
    stop
    remove_home "$dir" pgbouncer.location pgbouncer
    ;;
*) usage ;;
esac
