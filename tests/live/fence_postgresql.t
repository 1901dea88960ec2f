#!/bin/sh
# shellcheck disable=SC1091,SC2016,SC2154    # What fence.sh and lib.sh define. Perl and sed have dollars, too.
# A table in PostgreSQL that refuses late writers.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/fence.sh

tools/need psql || exit 1
initdb=$(tools/need --print initdb) || exit 1

# ---- A server on a unix socket, which keeps nothing ----

# as_nobody COMMAND...: PostgreSQL does not let root run it. Other users stay as they are.
as_nobody='use POSIX;
    if ($> == 0) {
        my ($user, $group) = (getpwnam "nobody")[2, 3];
        $) = "$group $group";
        setgid $group and setuid $user or die "nobody: $!\n";
    }
    exec @ARGV or die "$ARGV[0]: $!\n"'
unset PGPORT PGPASSWORD PGSERVICE PGOPTIONS PGDATA
export PGHOST="$directory/postgresql" PGUSER=redlock PGDATABASE=postgres STORE=

make_place() {
    chmod 711 "$directory" && mkdir "$PGHOST" && { [ "$(id -u)" != 0 ] || chown nobody "$PGHOST"; }
}
make_cluster() {
    perl -e "$as_nobody" "$initdb" --no-sync --auth=trust --username=$PGUSER --locale=C -D "$PGHOST/data" >"$directory/log" 2>&1
}

# If it were killed outright it would leave shared memory.
stop_postgresql() {
    kill -QUIT "$postgresql" 2>/dev/null && wait "$postgresql"
}
start_postgresql() {
    trap 'stop_postgresql; clean_up' EXIT
    perl -e "$as_nobody" "${initdb%initdb}postgres" -D "$PGHOST/data" -k "$PGHOST" -c listen_addresses= -c fsync=off \
        >>"$directory/log" 2>&1 &
    postgresql=$!
    within 30 psql -XAtqc 'SELECT 1'
}

if ! { make_place && make_cluster && start_postgresql; }; then
    echo "Bail out! PostgreSQL does not start: $(tail -n 3 "$directory/log")"
    exit 1
fi
psql -Xqc 'CREATE TABLE account (id integer PRIMARY KEY, value text, balance integer NOT NULL DEFAULT 100);
           INSERT INTO account (id) VALUES (7)'
psql -Xqc 'ALTER TABLE account ADD last_ticket bigint NOT NULL DEFAULT 0'

# ---- As in the other stores ----

# The statement is a transaction by itself. When another one has the row, it waits, and looks at the row again then.
program write <<'END'
#!/bin/sh
echo "UPDATE account SET value = :'text', last_ticket = :ticket WHERE id = 7 AND last_ticket <= :ticket" |
    psql -XAt -v text="$1" -v ticket="$REDLOCK_TICKET" | sed 's/^UPDATE //'
END

program write_bare <<'END'
#!/bin/sh
echo "UPDATE account SET value = :'text' WHERE id = 7" | psql -XAt -v text="$1" | sed 's/^UPDATE //'
END

program stored <<'END'
#!/bin/sh
psql -XAtqc 'SELECT value FROM account WHERE id = 7'
END

check_the_store

# ---- The program of the guide, and the row lock that it compares with ----

block 'program: withdraw' | program withdraw

is_short() {
    [ "$(block 'program: withdraw' | wc -l)" -le 15 ]
}

set_balance() {
    psql -Xqc "UPDATE account SET balance = $1 WHERE id = 7"
}
balance_is() {
    psql -XAtqc 'SELECT balance FROM account WHERE id = 7' >"$directory/balance"
    contains balance "$1"
}

# Its work is nothing here; or to be asleep, like its holder, until it is woken.
works() {
    sed 's/^sleep .*//' "$directory/withdraw" | program quick &&
        sed 's/^sleep .*/kill -STOP $$/' "$directory/withdraw" | program slow
}
withdraws_alone() {
    set_balance 100 && "$directory/holder" "$directory/quick" 10 && balance_is 90
}

# sleep_over [--pause] PROGRAM AMOUNT: starts a holder that is asleep. slow has read the balance, with
# --pause it has not; sets $asleep.
sleep_over() {
    "$limit" $limit_s "$directory/holder" "$@" >"$directory/slept" 2>&1 &
    asleep=$!
    begin $asleep
    within 10 is_stopped $asleep
}
wake_up() {
    kill -CONT "$1" && over "$1"
}

# overtaken [--pause] PROGRAM: starts with a balance of 100. A client that withdraws 20 sleeps until the
# next one has withdrawn 10.
overtaken() {
    set_balance 100 && sleep_over "$@" 20 && "$directory/holder" "$directory/quick" 10 && balance_is 90
}
late_write_is_refused() {
    overtaken "$directory/slow" && ! wake_up "$asleep" && balance_is 90
}
late_read_is_refused() {
    overtaken --pause "$directory/quick" && ! wake_up "$asleep" && balance_is 90
}

# The later one has not written when the earlier one wakes up.
reading_shuts_out() {
    set_balance 100 && sleep_over "$directory/slow" 20 && earlier=$asleep && sleep_over "$directory/slow" 10 || return 1
    ! wake_up "$earlier" && balance_is 100 && wake_up "$asleep" && balance_is 90
}

# The later of two transactions waits for the row, and reads what the earlier one wrote.
row_lock_works() {
    set_balance 100 && block 'row lock' >"$directory/row" && psql -Xq -f "$directory/row" >/dev/null &&
        psql -Xq -f "$directory/row" >/dev/null && balance_is 80
}

forget_tickets() {
    for speed in quick slow; do
        sed -e 's/UPDATE account SET last_ticket = :ticket\(.*\) RETURNING balance/SELECT balance FROM account\1/' \
            -e 's/ AND last_ticket <*= :ticket//' "$directory/$speed" >"$directory/bare" || return 1
        ! grep -q last_ticket "$directory/bare" && program $speed <"$directory/bare" || return 1
    done
}
late_write_gets_through() {
    overtaken "$directory/slow" && wake_up "$asleep" && balance_is 80
}

check 'the program of the guide has at most fifteen lines' is_short
check 'a row lock of the database does as the guide says' row_lock_works
check 'its work can be put to sleep' works
check 'it withdraws' withdraws_alone
check 'its late write is refused' late_write_is_refused
check 'its late read is refused' late_read_is_refused
check 'it is refused as soon as a later holder has read' reading_shuts_out
check 'it can do without tickets' forget_tickets
check 'then its late write gets through, and a withdrawal is lost' late_write_gets_through
finish
