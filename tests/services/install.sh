#!/bin/sh
# Install the servers that the tests start, or say what is missing.
set -eu

need() {  # the package, and the command that tells that it is there
    if sh -c "$2" >/dev/null 2>&1; then
        return
    fi
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update --quiet
        DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$1" && return
    fi
    echo "Missing: $1. Install it, as by: sudo apt-get install $1" >&2
    exit 1
}

need postgresql 'ls /usr/lib/postgresql/*/bin/initdb || command -v initdb'
need openjdk-17-jre-headless 'command -v java'
