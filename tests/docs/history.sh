before() { [[ $1 != 2 ]] || pawl demo --url sqlite:demo.db; }
