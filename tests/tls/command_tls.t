#!/bin/sh
# TLS, by a command that was built with it, to real servers. Tests the checks, the messages about
# faults, and that nothing is ever sent in plain text.
# shellcheck disable=SC2016,SC2154    # Perl has variables, too; start_server sets those of ports.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

make_certificates

# speaks NAME OPTION...: a server with that certificate; $node is it.
speaks() {
    spoken=$certificates/$1
    shift
    start_server --tls-cert-file "$spoken.crt" --tls-key-file "$spoken.key" "$@"
    node=127.0.0.1:$port
}

# takes OPTION...: a lock can be had on $node.
takes() {
    is 0 run --guard 0 -n "rediss://$node" "$@" door true
}

# denies WORDS OPTION...: the lock is not available, waiting does not mend it, and the node, the reason
# and the remedy are reported; a connection has no other message.
denies() {
    fails_by 125 "$@"
}
# The same for a fault that may mend itself.
denies_for_now() {
    fails_by 122 "$@"
}
fails_by() {
    status=$1
    denied=$2
    shift 2
    is "$status" acquire --guard 0 -n "rediss://$node" "$@" door && says "^redlock: node 0 \\($node\\): TLS: $denied \\(.+\\)\$"
}

start_servers 3

right() {
    is 0 acquire --guard 0 --ttl 30s door && is_held door && is 124 acquire --guard 0 door &&
    is 124 status --guard 0 door && prints 'node 2 .* held' && is 0 release --guard 0 door "$(token_of_holder)" && gone door &&
    is 0 run --guard 0 --ttl 2s door -- sleep 2.5 && is 0 ping --count 1 && prints "$port_2"
}
token_of_holder() { ask 0 GET door | cut -d ' ' -f 1; }
check 'a lock is taken, refused to others, kept and released through TLS' right

by_name() {
    names=rediss://localhost:$port_0,valkeys://LOCALHOST.:$port_1,Rediss://localhost:$port_2/3
    is 0 run --guard 0 -n "$names" door true && is 0 run --guard 0 --tls-ca "$certificates/trusted" -n "$names" door true &&
    REDLOCK_TLS_CA='' SSL_CERT_FILE=$certificates/ca.crt is 0 run --guard 0 -n "$names" door true
}
check 'nodes are named by name as well; the CA is in a file, in a directory or of the system' by_name

mixed() {
    scheme= && start_server && plain=$port && scheme=rediss:// &&
    is 0 run --guard 0 -n "rediss://127.0.0.1:$port_0,redis://127.0.0.1:$plain" both true &&
    is 0 acquire --guard 0 -n "127.0.0.1:$plain,rediss://127.0.0.1:$port_0" both && [ -n "$(ask 0 GET both)$(ask 3 GET both)" ]
}
check 'a list may have nodes with TLS and nodes without' mixed

wrong_host() {
    speaks number && denies 'its certificate is not for this IP address' && node=localhost:$port && takes &&
    speaks name && takes && node=localhost:$port && denies 'its certificate is for another host name' &&
    speaks stranger && node=localhost:$port && denies 'its certificate is of a CA not trusted here'
}
check 'a certificate for another host is refused, by name and by number; and so is one that an unknown CA has signed' wrong_host

# RFC 9525, 6.4: a client no longer looks for a host in the common name.
common_name() {
    speaks common && node=localhost:$port && denies 'its certificate names no host, only a common name' &&
    speaks address && takes && node=localhost:$port && denies 'its certificate is for another host name'
}
check 'a common name is no host name' common_name

