sql() { psql -X -q -v ON_ERROR_STOP=1 -c "$1" "$POSTGRES"; }

# Roles belong to the server, not to the page's database.
drop_role() { sql "do \$\$ begin drop owned by shop; drop role shop; exception when undefined_object then end \$\$"; }

before() {
    case $1 in
    1)
        sql "select pawl.create_workflow('order')"
        sql "alter table pawl.workers alter worker_id restart with 7"
        sql "alter table pawl.messages alter message_id restart with 42"
        sql "select pawl.trigger('order')"
        ;;
    3 | 0) drop_role ;;
    esac
}
