# shellcheck shell=bash
# Shared by postgres_cluster.sh and pgbouncer.sh, which source it: the unprivileged user, the directory, the port.

LC_ALL=C # so that lengths of paths are counted in bytes

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# PostgreSQL and PgBouncer refuse to run as root.
server_user=$(id -un)
if ((EUID == 0)); then
    server_user=postgres
    id -u "$server_user" >/dev/null 2>&1 || server_user=nobody # words: ok
fi

# The environment is cleared, because PGHOST, PGOPTIONS and others would reach the server and psql.
as_server_user() {
    local command=(env -i "PATH=$PATH" LC_ALL=C.UTF-8 "$@")
    if ((EUID == 0)); then
        command=(setpriv "--reuid=$(id -u "$server_user")" "--regid=$(id -g "$server_user")" --clear-groups
            "${command[@]}")
    fi
    "${command[@]}"
}

write_as_server_user() { # FILE, content on stdin
    as_server_user tee "$1" >/dev/null
}

make_server_directory() {
    mkdir -p "$1"
    chmod 700 "$1"
    ((EUID != 0)) || chown "$server_user:$(id -g "$server_user")" "$1"
}

# A Unix socket's path is limited to about 100 bytes, and special characters would need quoting in three config
# formats.
is_plain_path() {
    [[ $1 =~ ^[A-Za-z0-9/._+-]+$ ]] && ((${#1} <= 75))
}

# find_home DIR LOCATION_FILE: prints the directory of DIR's server, which is DIR or the content of the file.
find_home() {
    local dir=$1 location=$1/$2
    if [[ -f $location && -d $(<"$location") ]]; then
        cat "$location"
    else
        echo "$dir"
    fi
}

# create_home DIR LOCATION_FILE SUBDIR: like find_home, and creates SUBDIR in it, owned by the server's user.
create_home() {
    local dir=$1 location=$1/$2 subdir=$3 home
    home=$(find_home "$dir" "$2")
    make_server_directory "$home/$subdir"
    # For example, the unprivileged user cannot enter a checkout below /root.
    if ! is_plain_path "$home" || ! as_server_user test -w "$home/$subdir" 2>/dev/null; then
        rmdir "$home/$subdir" 2>/dev/null || true
        home=$(mktemp -d /tmp/pawl-server.XXXXXX)
        make_server_directory "$home"
        make_server_directory "$home/$subdir"
        echo "$home" >"$location"
        echo "the path of $dir is too long or not accessible for $server_user; using $home instead" >&2
    fi
    echo "$home"
}

# remove_home DIR LOCATION_FILE SUBDIR...: deletes the server's files, and nothing else in DIR.
remove_home() {
    local dir=$1 location=$1/$2 home
    home=$(find_home "$dir" "$2")
    shift 2
    for subdir in "$@"; do rm -rf "${home:?}/$subdir"; done
    rm -f "$location"
    rmdir "$home" "$dir" 2>/dev/null || true
}

# processes_in DIR: pids of the server's processes whose working directory is DIR. Unlike a pid file it cannot name
# another program that got the pid, nor a zombie.
processes_in() {
    as_server_user find /proc -maxdepth 2 -path '/proc/[0-9]*' -name cwd -lname "$1" 2>/dev/null |
        cut -d/ -f3 || true
}

# wait_until SECONDS COMMAND...: fails if the command did not succeed in time.
wait_until() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < deadline)) || return 1
        sleep 0.02
    done
}

# free_port WANTED: prints a loopback port; WANTED, unless it is empty or taken. It is below the ports that the kernel
# uses for outgoing connections, which a client could take while the server restarts.
free_port() {
    python3 - "$1" <<'PYTHON'
import random, socket, sys

wanted = [int(port) for port in sys.argv[1].split()]
for port in wanted + random.sample(range(20000, 32000), 100):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        print(port)
        break
else:
    sys.exit("no free loopback port")
PYTHON
}
