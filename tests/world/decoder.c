#include "decoder.h"

#include "../../redlock/kinds/plain.h"
#include "../../redlock/kinds/shared.h"

#include <string.h>

struct listed_row row_at(enum row number)
{
    const struct redlock_scripts *one = plain_scripts_for_one_loaded(), *all = plain_scripts_for_all();
    const struct redlock_kind *upgraded = shared_kind(SHARED_UPGRADED);
    const struct listed_row rows[ROW_COUNT] = {
        [ROW_SET] = { "SET", WIRE_ACQUIRE, false, one->rows[KIND_ACQUIRE] },
        [ROW_ACQUIRE] = { "acquire", WIRE_ACQUIRE, true, plain_scripted()->rows[KIND_ACQUIRE] },
        [ROW_RESTORE] = { "restore", WIRE_RESTORE, true, plain_scripted()->rows[KIND_RESTORE] },
        [ROW_EXTEND] = { "extend", WIRE_EXTEND, true, all->rows[KIND_EXTEND] },
        [ROW_EXTEND_ONE] = { "extend one", WIRE_EXTEND, false, one->rows[KIND_EXTEND] },
        [ROW_RELEASE] = { "release", WIRE_RELEASE, true, all->rows[KIND_RELEASE] },
        [ROW_WAKE] = { "release and wake", WIRE_RELEASE, true, all->rows[KIND_WAKE] },
        [ROW_RELEASE_ONE] = { "release one", WIRE_RELEASE, false, one->rows[KIND_RELEASE] },
        [ROW_PTTL] = { "PTTL", WIRE_PTTL, false, wire_pttl() },
        [ROW_PERMIT_ACQUIRE] = { "acquire a permit", WIRE_ACQUIRE, false, redlock_permits.rows[KIND_ACQUIRE] },
        [ROW_PERMIT_RESTORE] = { "restore a permit", WIRE_RESTORE, false, redlock_permits.rows[KIND_RESTORE] },
        [ROW_PERMIT_EXTEND] = { "extend a permit", WIRE_EXTEND, false, redlock_permits.rows[KIND_EXTEND] },
        [ROW_PERMIT_RELEASE] = { "release a permit", WIRE_RELEASE, false, redlock_permits.rows[KIND_RELEASE] },
        [ROW_PERMIT_WAKE] = { "release a permit and wake", WIRE_RELEASE, false, redlock_permits.rows[KIND_WAKE] },
        [ROW_PERMIT_WAIT] = { "wait for a permit", WIRE_WAIT, false, redlock_permits.rows[KIND_WAIT] },
        [ROW_SHARED_ACQUIRE] = { "acquire shared", WIRE_ACQUIRE, true, redlock_shared.rows[KIND_ACQUIRE] },
        [ROW_SHARED_RESTORE] = { "restore shared", WIRE_RESTORE, true, redlock_shared.rows[KIND_RESTORE] },
        [ROW_SHARED_EXTEND] = { "extend shared", WIRE_EXTEND, true, redlock_shared.rows[KIND_EXTEND] },
        [ROW_SHARED_ROLE] = { "extend and change role", WIRE_EXTEND, false, upgraded->rows[KIND_EXTEND] },
        [ROW_SHARED_RELEASE] = { "release shared", WIRE_RELEASE, true, redlock_shared.rows[KIND_RELEASE] },
        [ROW_SHARED_WAKE] = { "release shared and wake", WIRE_RELEASE, true, redlock_shared.rows[KIND_WAKE] },
        [ROW_SHARED_RELEASE_BOTH] = { "release by both", WIRE_RELEASE, false, upgraded->rows[KIND_RELEASE] },
        [ROW_SHARED_WAKE_BOTH] = { "release by both and wake", WIRE_RELEASE, false, upgraded->rows[KIND_WAKE] },
        [ROW_WAIT] = { "wait", WIRE_WAIT, true, all->rows[KIND_WAIT] },
        [ROW_FAIR_ACQUIRE] = { "acquire in order", WIRE_ACQUIRE, false, redlock_fair.rows[KIND_ACQUIRE] },
        [ROW_FAIR_RESTORE] = { "restore in order", WIRE_RESTORE, false, redlock_fair.rows[KIND_RESTORE] },
        [ROW_FAIR_EXTEND] = { "extend in order", WIRE_EXTEND, false, redlock_fair.rows[KIND_EXTEND] },
        [ROW_FAIR_RELEASE] = { "release in order", WIRE_RELEASE, false, redlock_fair.rows[KIND_RELEASE] },
        [ROW_FAIR_WAKE] = { "release in order and wake", WIRE_RELEASE, false, redlock_fair.rows[KIND_WAKE] },
        [ROW_REDISSON_ACQUIRE] = { "acquire Redisson's", WIRE_ACQUIRE, false, redlock_redisson.rows[KIND_ACQUIRE] },
        [ROW_REDISSON_EXTEND] = { "extend Redisson's", WIRE_EXTEND, false, redlock_redisson.rows[KIND_EXTEND] },
        [ROW_REDISSON_RELEASE] = { "release Redisson's", WIRE_RELEASE, false, redlock_redisson.rows[KIND_WAKE] },
        [ROW_GETRANGE] = { "GETRANGE", WIRE_GETRANGE, false, wire_getrange() },
    };

    return rows[number];
}

static const char *name_in(const struct listed_row *listed, enum wire_form form)
{
    switch (form) {
    case WIRE_BY_SHA1: return listed->row->sha1;
    case WIRE_BY_TEXT: return listed->row->text;
    default:           return listed->row->text ? NULL : listed->name;
    }
}

enum row row_by_name(enum wire_form form, const void *name, size_t size)
{
    for (unsigned i = 0; i < ROW_COUNT; i++) {
        const struct listed_row listed = row_at((enum row)i);
        const char *expected = name_in(&listed, form);
        if (expected && strlen(expected) == size && memcmp(expected, name, size) == 0) return (enum row)i;
    }
    return ROW_COUNT;
}