# The system decides for OpenSSL which ciphers are possible, and some need no certificate.
no_certificate() {
    "$redlock" --version | grep -q OpenSSL || return 0
    printf '%s\n' 'openssl_conf = a' '[a]' 'ssl_conf = b' '[b]' 'system_default = c' '[c]' 'CipherString = aNULL:@SECLEVEL=0' \
        'MaxProtocol = TLSv1.2' >"$directory/anybody.conf"
    speaks server --tls-protocols TLSv1.2 --tls-ciphers aNULL:@SECLEVEL=0 &&
    OPENSSL_CONF=$directory/anybody.conf denies 'it shows no certificate'
}
check 'a node that shows no certificate is refused, whatever the configuration of the system allows' no_certificate

wrong_time() {
    speaks expired && denies 'its certificate has expired' && speaks early && denies_for_now 'its certificate is not valid yet'
}
check 'a certificate that has expired, or is not valid yet, is refused' wrong_time

wrong_ca() {
    speaks server && denies 'its certificate is of a CA not trusted here' --tls-ca "$certificates/stranger-ca.crt" &&
    REDLOCK_TLS_CA='' denies 'its certificate is of a CA not trusted here' && takes
}
check 'without its CA a node is refused; the CA of the option counts before that of the environment' wrong_ca

# It ends at once, like after a wrong password, but not if the others are a quorum, or somebody is about to mend it.
not_waited_for() {
    speaks server && is 125 run --guard 0 -n "rediss://$node" --tls-ca "$certificates/stranger-ca.crt" door true &&
    says "^redlock: node 0 \\($node\\): TLS: its certificate is of a CA not trusted here \\(--tls-ca FILE .+\\)\$" &&
    is 125 run --guard 0 -n "rediss://127.0.0.1:1,rediss://$node" --tls-ca "$certificates/stranger-ca.crt" door true &&
    is 122 run --guard 0 --wait 500ms --wait-through-errors -n "rediss://$node" --tls-ca "$certificates/stranger-ca.crt" door true &&
    speaks number && is 0 run --guard 0 -n "rediss://127.0.0.1:$port_0,rediss://127.0.0.1:$port_1,rediss://$node" door true &&
    speaks early && is 122 run --guard 0 --wait 500ms -n "rediss://$node" door true
}
check 'a handshake that cannot succeed ends a wait for ever at once; one of three does not' not_waited_for

# The master has another certificate than its sentinel.
of_master() {
    speaks number --tls-replication yes && master=$port && port=$((port + 1)) &&
    printf '%s\n' 'bind 127.0.0.1' 'port 0' "tls-port $port" "dir $directory" 'tls-replication yes' 'tls-auth-clients no' \
        "tls-cert-file $certificates/server.crt" "tls-key-file $certificates/server.key" "tls-ca-cert-file $certificates/ca.crt" \
        "sentinel monitor main 127.0.0.1 $master 1" >"$directory/sentinel" || return 1
    "$server" "$directory/sentinel" --sentinel >"$directory/log-sentinel" 2>&1 &
    begin $!
    within 10 ends_by_certificate && sentinel=127.0.0.1:$port && speaks stranger && of_one_sentinel_of_three
}
# The third may be back by itself, and name the master with the first.
of_one_sentinel_of_three() {
    is 122 run --guard 0 --node-timeout 1s --wait 500ms -n "sentinels://$sentinel,$node,127.0.0.1:1/main" door true &&
    says "1 of 3 sentinels name a master; $node: TLS: .* a CA not trusted here \\(--tls-ca FILE .+\\)\$"
}
ends_by_certificate() {
    is 125 run --guard 0 --node-timeout 1s -n "sentinels://127.0.0.1:$port/main" door true &&
    says "\\(sentinel:main\\): its master 127.0.0.1:$master: TLS: .* not for this IP address \\(.* announce-hostnames"
}

of_sentinels() {
    speaks stranger && is 125 run --guard 0 --node-timeout 1s -n "sentinels://$node/main" door true &&
    says "^redlock: node 0 \\(sentinel:main\\): 0 of 1 sentinels .*; $node: TLS: .* a CA not trusted here \\(--tls-ca FILE .+\\)\$" &&
    scheme= && start_server && scheme=rediss:// &&
    is 122 run --guard 0 --node-timeout 1s --wait 500ms -n "sentinels://127.0.0.1:$port/main" door true &&
    says "127.0.0.1:$port: no connection within the node timeout \\(.* does not speak TLS there"
}
check 'a sentinel whose handshake cannot succeed is named, and ends a wait at once' of_sentinels
check 'a master whose certificate is not for the address that its sentinel tells is named, and what mends it' of_master

