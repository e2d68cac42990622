sql() { psql -X -q -v ON_ERROR_STOP=1 -c "$1" "$POSTGRES"; }

complete() { pawl flow poll web_analysis >/dev/null && pawl flow complete "$@"; }

before() {
    case $1 in
    4) rm -f pawl.db* && pawl install ;;
    7)
        rm -f pawl.db* && pawl install
        pawl flow create web_analysis
        pawl flow add-step web_analysis fetch_url
        pawl flow add-step web_analysis list_images --dep fetch_url
        pawl flow add-step web_analysis resize --dep list_images --map
        pawl flow add-step web_analysis translate --dep fetch_url --required '{"fetch_url":{"language":"de"}}' --when-unmet skip
        pawl flow add-step web_analysis create_report --dep resize --dep translate
        pawl flow start web_analysis '{"url":"https://example.com"}' --tag nightly
        complete 1 fetch_url '{"status":200,"language":"en"}'
        complete 1 list_images '["ape.png","bear.png"]'
        pawl flow poll web_analysis --qty 2
        pawl flow complete 1 resize 1 '"small/bear.png"'
        pawl flow fail 1 resize 0 'no such file'
        ;;
    8)
        sql "alter table pawl.messages alter message_id restart with 42"
        sql "select * from pawl.start_flow('web_analysis', '{}')"
        ;;
    9)
        rm -f pawl.db* && pawl install
        pawl flow create web_analysis
        pawl flow add-step web_analysis fetch_url
        pawl flow start web_analysis '{"url":"https://example.com"}'
        printf '#!/bin/sh\ncat\n' >fetch_url && chmod +x fetch_url
        ;;
    esac
}

ready() { [[ $(pawl run count --json | jq .success) == 1 ]]; }
