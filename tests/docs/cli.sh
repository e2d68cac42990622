before() {
    case $1 in
    1) rm -f pawl.db* ;;
    2) pawl demo --url sqlite:demo.db ;;
    3) rm -f pawl.db* && pawl install ;;
    4)
        pawl queue create mail
        { seq 1501 && echo '{"to": ada}'; } >all.jsonl
        ;;
    5)
        pawl queue purge mail --yes
        pawl enqueue mail '{"to":"ada"}'
        printf '#!/bin/sh\ncat\n' >send_mail && chmod +x send_mail
        ;;
    6) mkdir -p ~/.local/share/bash-completion/completions ;;
    esac
}

ready() { [[ $(pawl queue stats mail --json | jq .archived) == 1 ]]; }