of_client() {
    versions='TLSv1.3 TLSv1.2'
    ! "$redlock" --version | grep -q 'Mbed TLS 2' || versions=TLSv1.2
    for version in $versions; do
        with_version || { echo "with $version"; return 1; }
    done
}
with_version() {
    speaks server --tls-auth-clients yes --tls-protocols "$version" &&
    takes --tls-cert "$certificates/client.crt" --tls-key "$certificates/client.key" &&
    REDLOCK_TLS_CERT=$certificates/client.crt REDLOCK_TLS_KEY=$certificates/client.key takes &&
    cat "$certificates/client.crt" "$certificates/client.key" >"$directory/both.pem" && takes --tls-cert "$directory/both.pem" &&
    denies 'it (asks for a client certificate|refuses: .* or no certificate)' &&
    denies 'it (does not trust the CA of our certificate|refuses our certificate)' --tls-cert "$certificates/stranger.crt" \
        --tls-key "$certificates/stranger.key" &&
    denies 'it (says that our certificate has expired|refuses our certificate)' --tls-cert "$certificates/expired.crt" \
        --tls-key "$certificates/expired.key"
}
check 'a node that asks for a client certificate gets it; one that is missing, or of another CA, or too old, is told' of_client

old_versions() {
    for ciphers in DEFAULT@SECLEVEL=0 DEFAULT; do
        speaks server --tls-protocols TLSv1.1 --tls-ciphers $ciphers && denies 'no version in common: here 1.2 or newer' || return 1
    done
}
check 'nothing older than TLS 1.2 is spoken' old_versions

