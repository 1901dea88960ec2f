#include "decoder.h"

#include "../../redlock/kinds/plain.h"
#include "../../redlock/kinds/shared.h"

#include <string.h>

struct listed_row row_at(enum row number)
{
    const struct redlock_scripts *one = plain_scripts_for_one_loaded(),
                                 *all = plain_scripts_for_all();
    const struct redlock_kind *upgraded = shared_kind(SHARED_UPGRADED);
    const struct listed_row rows[ROW_COUNT] = {
        [ROW_SET] = { "SET", REDLOCK_COMMAND_ACQUIRE, false, one->rows[KIND_ACQUIRE] },
        [ROW_ACQUIRE] = { "acquire", REDLOCK_COMMAND_ACQUIRE, true,
                          plain_scripted()->rows[KIND_ACQUIRE] },
        [ROW_RESTORE] = { "restore", REDLOCK_COMMAND_RESTORE, true,
                          plain_scripted()->rows[KIND_RESTORE] },
        [ROW_EXTEND] = { "extend", REDLOCK_COMMAND_EXTEND, true, all->rows[KIND_EXTEND] },
        [ROW_EXTEND_ONE] = { "extend one", REDLOCK_COMMAND_EXTEND, false, one->rows[KIND_EXTEND] },
        [ROW_RELEASE] = { "release", REDLOCK_COMMAND_RELEASE, true, all->rows[KIND_RELEASE] },
        [ROW_WAKE] = { "release and wake", REDLOCK_COMMAND_RELEASE, true, all->rows[KIND_WAKE] },
        [ROW_RELEASE_ONE] = { "release one", REDLOCK_COMMAND_RELEASE, false,
                              one->rows[KIND_RELEASE] },
        [ROW_PTTL] = { "PTTL", REDLOCK_COMMAND_PTTL, false, wire_pttl() },
        [ROW_PERMIT_ACQUIRE] = { "acquire a permit", REDLOCK_COMMAND_ACQUIRE, false,
                                 redlock_permits.rows[KIND_ACQUIRE] },
        [ROW_PERMIT_RESTORE] = { "restore a permit", REDLOCK_COMMAND_RESTORE, false,
                                 redlock_permits.rows[KIND_RESTORE] },
        [ROW_PERMIT_EXTEND] = { "extend a permit", REDLOCK_COMMAND_EXTEND, false,
                                redlock_permits.rows[KIND_EXTEND] },
        [ROW_PERMIT_RELEASE] = { "release a permit", REDLOCK_COMMAND_RELEASE, false,
                                 redlock_permits.rows[KIND_RELEASE] },
        [ROW_PERMIT_WAKE] = { "release a permit and wake", REDLOCK_COMMAND_RELEASE, false,
                              redlock_permits.rows[KIND_WAKE] },
        [ROW_PERMIT_WAIT] = { "wait for a permit", REDLOCK_COMMAND_WAIT, false,
                              redlock_permits.rows[KIND_WAIT] },
        [ROW_SHARED_ACQUIRE] = { "acquire shared", REDLOCK_COMMAND_ACQUIRE, true,
                                 redlock_shared.rows[KIND_ACQUIRE] },
        [ROW_SHARED_RESTORE] = { "restore shared", REDLOCK_COMMAND_RESTORE, true,
                                 redlock_shared.rows[KIND_RESTORE] },
        [ROW_SHARED_EXTEND] = { "extend shared", REDLOCK_COMMAND_EXTEND, true,
                                redlock_shared.rows[KIND_EXTEND] },
        [ROW_SHARED_ROLE] = { "extend and change role", REDLOCK_COMMAND_EXTEND, false,
                              upgraded->rows[KIND_EXTEND] },
        [ROW_SHARED_RELEASE] = { "release shared", REDLOCK_COMMAND_RELEASE, true,
                                 redlock_shared.rows[KIND_RELEASE] },
        [ROW_SHARED_WAKE] = { "release shared and wake", REDLOCK_COMMAND_RELEASE, true,
                              redlock_shared.rows[KIND_WAKE] },
        [ROW_SHARED_RELEASE_BOTH] = { "release by both", REDLOCK_COMMAND_RELEASE, false,
                                      upgraded->rows[KIND_RELEASE] },
        [ROW_SHARED_WAKE_BOTH] = { "release by both and wake", REDLOCK_COMMAND_RELEASE, false,
                                   upgraded->rows[KIND_WAKE] },
        [ROW_WAIT] = { "wait", REDLOCK_COMMAND_WAIT, true, all->rows[KIND_WAIT] },
        [ROW_FAIR_ACQUIRE] = { "acquire in order", REDLOCK_COMMAND_ACQUIRE, false,
                               redlock_fair.rows[KIND_ACQUIRE] },
        [ROW_FAIR_RESTORE] = { "restore in order", REDLOCK_COMMAND_RESTORE, false,
                               redlock_fair.rows[KIND_RESTORE] },
        [ROW_FAIR_EXTEND] = { "extend in order", REDLOCK_COMMAND_EXTEND, false,
                              redlock_fair.rows[KIND_EXTEND] },
        [ROW_FAIR_RELEASE] = { "release in order", REDLOCK_COMMAND_RELEASE, false,
                               redlock_fair.rows[KIND_RELEASE] },
        [ROW_FAIR_WAKE] = { "release in order and wake", REDLOCK_COMMAND_RELEASE, false,
                            redlock_fair.rows[KIND_WAKE] },
        [ROW_REDISSON_ACQUIRE] = { "acquire Redisson's", REDLOCK_COMMAND_ACQUIRE, false,
                                   redlock_redisson.rows[KIND_ACQUIRE] },
        [ROW_REDISSON_EXTEND] = { "extend Redisson's", REDLOCK_COMMAND_EXTEND, false,
                                  redlock_redisson.rows[KIND_EXTEND] },
        [ROW_REDISSON_RELEASE] = { "release Redisson's", REDLOCK_COMMAND_RELEASE, false,
                                   redlock_redisson.rows[KIND_WAKE] },
        [ROW_GETRANGE] = { "GETRANGE", REDLOCK_COMMAND_GETRANGE, false, wire_getrange() },
    };

    return rows[number];
}

static const char *name_in(const struct listed_row *listed, enum redlock_form form)
{
    switch (form) {
    case REDLOCK_FORM_BY_SHA1: return listed->row->sha1;
    case REDLOCK_FORM_BY_TEXT: return listed->row->text;
    default:           return listed->row->text ? NULL : listed->name;
    }
}

enum row row_by_name(enum redlock_form form, const void *name, size_t size)
{
    for (unsigned i = 0; i < ROW_COUNT; i++) {
        const struct listed_row listed = row_at((enum row)i);
        const char *expected = name_in(&listed, form);
        if (expected && strlen(expected) == size && memcmp(expected, name, size) == 0)
            return (enum row)i;
    }
    return ROW_COUNT;
}
