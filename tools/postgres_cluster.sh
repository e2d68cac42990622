#!/usr/bin/env bash
# A private PostgreSQL cluster for tests and benchmarks: own directory, own port, loopback only.
set -euo pipefail

usage() {
    cat >&2 <<'TEXT'
usage: postgres_cluster.sh COMMAND DIR
  start DIR [-c NAME=VALUE]...  create the cluster if needed, start it, print its url; settings are remembered
  url DIR                       print its url, also while it is down
  restart DIR                   stop (fast), start on the same port
  stop DIR                      stop (fast); fine when it is not running
  stop-immediate DIR            stop without a checkpoint, as in a crash that the server survives
  kill DIR                      SIGKILL to the postmaster alone
  remove DIR                    stop it and delete its files
TEXT
    exit 2
}

source "$(dirname "${BASH_SOURCE[0]}")/private_server.bash"

find_bindir() {
    local candidate
    for candidate in /usr/lib/postgresql/15/bin "$(pg_config --bindir 2>/dev/null || true)"; do
        if [[ -x $candidate/initdb ]]; then
            echo "$candidate"
            return
        fi
    done
    fail "no PostgreSQL server found; install postgresql-15"
}

open_home() { # COMMAND that prints the place
    home=$("$@")
    data=$home/data
    log=$home/run/server.log
}

port() { sed -n 's/^port = //p' "$data/network.conf" 2>/dev/null || true; }

require_cluster() { [[ -n $(port) ]] || fail "no cluster in $dir"; }

url() {
    require_cluster
    echo "postgresql://pawl@127.0.0.1:$(port)/pawl"
}

# Empty if it does not run. After a crash the pid file alone proves nothing.
postmaster_pid() {
    local pid
    pid=$(head -n 1 "$data/postmaster.pid" 2>/dev/null) || return 0
    if [[ $(as_server_user readlink "/proc/$pid/cwd" 2>/dev/null) == "$data" ]]; then echo "$pid"; fi
}

is_running() { [[ -n $(postmaster_pid) ]]; }
is_down() { [[ -z $(postmaster_pid) ]]; }
has_no_process() { [[ -z $(processes_in "$data") ]]; }

initialise() {
    [[ ! -f $data/PG_VERSION ]] || return 0
    make_server_directory "$data"
    as_server_user "$bindir/initdb" --pgdata="$data" --username=pawl --auth=trust --encoding=UTF8 \
        --locale=C.UTF-8 --no-sync --no-instructions >"$home/run/initdb.log" 2>&1 ||
        { cat "$home/run/initdb.log" >&2 && fail "initdb failed"; }
    as_server_user tee -a "$data/postgresql.conf" >/dev/null <<<"
include 'network.conf'
include_if_exists 'settings.conf'"
}

remember_settings() {
    (($# > 0)) || return 0
    local lines=""
    while (($# > 0)); do
        [[ $1 == -c && ${2:-} == ?*=* ]] || usage
        lines+="${2%%=*} = '${2#*=}'"$'\n'
        shift 2
    done
    write_as_server_user "$data/settings.conf" <<<"$lines"
}

# Backends outlive a killed postmaster for a moment and keep its shared memory. When the last one has exited, the lock
# files are stale; the server would trust them if its pid belongs to a zombie or to another process.
wait_for_orphans() {
    wait_until 10 has_no_process || fail "processes of the killed server are still running in $data"
    rm -f "$data/postmaster.pid" "$home"/run/.s.PGSQL.*
}

launch() {
    for _ in 1 2 3; do
        write_as_server_user "$data/network.conf" <<TEXT
listen_addresses = '127.0.0.1'
port = $(free_port "$(port)")
unix_socket_directories = '$home/run'
TEXT
        as_server_user "$bindir/pg_ctl" start --pgdata="$data" --log="$log" --wait --timeout=30 --silent >&2 && return
        # Another program may have taken the port in the meantime.
        tail -n 10 "$log" | grep -q "Address already in use" || break
    done
    tail -n 20 "$log" >&2 || true
    fail "the server did not start"
}

query() {
    as_server_user "$bindir/psql" --no-psqlrc --quiet --tuples-only --no-align \
        --host="$home/run" --port="$(port)" --username=pawl --dbname=postgres --command="$1"
}

create_database() {
    [[ -n $(query "select 1 from pg_database where datname = 'pawl'") ]] || query "create database pawl"
}

start() {
    if is_down; then
        wait_for_orphans
        initialise
        remember_settings "$@"
        launch
        create_database
    fi
    url
}

stop() { # MODE
    is_running || return 0
    local pg_ctl=("$bindir/pg_ctl" stop --pgdata="$data" --wait --timeout=30 --silent)
    as_server_user "${pg_ctl[@]}" --mode="$1" >&2 || as_server_user "${pg_ctl[@]}" --mode=immediate >&2
}

kill_postmaster() {
    local pid
    pid=$(postmaster_pid)
    [[ -n $pid ]] || fail "no server is running in $dir"
    kill -KILL "$pid"
    wait_until 10 is_down
}

# DIR may contain other files, including a "data" and a "run" that do not belong to the server.
remove() {
    [[ -f $data/PG_VERSION ]] || return 0
    stop immediate
    remove_home "$dir" location data run
}

(($# >= 2)) || usage
command=$1 dir=$(realpath -m -- "$2")
shift 2
bindir=$(find_bindir)
cd / # the server's user may lack access to the caller's directory

if [[ $command == start ]]; then
    mkdir -p "$dir"
    open_home create_home "$dir" location run
else
    (($# == 0)) || usage
    open_home find_home "$dir" location
fi

case $command in
start) start "$@" ;;
url) url ;;
restart)
    require_cluster
    stop fast
    start
    ;;
stop) stop fast ;;
stop-immediate) stop immediate ;;
kill) kill_postmaster ;;
remove) remove ;;
*) usage ;;
esac
