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
        --after | --at | --dead-letter-queue | --delay | --error | --file | --lease | --limit | --max | --max-attempts | --max-strikes | --older-than | --priority | --state | --url | --wait) skip=1 ;;
        esac
        case "$path $word" in
        ' install' | \
            ' verify' | \
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
            ' worker' | \
            ' worker list' | \
            ' worker suspend' | \
            ' worker resume' | \
            ' worker interrupt' | \
            ' worker stop' | \
            ' worker purge' | \
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
    --after | --at | --dead-letter-queue | --delay | --error | --file | --lease | --limit | --max | --max-attempts | --max-strikes | --older-than | --priority | --state | --url | --wait) return ;;
    esac
    case $path in
    '') words='install verify queue enqueue dequeue settle message archive worker stats demo completion --version --help --url --json' ;;
    ' install') words='--help --url --json' ;;
    ' verify') words='--help --url --json' ;;
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
    ' worker') words='list suspend resume interrupt stop purge --help --url --json' ;;
    ' worker list') words='--help --all --url --json' ;;
    ' worker suspend') words='--help --url --json' ;;
    ' worker resume') words='--help --url --json' ;;
    ' worker interrupt') words='--help --url --json' ;;
    ' worker stop') words='--help --url --json' ;;
    ' worker purge') words='--help --older-than --url --json' ;;
    ' stats') words='--help --url --json' ;;
    ' demo') words='--help --url --json' ;;
    ' completion') words='bash --help --url --json' ;;
    ' completion bash') words='--help --url --json' ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _pawl pawl
