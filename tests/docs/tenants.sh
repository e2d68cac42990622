sql() { psql -X -q -v ON_ERROR_STOP=1 -c "$1" "$POSTGRES"; }

# Roles belong to the server, not to the page's database.
drop_role() { sql "do \$\$ begin drop owned by app_a; drop role app_a; exception when undefined_object then end \$\$"; }

before() {
    case $1 in
    2)
        drop_role
        sql "create role app_a"
        pawl --url "$POSTGRES?schema=tenant_a" install
        ;;
    0) drop_role ;;
    esac
}
