before() {
    case $1 in
    2) pawl workflow create report ;;
    3) psql -X -q -v ON_ERROR_STOP=1 -c "select pawl.create_workflow('report')" "$POSTGRES" ;;
    esac
}
