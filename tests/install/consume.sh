#!/usr/bin/env bash
# Builds and runs programs that use pawl in one of three ways.
# usage: consume.sh find_package|add_subdirectory|pkg_config SOURCE BUILD COMPILER FLAGS
set -euo pipefail

way=$1 source=$2 build=$3 compiler=$4 flags=$5
here=$source/tests/install
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Stays between runs, so that pawl is not built again from nothing.
tree=$build/consumer/$way

configure() { # CMAKE ARGS
    cmake -S "$here/$way" -B "$tree" -G Ninja -DCMAKE_BUILD_TYPE= "-DCMAKE_CXX_COMPILER=$compiler" \
        "-DCMAKE_CXX_FLAGS=$flags" "-DCMAKE_CXX_COMPILER_LAUNCHER=$(command -v ccache || true)" "$@"
}

export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}
if [[ $way != add_subdirectory ]]; then
    # Somewhere else than where it was built for: the package must not remember a path.
    cmake --install "$build" --prefix "$work/first" >/dev/null
    mv "$work/first" "$work/prefix"
fi

case $way in
find_package)
    rm -rf "$tree" # the prefix is another one each time
    configure "-DCMAKE_PREFIX_PATH=$work/prefix"
    cmake --build "$tree"
    programs=$tree
    ;;
add_subdirectory)
    configure "-DPAWL_SOURCE=$source"
    cmake --build "$tree" --parallel 2
    programs=$tree
    ;;
pkg_config)
    export PKG_CONFIG_PATH
    PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name pawl.pc)")
    programs=$work
    read -ra cflags <<<"-std=c++20 $flags $(pkg-config --cflags pawl)"
    read -ra libs <<<"$(pkg-config --libs pawl)"
    "$compiler" "${cflags[@]}" "$here/main.cpp" -o "$work/consumer" "${libs[@]}"
    read -ra parts <<<"$(pkg-config --libs pawl-http pawl-metrics)"
    "$compiler" "${cflags[@]}" "$here/parts.cpp" -o "$work/parts" "${parts[@]}"
    "$compiler" "${cflags[@]}" -c "$here/workflows.cpp" -o "$work/workflows.o"
    ar rc "$work/libworkflows.a" "$work/workflows.o"
    "$compiler" "${cflags[@]}" "$here/discovers.cpp" -o "$work/discovers" \
        -Wl,--whole-archive "$work/libworkflows.a" -Wl,--no-whole-archive "${libs[@]}"
    ;;
*)
    echo "unknown way: $way" >&2
    exit 2
    ;;
esac
"$programs/consumer"
"$programs/discovers"
if [[ $way != add_subdirectory ]]; then "$programs/parts"; fi # that one builds without metrics

# The core needs none of what its parts need.
if readelf --dynamic "$programs/consumer" | grep -E 'curl|prometheus'; then
    echo "a program that uses the core alone links the libraries of its parts" >&2
    exit 1
fi
