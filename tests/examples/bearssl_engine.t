#!/bin/sh
# shellcheck disable=SC1091,SC2154    # What lib.sh defines.
# bearssl_engine.c: the engine through TLS in a fixed piece of memory, on real servers with TLS.
cd "$(dirname "$0")/../.." || exit 1
. tests/examples/lib.sh
tools/need bearssl.h openssl || exit 1
make_certificates
start_servers 3

names=localhost:$port_0,localhost:$port_1,localhost:$port_2
lock() { runs "$1" ./bearssl_engine "$2" "$3" door; }
# Speaks to a server with that certificate.
speaks() {
    start_server --tls-cert-file "$certificates/$1.crt" --tls-key-file "$certificates/$1.key"
    node=localhost:$port
}

check 'it is at most 410 lines' is_short bearssl_engine.c 410
check 'it builds by its own command' builds bearssl_engine.c
check 'the lock goes through TLS' lock 0 "$certificates/ca.crt" "$names"
check 'and is held, extended and released' prints '^release: '
check 'in a few KiB for each node' prints '^memory: [0-9]{4} bytes for each session'
check 'nothing is left' nothing_is_left
check 'a CA that signed none of the certificates is of no use' lock 1 "$certificates/stranger-ca.crt" "$names"
check 'which is told' prints '^node 1: TLS: its certificate is of a CA not trusted here'
check 'nor is a file without one' lock 2 "$certificates/ca.key" "$names"
check 'which is named' says '^.*/ca.key: no certificate of a CA is in it'
check 'a node without a port is refused' lock 2 "$certificates/ca.crt" localhost
check 'and told how it is written' says '^localhost: write HOST:PORT'
check 'more nodes than there is room for are refused, not left out' lock 2 "$certificates/ca.crt" "$names,$names"
check 'and told' says "^localhost:$port_2: there is room for 5 nodes"
speaks name
check 'a certificate for another host is refused' lock 1 "$certificates/ca.crt" "$node"
check 'as such' prints '^node 0: TLS: its certificate is for another host name'
speaks expired
check 'one that has expired is refused' lock 1 "$certificates/ca.crt" "$node"
check 'by the time that the program gave' prints '^node 0: TLS: its certificate is not valid at this time'
finish