# listens FILE ANSWER: a listener that is no server; writes its input to FILE, in hex. $node is its
# address. ANSWER may be "hang up".
listens() {
    rm -f "$directory/port"
    perl -MIO::Socket::INET -e '
        my ($port, $file, $answer) = @ARGV;
        my $listener = IO::Socket::INET->new(LocalAddr => "127.0.0.1", Listen => 8) or die;
        open my $out, ">", "$port.new" or die; print $out $listener->sockport; close $out; rename "$port.new", $port;
        while (my $s = $listener->accept) {
            sysread $s, my $bytes, 65536;
            open my $to, ">>", $file or die; print $to unpack("H*", $bytes // ""), "\n"; close $to;
            next if $answer eq "hang up";
            syswrite $s, $answer if length $answer;
            sysread $s, $bytes, 65536 unless length $answer;
        }' "$directory/port" "$1" "$2" >"$directory/listener" 2>&1 &
    begin $!
    within 10 test -s "$directory/port" && node=127.0.0.1:$(cat "$directory/port")
}

no_plain_text() {
    listens "$directory/heard" '' && printf 'S3CRET\n' >"$directory/password" &&
    is 122 acquire --guard 0 --node-timeout 500ms --password-file "$directory/password" -n "rediss://$node,rediss://u:s3cret@$node" door &&
    says "node 0 \\($node\\): no connection within the node timeout \\(.*does not speak TLS" &&
    [ "$(wc -l <"$directory/heard")" -ge 2 ] && ! grep -v '^1603' "$directory/heard" &&
    ! grep -iq -e "$(printf AUTH | od -An -tx1 | tr -d ' \n')" -e "$(printf S3CRET | od -An -tx1 | tr -d ' \n')" \
        -e "$(printf s3cret | od -An -tx1 | tr -d ' \n')" "$directory/heard"
}
check 'what listens instead of a node hears a ClientHello and nothing else, no login above all' no_plain_text

no_tls() {
    scheme= && start_server && scheme=rediss:// && node=127.0.0.1:$port &&
    is 122 acquire --guard 0 --node-timeout 500ms -n "rediss://$node" door &&
    says "node 0 \\($node\\): no connection within the node timeout \\(.*does not speak TLS" &&
    [ "$(ask 0 GET door)" = '' ] && listens "$directory/other" '-ERR unknown command
' && denies 'what answers there does not speak TLS' &&
    listens "$directory/other" "$(printf 'HTTP/1.1 400 Bad Request\r\n\r\n')" && denies 'what answers there does not speak TLS'
}
check 'a port without TLS is told, and gets nothing in plain text' no_tls

# A node that is being restarted does so.
hangs_up() {
    listens "$directory/other" 'hang up' && denies_for_now 'it closed the connection during the handshake'
}
check 'a node that hangs up during the handshake may be back by itself' hangs_up

other_way_round() {
    is 122 acquire --guard 0 -n "redis://127.0.0.1:$port_0" door && says "node 0 \\(127.0.0.1:$port_0\\): .*rediss://"
}
check 'a node that wants TLS gives no lock without' other_way_round

wrong_files() {
    node=127.0.0.1:$port_0
    printf 'nothing\n' >"$directory/nothing"
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -aes-128-cbc -pass pass:x -out "$directory/locked.key" 2>"$directory/err" &&
    refuses --tls-ca "$directory/none" "CA certificates in $directory/none: no such file" &&
    refuses --tls-ca "$directory/nothing" "CA certificates in $directory/nothing: " &&
    refuses --tls-cert "$directory/none" "client certificate $directory/none: no such file \(--tls-cert\)$" &&
    refuses --tls-cert "$certificates/client.crt" "TLS: the key of the client certificate $certificates/client.crt: .* \(--tls-key names its file\)" &&
    refuses --tls-key "$certificates/client.key" 'is of no use without its certificate' &&
    REDLOCK_TLS_CERT=$certificates/client.crt refuses --tls-key "$certificates/server.key" \
        "key .*server.key: .+; it must be a file in PEM with the private key of this certificate, .+ \(--tls-key\)$" &&
    REDLOCK_TLS_CERT=$certificates/client.crt refuses --tls-key "$directory/locked.key" "key .*locked.key: "
}

a_directory() {
    node=127.0.0.1:$port_0
    mkdir -p "$directory/empty" && refuses --tls-ca "$directory/empty" \
        "CA certificates in $directory/empty: it has no .+; it must be a file in PEM, or a directory .+ \(--tls-ca\)$" &&
    refuses --tls-cert "$directory/empty" "client certificate $directory/empty: it is a directory; it must be a file in PEM, .+ \(--tls-cert\)$" &&
    REDLOCK_TLS_CERT=$certificates/client.crt refuses --tls-key "$directory/empty" \
        "key of the client certificate $directory/empty: it is a directory; it must be a file in PEM .+ \(--tls-key\)$" &&
    REDLOCK_TLS_CERT=$directory/empty refuses --tls-key "$directory/empty" "it is a directory; .+ \(REDLOCK_TLS_CERT\)$"
}
refuses() {
    is 125 acquire --guard 0 -n "rediss://$node" "$1" "$2" door && says "^redlock: .*$3"
}
check 'a directory in place of a file is told, with what would be right and what has named it' a_directory
check 'a file that is missing, or is not what it should be, is named, and no passphrase is asked for' wrong_files

for_nothing() {
    for option in --tls-ca --tls-cert --tls-key; do
        is 125 acquire --guard 0 -n "127.0.0.1:$port_0" $option "$certificates/ca.crt" door && says "^redlock: $option: none of the nodes .*rediss://" ||
            return 1
    done
}
check 'options of TLS are refused where no node is talked to by TLS' for_nothing

told() {
    speaks expired && is 125 acquire --guard 0 --json -n "rediss://$node" door && grep -q 'certificate has expired' "$directory/out" "$directory/err" &&
    is 125 acquire --guard 0 --trace -n "rediss://$node" door && says ' 0  =  127.*TLS: its certificate has expired' || return 1
    "$redlock" --version | grep -Eq '^redlock [0-9.]+, with TLS by (OpenSSL|Mbed TLS|LibreSSL) [0-9]'
}
# memory PID FILE: writes all that the process may write to and that can be read. Not where the kernel does not let us.
memory() {
    perl -e '
        my ($pid, $to) = @ARGV;
        open my $maps, "<", "/proc/$pid/maps" or exit 1;
        open my $memory, "<:raw", "/proc/$pid/mem" or exit 1;
        open my $file, ">:raw", $to or die;
        while (<$maps>) {
            my ($from, $until) = map { hex } /^([0-9a-f]+)-([0-9a-f]+) rw/ or next;
            next if $until - $from > 1 << 27;       # The shadow memory of a sanitizer.
            sysseek $memory, $from, 0 and sysread $memory, my $bytes, $until - $from or next;
            syswrite $file, $bytes;
        }' "$1" "$2" 2>/dev/null
}

# has_key FILE: the number that is the key of the client, or the text of its file.
has_key() {
    perl -0777 -e '
        my ($memory, $pem) = map { open my $file, "<:raw", $_ or die; <$file> } @ARGV;
        my ($text) = $pem =~ /\n(\S{40})/;
        my ($number) = `openssl pkey -in $ARGV[1] -noout -text` =~ /priv:\s*([0-9a-f:\s]+)/ or die;
        $number =~ s/[^0-9a-f]//g;
        my $bytes = substr pack("H*", $number), -32;
        exit(index($memory, $bytes) < 0 && index($memory, scalar reverse $bytes) < 0 && index($memory, $text) < 0);' \
        "$1" "$certificates/client.key"
}

key_stays() {
    start run --guard 0 --tls-cert "$certificates/client.crt" --tls-key "$certificates/client.key" kept -- \
        sh -c "echo \$PPID >$directory/guardian; exec sleep 60"
    within 20 test -s "$directory/guardian" || return 1
    memory "$started" "$directory/ours" && memory "$(cat "$directory/guardian")" "$directory/its" && has_key "$directory/ours" &&
    ! has_key "$directory/its"
    result=$?
    kill "$started" && over "$started"
    rm -f "$directory/ours" "$directory/its"
    return $result
}
if [ "$(uname)" = Linux ] && sleep 60 & sleeper=$! && memory $sleeper "$directory/sleeper"; then
    check 'the guardian of a command has no key' key_stays
else
    skip 'the guardian of a command has no key' 'its memory cannot be read here'
fi
kill $sleeper

doctor_tells() {
    speaks server && list=rediss://$node && speaks lasting && list=$list,rediss://$node && speaks expired && list=$list,rediss://$node &&
    is 2 doctor --quick --verbose --node-timeout 10s -n "$list" && prints '^node 0 .*  WARNING  its certificate ends in 0 days, on 20.*Fix: ' &&
    prints '^node 1 .*  ok  its certificate ends in 59 days' &&
    prints '^node 2 .*  UNSAFE  cannot be reached: TLS: its certificate has expired. Fix: give the node a new one' &&
    is 2 doctor --quick --json --node-timeout 10s -n "$list" &&
    json out '(grep { $_->{name} eq "certificate" && $_->{node} == 0 && $_->{severity} eq "warning" } @{$j->{findings}}) == 1' &&
    json out '$j->{nodes}[1]{certificate_ends} - time > 59 * 86400 && $j->{nodes}[1]{certificate_ends} - time < 60 * 86400 &&
              !exists $j->{nodes}[2]{certificate_ends}'
}
check 'doctor says when certificates end' doctor_tells

check 'JSON and trace say why; --version says which library it is' told

finish
