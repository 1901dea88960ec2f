#!/bin/sh
# shellcheck disable=SC1091,SC2154    # What fence.sh and lib.sh define.
# A file that refuses late writers. Its first line is the ticket of the last one.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/fence.sh

export STORE="$directory/store"

# The lock on the file beside it makes question and write one step; it does so on this machine only, and for no longer than the
# process lives. The file is replaced whole, with its ticket.
cat >"$directory/write.c" <<'END'
#define _POSIX_C_SOURCE 200809L
#include "redlock/redlock_fence.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool read_fence(const char *path, struct redlock_fence *fence)
{
    FILE *file = fopen(path, "r");
    bool good = file == NULL || fscanf(file, "%" SCNu64, &fence->largest) == 1;

    if (file != NULL) fclose(file);
    return good;
}

static bool replace(const char *path, const struct redlock_fence *fence, const char *text)
{
    char new_path[4096];
    FILE *file;
    bool good;

    snprintf(new_path, sizeof new_path, "%s.new", path);
    file = fopen(new_path, "w");
    if (file == NULL) return false;
    good = fprintf(file, "%" PRIu64 "\n%s\n", fence->largest, text) > 0 && fflush(file) == 0 && fsync(fileno(file)) == 0;
    return fclose(file) == 0 && good && rename(new_path, path) == 0;
}

/* write TEXT: into the file $STORE with $REDLOCK_TICKET. Prints 1, or 0 when a larger ticket has been there. */
int main(int argc, char **argv)
{
    const char *path = getenv("STORE"), *ticket = getenv("REDLOCK_TICKET");
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    struct redlock_fence fence = { 0 };
    char lock_path[4096];
    int lock;

    if (argc != 2 || path == NULL || ticket == NULL) return 2;
    snprintf(lock_path, sizeof lock_path, "%s.lock", path);
    lock = open(lock_path, O_RDWR | O_CREAT, 0600);
    if (lock < 0 || fcntl(lock, F_SETLKW, &whole) != 0 || !read_fence(path, &fence)) return 2;
    if (!redlock_fence_admit(&fence, strtoull(ticket, NULL, 10), false)) {
        puts("0");
        return 1;
    }
    if (!replace(path, &fence, argv[1])) return 2;
    puts("1");
    return 0;
}
END

# It needs the header and nothing else of redlock.
compiles() {
    # shellcheck disable=SC2086    # Flags are several words.
    $CC -std=c11 -Wall -Wextra -Wpedantic -Werror ${SANITIZE:+-fsanitize=$SANITIZE} -I. -o "$directory/write" \
        "$directory/write.c"
}

program write_bare <<'END'
#!/bin/sh
printf '0\n%s\n' "$1" >"$STORE.new" && mv "$STORE.new" "$STORE" && echo 1
END

program stored <<'END'
#!/bin/sh
tail -n 1 "$STORE"
END

# A hundred writers write at once, with tickets in no order. The content is that of the largest.
many_writers() {
    rm -f "$STORE"
    seq 1 100 | perl -MList::Util=shuffle -e 'print shuffle <STDIN>' >"$directory/tickets"
    while read -r ticket; do
        REDLOCK_TICKET=$ticket "$directory/write" "of $ticket" &
    done <"$directory/tickets" >"$directory/many"
    wait
    has_stored 'of 100'
}

check 'the writer compiles without the library' compiles
check_the_store
check 'of many writers at once the one with the largest ticket is not overwritten' many_writers
finish
