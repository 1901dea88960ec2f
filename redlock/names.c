#include "names.h"

#include "kind.h"
#include "wire.h"

#include <string.h>

static bool is_same(const struct redlock_name *a, const struct redlock_name *b)
{
    return a->size == b->size && are_same_bytes(a->bytes, b->bytes, a->size);
}

bool names_are_of(const struct redlock *r, const struct redlock_lock *lock,
                  const struct redlock_name *names, unsigned count)
{
    if (lock->name_count != count) return false;
    return count > 1 ? r->sets->are_same(names_of(lock), names, count)
                     : is_same(&lock->name, names);
}

REDLOCK_OUTLINE static bool is_among(const struct redlock_name *name,
                                     const struct redlock_name *names, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (is_same(name, &names[i])) return true;
    return false;
}

static bool names_are_same(const struct redlock_name *set, const struct redlock_name *names,
                           unsigned count)
{
    bool same = true;

    for (unsigned i = 0; i < count && same; i++) same = is_among(&set[i], names, count);
    return same;
}

/* True if a lock of that name would overwrite a key that another lock keeps beside its own. */
REDLOCK_OUTLINE static bool is_reserved(const struct redlock_name *name)
{
    static const char suffixes[] = /* Each name follows its size. */
        "\7" REDLOCK_TICKET_SUFFIX "\10" REDLOCK_WAITERS_SUFFIX "\7" REDLOCK_LEADER_SUFFIX
        "\5" REDLOCK_DONE_SUFFIX "\10" REDLOCK_READERS_SUFFIX "\7" REDLOCK_WRITER_SUFFIX
        "\6" REDLOCK_QUEUE_SUFFIX "\6" REDLOCK_LEASE_SUFFIX "\6" REDLOCK_GRANT_SUFFIX;
    const char *end = (const char *)name->bytes + name->size;
    size_t size;

    for (const char *at = suffixes; (size = (uint8_t)*at++) > 0; at += size)
        if (name->size >= size && are_same_bytes(end - size, at, size)) return true;
    return false;
}

bool name_is_proper(const struct redlock_name *name, size_t size_max)
{
    return name->bytes && name->size >= 1 && name->size <= size_max && !is_reserved(name);
}

bool names_are_shared(const struct redlock_name *names, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (names[i].shared) return true;
    return false;
}

bool names_are_of_reader(const struct redlock_lock *lock)
{
    return lock->kind->is_changing || names_are_shared(names_of(lock), lock->name_count);
}

bool names_have_same_roles(const struct redlock_lock *lock, const struct redlock_name *names,
                           unsigned count)
{
    const struct redlock_name *ours = names_of(lock);

    for (unsigned i = 0; i < count; i++)
        for (unsigned j = 0; j < lock->name_count; j++)
            if (names[i].shared != ours[j].shared && is_among(&names[i], &ours[j], 1)) return false;
    return true;
}

REDLOCK_WRAPS uint32_t names_hash(const struct redlock_lock *lock)
{
    uint32_t hash = 2166136261u;
    const struct redlock_name *names = names_of(lock);

    REDLOCK_ASSERT(lock->name_count > 0);
    for (unsigned n = 0; n < lock->name_count; n++)
        for (size_t i = 0; i < names[n].size; i++)
            hash = (hash ^ ((const uint8_t *)names[n].bytes)[i]) * 16777619u;
    return hash != 0 ? hash : 1;
}

/* The order is by bytes, and a name that begins with another is after it. */
static bool comes_after(const struct redlock_name *a, const struct redlock_name *b)
{
    size_t common = a->size < b->size ? a->size : b->size;
    int order = memcmp(a->bytes, b->bytes, common);

    return order > 0 || (order == 0 && a->size > b->size);
}

/* The part of a name that a cluster hashes, behind the first brace and before the next closing one,
 * with the first brace. Keys beside a resource have it as well
 * (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/, "Hash tags"). */
static struct redlock_name tag_of(const struct redlock_name *name)
{
    const char *bytes = (const char *)name->bytes;
    struct redlock_name tag = { .bytes = bytes };
    size_t at = 0;

    while (at < name->size && bytes[at] != '{') at++;
    tag.bytes = bytes + at;
    while (at < name->size && bytes[at] != '}') at++;
    if (at < name->size) tag.size = (size_t)(bytes + at - (const char *)tag.bytes);
    return tag;
}

/* True if a cluster keeps all of them, and the keys beside them, in one slot. */
static bool have_one_slot(const struct redlock_name *names, unsigned count)
{
    struct redlock_name first = tag_of(names);

    for (unsigned i = 0; i < count; i++) {
        struct redlock_name tag = tag_of(&names[i]);
        if (tag.size < 2 || !is_same(&tag, &first)) return false;
    }
    return true;
}

static enum redlock_status names_check(const struct redlock *r, const struct redlock_name *names,
                                       unsigned count, bool is_shared)
{
    size_t room = r->config.resource_max;

    if (count < 1 || count > REDLOCK_SET_MAX)          return REDLOCK_BAD_SET;
    if (!is_shared && names_are_shared(names, count)) return REDLOCK_BAD_KIND;
    for (unsigned i = 0; i < count; i++) {
        size_t head = i > 0 ? WIRE_NAME_HEAD : 0;
        if (room < head || !name_is_proper(&names[i], room - head)) return REDLOCK_BAD_RESOURCE;
        room -= names[i].size + head;
    }
    for (unsigned i = 1; i < count; i++)
        if (is_among(&names[i], names, i)) return REDLOCK_BAD_SET;
    return r->config.managed && !have_one_slot(names, count) ? REDLOCK_BAD_RESOURCE : REDLOCK_OK;
}

static void names_sort(struct redlock_name *set, unsigned count)
{
    for (unsigned i = 1; i < count; i++) {
        struct redlock_name name = set[i];
        unsigned at = i;
        for (; at > 0 && comes_after(&set[at - 1], &name); at--) set[at] = set[at - 1];
        set[at] = name;
    }
}

const struct redlock_sets *names_feature(void)
{
    static const struct redlock_sets feature = {
        .check = names_check, .are_same = names_are_same, .sort = names_sort
    };

    return &feature;
}
