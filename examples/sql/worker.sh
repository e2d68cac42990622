#!/usr/bin/env bash
# A worker for the workflow `greet`, using only psql.
#
# usage: worker.sh URL [SCHEMA]      ends on SIGTERM or SIGINT, after the current run
set -euo pipefail

url=$1 schema=${2:-pawl}
workflow=greet lease_ms=30000

# sql [NAME=VALUE]...: runs a statement from standard input; :'name' is the value, quoted by psql.
sql() {
    local variables=() pair
    for pair in "$@"; do variables+=(-v "$pair"); done
    psql "$url" -qAtX -F $'\t' -v ON_ERROR_STOP=1 -v "pawl=\"$schema\"" "${variables[@]}"
}

# recorded STEP: prints its output, if it is recorded.
recorded() {
    sql run="$run" step="$1" <<<"select output from :pawl.list_steps(:run) where step_id = :'step' and status = 'SUCCESS'"
}

# record STEP POSITION OUTPUT: records the result of a step. Any outcome except 'done' means that the lease is lost.
record() {
    local outcome
    outcome=$(sql run="$run" delivery="$delivery" step="$1" position="$2" output="$3" <<'SQL'
        select :pawl.record_steps(array[:run::bigint], array[:delivery], array[:'step'], array[:position],
                                  array['SUCCESS'], array[1], outputs => array[:'output']);
SQL
    )
    [[ $outcome == "{done}" ]]
}

finish() { # OUTPUT
    sql run="$run" delivery="$delivery" output="$1" >/dev/null <<'SQL'
        select :pawl.finish_runs(array[:run::bigint], array[:delivery], array[:'output']);
SQL
}

# Retries the run after the workflow's backoff; without a remaining attempt it ends as ERROR.
fail() { # MESSAGE
    sql run="$run" delivery="$delivery" attempts="$attempts" most="$max_attempts" message="$1" >/dev/null <<'SQL'
        select case when :attempts + 1 < :most
            then :pawl.retry_runs(array[:run::bigint], array[:delivery], null, array[e.error])::text
            else :pawl.finish_runs(array[:run::bigint], array[:delivery], array[null], array[e.error::text])::text
        end
        from (select json_build_object('type', 'transient', 'message', :'message') as error) e;
SQL
}

# The workflow. Inputs and outputs of steps are JSON; a recorded step is not executed again.
greet() {
    local name greeting
    name=$(sql input="$input" <<<"select coalesce(:'input'::json ->> 'name', '')")
    [[ -n $name ]] || { fail "the input has no name" && return; }
    greeting=$(recorded compose)
    if [[ -z $greeting ]]; then
        greeting=$(sql name="$name" <<<"select to_json('hello ' || :'name')")
        record compose 1 "$greeting" || return 0
    fi
    finish "$greeting"
}

# Ends immediately on a signal, which `sleep` would not.
pause() { read -rt "$1" <> <(:) || true; } # SECONDS

# Sends heartbeats and extends the lease while a step is executed.
beat() {
    while pause 10; do
        sql worker="$worker" run="$1" delivery="$2" lease="$lease_ms" >/dev/null <<'SQL'
            select :pawl.heartbeat(:worker), :pawl.extend(array[:run::bigint], array[:delivery], array[:lease::bigint]);
SQL
    done
}

stopping=no
trap 'stopping=yes' TERM INT
worker=$(sql host="$HOSTNAME" pid=$$ lease="$lease_ms" workflow="$workflow" <<'SQL'
    select :pawl.register_worker('bash', :'host', 0, :pid, :lease, array[:'workflow'], array[:'workflow']);
SQL
)
echo ready

while [[ $stopping == no ]]; do
    # One line per run: the input is encoded, because JSON may contain tabs and line breaks.
    claimed=$(sql worker="$worker" lease="$lease_ms" workflow="$workflow" <<'SQL'
        select c.message_id, c.delivery, c.attempts, coalesce(c.max_attempts, w.max_attempts),
               replace(encode(convert_to(c.payload, 'UTF8'), 'base64'), E'\n', '')
        from :pawl.list_workflows(:'workflow') w
        cross join lateral :pawl.claim_runs(array[w.workflow_id], 1, lease_ms => :lease, worker_id => :worker) c
        where c.message_id is not null;
SQL
    )
    if [[ -z $claimed ]]; then
        sql worker="$worker" >/dev/null <<<"select :pawl.heartbeat(:worker)"
        pause 1
        continue
    fi
    IFS=$'\t' read -r run delivery attempts max_attempts encoded <<<"$claimed"
    input=$(base64 --decode <<<"$encoded")
    beat "$run" "$delivery" &
    beating=$!
    greet
    kill "$beating"
    wait "$beating" 2>/dev/null || true
done
sql worker="$worker" >/dev/null <<<"select :pawl.stop_worker(:worker)"
