sql() { psql -X -q -v ON_ERROR_STOP=1 -c "$1" "$POSTGRES"; }

before() {
    case $1 in
    # The flow is shown with the first run of its store.
    6) sql "alter table pawl.messages alter message_id restart; delete from pawl.messages; delete from pawl.runs" ;;
    esac
}
