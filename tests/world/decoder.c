#include "decoder.h"

#include <string.h>

struct listed_row row_at(enum row number)
{
    const struct redlock_scripts *one = wire_scripts_for_one_loaded(), *all = wire_scripts_for_all();
    const struct redlock_kind *permit = wire_permit_kind();
    const struct redlock_kind *shared = wire_shared_kind(WIRE_SHARED), *upgraded = wire_shared_kind(WIRE_UPGRADED);
    const struct redlock_kind *fair = wire_fair_kind();
    const struct redlock_kind *redisson = wire_redisson_kind();
    const struct listed_row rows[ROW_COUNT] = {
        [ROW_SET] = { "SET", WIRE_ACQUIRE, false, wire_scripts_for_one_loaded()->plain.rows[KIND_ACQUIRE] },
        [ROW_ACQUIRE] = { "acquire", WIRE_ACQUIRE, true, wire_scripted_kind()->rows[KIND_ACQUIRE] },
        [ROW_RESTORE] = { "restore", WIRE_RESTORE, true, wire_scripted_kind()->rows[KIND_RESTORE] },
        [ROW_EXTEND] = { "extend", WIRE_EXTEND, true, all->plain.rows[KIND_EXTEND] },
        [ROW_EXTEND_ONE] = { "extend one", WIRE_EXTEND, false, one->plain.rows[KIND_EXTEND] },
        [ROW_RELEASE] = { "release", WIRE_RELEASE, true, all->plain.rows[KIND_RELEASE] },
        [ROW_WAKE] = { "release and wake", WIRE_RELEASE, true, all->plain.rows[KIND_WAKE] },
        [ROW_RELEASE_ONE] = { "release one", WIRE_RELEASE, false, one->plain.rows[KIND_RELEASE] },
        [ROW_WAIT] = { "wait", WIRE_WAIT, true, wire_wait() },
        [ROW_PTTL] = { "PTTL", WIRE_PTTL, false, wire_pttl() },
        [ROW_PERMIT_ACQUIRE] = { "acquire a permit", WIRE_ACQUIRE, false, permit->rows[KIND_ACQUIRE] },
        [ROW_PERMIT_RESTORE] = { "restore a permit", WIRE_RESTORE, false, permit->rows[KIND_RESTORE] },
        [ROW_PERMIT_EXTEND] = { "extend a permit", WIRE_EXTEND, false, permit->rows[KIND_EXTEND] },
        [ROW_PERMIT_RELEASE] = { "release a permit", WIRE_RELEASE, false, permit->rows[KIND_RELEASE] },
        [ROW_PERMIT_WAKE] = { "release a permit and wake", WIRE_RELEASE, false, permit->rows[KIND_WAKE] },
        [ROW_PERMIT_WAIT] = { "wait for a permit", WIRE_WAIT, false, wire_permit_wait() },
        [ROW_SHARED_ACQUIRE] = { "acquire shared", WIRE_ACQUIRE, true, shared->rows[KIND_ACQUIRE] },
        [ROW_SHARED_RESTORE] = { "restore shared", WIRE_RESTORE, true, shared->rows[KIND_RESTORE] },
        [ROW_SHARED_EXTEND] = { "extend shared", WIRE_EXTEND, true, shared->rows[KIND_EXTEND] },
        [ROW_SHARED_ROLE] = { "extend and change role", WIRE_EXTEND, false, upgraded->rows[KIND_EXTEND] },
        [ROW_SHARED_RELEASE] = { "release shared", WIRE_RELEASE, true, shared->rows[KIND_RELEASE] },
        [ROW_SHARED_WAKE] = { "release shared and wake", WIRE_RELEASE, true, shared->rows[KIND_WAKE] },
        [ROW_SHARED_RELEASE_BOTH] = { "release by both", WIRE_RELEASE, false, upgraded->rows[KIND_RELEASE] },
        [ROW_SHARED_WAKE_BOTH] = { "release by both and wake", WIRE_RELEASE, false, upgraded->rows[KIND_WAKE] },
        [ROW_SHARED_WAIT] = { "wait beside shared", WIRE_WAIT, true, wire_shared_wait() },
        [ROW_FAIR_ACQUIRE] = { "acquire in order", WIRE_ACQUIRE, false, fair->rows[KIND_ACQUIRE] },
        [ROW_FAIR_RESTORE] = { "restore in order", WIRE_RESTORE, false, fair->rows[KIND_RESTORE] },
        [ROW_FAIR_EXTEND] = { "extend in order", WIRE_EXTEND, false, fair->rows[KIND_EXTEND] },
        [ROW_FAIR_RELEASE] = { "release in order", WIRE_RELEASE, false, fair->rows[KIND_RELEASE] },
        [ROW_FAIR_WAKE] = { "release in order and wake", WIRE_RELEASE, false, fair->rows[KIND_WAKE] },
        [ROW_REDISSON_ACQUIRE] = { "acquire Redisson's", WIRE_ACQUIRE, false, redisson->rows[KIND_ACQUIRE] },
        [ROW_REDISSON_EXTEND] = { "extend Redisson's", WIRE_EXTEND, false, redisson->rows[KIND_EXTEND] },
        [ROW_REDISSON_RELEASE] = { "release Redisson's", WIRE_RELEASE, false, redisson->rows[KIND_WAKE] },
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

enum row row_of(enum wire_form form, const void *name, size_t size)
{
    for (unsigned i = 0; i < ROW_COUNT; i++) {
        const struct listed_row listed = row_at((enum row)i);
        const char *expected = name_in(&listed, form);
        if (expected && strlen(expected) == size && memcmp(expected, name, size) == 0) return (enum row)i;
    }
    return ROW_COUNT;
}
