#!/bin/sh
# shellcheck disable=SC1091,SC2154    # What fence.sh and lib.sh define.
# A table in SQLite that refuses late writers.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/fence.sh

tools/need sqlite3 || exit 1
export STORE="$directory/store"

sqlite3 "$STORE" 'CREATE TABLE account (id INTEGER PRIMARY KEY, value TEXT, last_ticket INTEGER NOT NULL DEFAULT 0);
                  INSERT INTO account (id) VALUES (7)'

# The statement is a transaction by itself, so the question and the write are one step.
program write <<'END'
#!/bin/sh
sqlite3 -cmd '.timeout 5000' "$STORE" "
    UPDATE account SET value = '$1', last_ticket = $REDLOCK_TICKET WHERE id = 7 AND last_ticket <= $REDLOCK_TICKET;
    SELECT changes()"
END

program write_bare <<'END'
#!/bin/sh
sqlite3 -cmd '.timeout 5000' "$STORE" "UPDATE account SET value = '$1' WHERE id = 7; SELECT changes()"
END

program stored <<'END'
#!/bin/sh
sqlite3 "$STORE" 'SELECT value FROM account WHERE id = 7'
END

check_the_store
finish
