# bash completion for pawl; made by: pawl completion bash
_pawl() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local path='' skip='' words='' word i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $skip ]]; then
            skip=''
            continue
        fi
        case $word in
        --after | --age | --aggregate | --at | --audit | --backoff-base | --backoff-cap | --base-delay | --batch | --before | --ca-file | --catch-up | --catch-up-limit | --compat | --concurrency | --count | --cron | --dead-letter-queue | --dead-letter-workflow | --delay | --delivery | --dep | --end | --error | --file | --forbidden | --header | --jitter | --key | --lease | --limit | --max | --max-attempts | --max-strikes | --older-than | --overlap | --parent | --priority | --publish | --qty | --reason | --required | --run | --run-timeout | --share | --since | --source | --start | --start-delay | --state | --status | --subject | --tag | --time-zone | --timeout | --to | --traceparent | --type | --until | --url | --vt | --wait | --when-exhausted | --when-unmet | --window | --workflow) skip=1 ;;
        esac
        case "$path $word" in
        ' install' | \
            ' verify' | \
            ' restored' | \
            ' doctor' | \
            ' queue' | \
            ' queue create' | \
            ' queue list' | \
            ' queue delete' | \
            ' queue purge' | \
            ' queue pause' | \
            ' queue resume' | \
            ' queue stats' | \
            ' enqueue' | \
            ' dequeue' | \
            ' settle' | \
            ' settle archive' | \
            ' settle remove' | \
            ' settle release' | \
            ' settle fail' | \
            ' settle extend' | \
            ' message' | \
            ' message list' | \
            ' message get' | \
            ' archive' | \
            ' archive list' | \
            ' archive replay' | \
            ' archive purge' | \
            ' workflow' | \
            ' workflow create' | \
            ' workflow list' | \
            ' workflow show' | \
            ' workflow delete' | \
            ' workflow metrics' | \
            ' flow' | \
            ' flow create' | \
            ' flow add-step' | \
            ' flow shape' | \
            ' flow ensure' | \
            ' flow delete' | \
            ' flow list' | \
            ' flow start' | \
            ' flow poll' | \
            ' flow complete' | \
            ' flow fail' | \
            ' flow show' | \
            ' trigger' | \
            ' run' | \
            ' run list' | \
            ' run show' | \
            ' run steps' | \
            ' run history' | \
            ' run count' | \
            ' run wait' | \
            ' run resume' | \
            ' run cancel' | \
            ' run wake' | \
            ' run retry' | \
            ' run fork' | \
            ' run delete' | \
            ' schedule' | \
            ' schedule create' | \
            ' schedule list' | \
            ' schedule show' | \
            ' schedule pause' | \
            ' schedule resume' | \
            ' schedule run' | \
            ' schedule next' | \
            ' schedule delete' | \
            ' outbox' | \
            ' outbox list' | \
            ' outbox show' | \
            ' outbox publish' | \
            ' outbox retry' | \
            ' outbox dispatch' | \
            ' retention' | \
            ' retention list' | \
            ' retention set' | \
            ' retention clear' | \
            ' prune' | \
            ' worker' | \
            ' worker list' | \
            ' worker suspend' | \
            ' worker resume' | \
            ' worker interrupt' | \
            ' worker stop' | \
            ' worker held' | \
            ' worker delete' | \
            ' worker purge' | \
            ' tenants' | \
            ' info' | \
            ' stats' | \
            ' demo' | \
            ' completion' | \
            ' completion bash')
            path="$path $word"
            ;;
        esac
    done
    case $prev in
    --file)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
    --state)
        mapfile -t COMPREPLY < <(compgen -W 'ready waiting leased' -- "$cur")
        return
        ;;
    --audit)
        mapfile -t COMPREPLY < <(compgen -W 'off exceptions all' -- "$cur")
        return
        ;;
    --publish)
        mapfile -t COMPREPLY < <(compgen -W 'off alerts ends' -- "$cur")
        return
        ;;
    --when-unmet)
        mapfile -t COMPREPLY < <(compgen -W 'skip skip-cascade fail' -- "$cur")
        return
        ;;
    --when-exhausted)
        mapfile -t COMPREPLY < <(compgen -W 'fail skip skip-cascade' -- "$cur")
        return
        ;;
    --status)
        mapfile -t COMPREPLY < <(compgen -W 'QUEUED RUNNING PAUSED SUCCESS ERROR CANCELLED' -- "$cur")
        return
        ;;
    --overlap)
        mapfile -t COMPREPLY < <(compgen -W 'allow skip queue-one' -- "$cur")
        return
        ;;
    --catch-up)
        mapfile -t COMPREPLY < <(compgen -W 'none last all' -- "$cur")
        return
        ;;
    --after | --age | --aggregate | --at | --audit | --backoff-base | --backoff-cap | --base-delay | --batch | --before | --ca-file | --catch-up | --catch-up-limit | --compat | --concurrency | --count | --cron | --dead-letter-queue | --dead-letter-workflow | --delay | --delivery | --dep | --end | --error | --file | --forbidden | --header | --jitter | --key | --lease | --limit | --max | --max-attempts | --max-strikes | --older-than | --overlap | --parent | --priority | --publish | --qty | --reason | --required | --run | --run-timeout | --share | --since | --source | --start | --start-delay | --state | --status | --subject | --tag | --time-zone | --timeout | --to | --traceparent | --type | --until | --url | --vt | --wait | --when-exhausted | --when-unmet | --window | --workflow) return ;;
    esac
    case $path in
    '') words='install verify restored doctor queue enqueue dequeue settle message archive workflow flow trigger run schedule outbox retention prune worker tenants info stats demo completion --version --help --url --json' ;;
    ' install') words='--help --compat --url --json' ;;
    ' verify') words='--help --url --json' ;;
    ' restored') words='--help --url --json' ;;
    ' doctor') words='--help --repair --url --json' ;;
    ' queue') words='create list delete purge pause resume stats --help --url --json' ;;
    ' queue create') words='--help --archive --no-archive --lease --max-strikes --max-attempts --dead-letter-queue --url --json' ;;
    ' queue list') words='--help --url --json' ;;
    ' queue delete') words='--help --force --url --json' ;;
    ' queue purge') words='--help --yes --url --json' ;;
    ' queue pause') words='--help --url --json' ;;
    ' queue resume') words='--help --url --json' ;;
    ' queue stats') words='--help --url --json' ;;
    ' enqueue') words='--help --priority --delay --at --file --url --json' ;;
    ' dequeue') words='--help --max --lease --wait --archive --remove --release --url --json' ;;
    ' settle') words='archive remove release fail extend --help --url --json' ;;
    ' settle archive') words='--help --url --json' ;;
    ' settle remove') words='--help --url --json' ;;
    ' settle release') words='--help --delay --url --json' ;;
    ' settle fail') words='--help --delay --error --url --json' ;;
    ' settle extend') words='--help --lease --url --json' ;;
    ' message') words='list get --help --url --json' ;;
    ' message list') words='--help --state --after --limit --url --json' ;;
    ' message get') words='--help --url --json' ;;
    ' archive') words='list replay purge --help --url --json' ;;
    ' archive list') words='--help --dead --done --after --limit --url --json' ;;
    ' archive replay') words='--help --all-dead --url --json' ;;
    ' archive purge') words='--help --dead --done --yes --url --json' ;;
    ' workflow') words='create list show delete metrics --help --url --json' ;;
    ' workflow create') words='--help --max-attempts --backoff-base --backoff-cap --lease --run-timeout --max-strikes --dead-letter-workflow --audit --publish --url --json' ;;
    ' workflow list') words='--help --url --json' ;;
    ' workflow show') words='--help --url --json' ;;
    ' workflow delete') words='--help --url --json' ;;
    ' workflow metrics') words='--help --window --url --json' ;;
    ' flow') words='create add-step shape ensure delete list start poll complete fail show --help --url --json' ;;
    ' flow create') words='--help --max-attempts --base-delay --timeout --url --json' ;;
    ' flow add-step') words='--help --dep --map --max-attempts --base-delay --timeout --start-delay --required --forbidden --when-unmet --when-exhausted --url --json' ;;
    ' flow shape') words='--help --url --json' ;;
    ' flow ensure') words='--help --force --url --json' ;;
    ' flow delete') words='--help --force --url --json' ;;
    ' flow list') words='--help --url --json' ;;
    ' flow start') words='--help --priority --delay --at --key --max-attempts --parent --tag --wait --url --json' ;;
    ' flow poll') words='--help --qty --vt --url --json' ;;
    ' flow complete') words='--help --delivery --url --json' ;;
    ' flow fail') words='--help --delivery --url --json' ;;
    ' flow show') words='--help --url --json' ;;
    ' trigger') words='--help --priority --delay --at --key --max-attempts --parent --tag --wait --url --json' ;;
    ' run') words='list show steps history count wait resume cancel wake retry fork delete --help --url --json' ;;
    ' run list') words='--help --workflow --status --since --until --tag --key --deleted --before --limit --url --json' ;;
    ' run show') words='--help --url --json' ;;
    ' run steps') words='--help --url --json' ;;
    ' run history') words='--help --url --json' ;;
    ' run count') words='--help --workflow --status --since --until --tag --key --deleted --url --json' ;;
    ' run wait') words='--help --timeout --url --json' ;;
    ' run resume') words='--help --early --url --json' ;;
    ' run cancel') words='--help --reason --url --json' ;;
    ' run wake') words='--help --url --json' ;;
    ' run retry') words='--help --url --json' ;;
    ' run fork') words='--help --url --json' ;;
    ' run delete') words='--help --reason --url --json' ;;
    ' schedule') words='create list show pause resume run next delete --help --url --json' ;;
    ' schedule create') words='--help --time-zone --start --end --jitter --priority --overlap --catch-up --catch-up-limit --url --json' ;;
    ' schedule list') words='--help --url --json' ;;
    ' schedule show') words='--help --url --json' ;;
    ' schedule pause') words='--help --url --json' ;;
    ' schedule resume') words='--help --url --json' ;;
    ' schedule run') words='--help --url --json' ;;
    ' schedule next') words='--help --cron --time-zone --after --count --url --json' ;;
    ' schedule delete') words='--help --url --json' ;;
    ' outbox') words='list show publish retry dispatch --help --url --json' ;;
    ' outbox list') words='--help --status --type --aggregate --run --after --limit --url --json' ;;
    ' outbox show') words='--help --url --json' ;;
    ' outbox publish') words='--help --aggregate --subject --traceparent --url --json' ;;
    ' outbox retry') words='--help --all --url --json' ;;
    ' outbox dispatch') words='--help --to --once --binary --source --header --timeout --ca-file --insecure --max-attempts --concurrency --url --json' ;;
    ' retention') words='list set clear --help --url --json' ;;
    ' retention list') words='--help --url --json' ;;
    ' retention set') words='--help --age --count --forever --url --json' ;;
    ' retention clear') words='--help --url --json' ;;
    ' prune') words='--help --dry-run --share --batch --url --json' ;;
    ' worker') words='list suspend resume interrupt stop held delete purge --help --url --json' ;;
    ' worker list') words='--help --all --url --json' ;;
    ' worker suspend') words='--help --wait --timeout --url --json' ;;
    ' worker resume') words='--help --wait --timeout --url --json' ;;
    ' worker interrupt') words='--help --wait --timeout --url --json' ;;
    ' worker stop') words='--help --wait --timeout --url --json' ;;
    ' worker held') words='--help --limit --after --url --json' ;;
    ' worker delete') words='--help --url --json' ;;
    ' worker purge') words='--help --older-than --url --json' ;;
    ' tenants') words='--help --url --json' ;;
    ' info') words='--help --url --json' ;;
    ' stats') words='--help --url --json' ;;
    ' demo') words='--help --url --json' ;;
    ' completion') words='bash --help --url --json' ;;
    ' completion bash') words='--help --url --json' ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _pawl pawl
