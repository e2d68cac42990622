sql() { psql -X -q -v ON_ERROR_STOP=1 -c "$1" "$POSTGRES"; }

# Roles belong to the server, not to the page's database.
drop_role() { sql "do \$\$ begin drop owned by $1; drop role $1; exception when undefined_object then end \$\$"; }

before() {
    case $1 in
    3 | 0)
        drop_role shop_web
        drop_role shop_worker
        ;;
    esac
}
