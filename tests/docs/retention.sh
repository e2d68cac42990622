sql() { psql -X -q -v ON_ERROR_STOP=1 -c "$1" "$POSTGRES"; }

before() {
    case $1 in
    2) pawl workflow create report ;;
    3) sql "select pawl.create_workflow('report')" ;;
    # pg_cron itself cannot be had everywhere; its function is called with the same arguments.
    4) sql "create schema cron; create function cron.schedule(text, text, text) returns bigint language plpgsql
            as 'begin execute \$3; return 1; end'" ;;
    esac
}
