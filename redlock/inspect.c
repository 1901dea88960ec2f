#include "inspect.h"

#include "holder.h"
#include "outcome.h"
#include "retry.h"

#include <string.h>

static void inspect_judge(struct redlock *r, struct redlock_lock *lock)
{
    if (lock->asking != 0 && !lock->has_timed_out) return;
    for (unsigned k = 0; k < r->node_count; k++) stake_want_nothing(r, lock, k);
    lock->asking = 0;
    outcome_set(r, lock, REDLOCK_PHASE_IDLE, REDLOCK_OK);
}

static void see_value(struct redlock_sight *sight, const struct answer *a)
{
    /* One byte more, or several if the node is no Redis. */
    bool is_longer = a->reply->text_size > REDLOCK_TOKEN_TEXT;
    size_t size = is_longer ? REDLOCK_TOKEN_TEXT : a->reply->text_size;

    sight->is_string = a->trouble != REDLOCK_TROUBLE_WRONGTYPE;
    sight->is_readable = a->meaning == REDLOCK_ANSWER_GRANTED;
    if (!sight->is_readable) return;
    memcpy(sight->value, a->reply->text, size);     /* A zero is behind it. */
    sight->value_size = (uint32_t)size + is_longer;
}

static void see_ttl(struct redlock_sight *sight, const struct answer *a)
{
    sight->seen = a->meaning == REDLOCK_ANSWER_GRANTED;
    sight->exists = sight->seen && a->reply->integer != -2;
    sight->has_ttl = sight->exists && a->reply->integer != -1;
    sight->ttl_ms = sight->has_ttl ? retry_ms_of(a->reply->integer) : 0;
}

static void inspect_answer(const struct answer *a)
{
    struct redlock_lock *lock = a->lock;

    REDLOCK_ASSERT(a->current);     /* It began when no answer was to come. */
    if (a->command == REDLOCK_COMMAND_PTTL) lock->asking &= (uint16_t)~bit_of(a->k);
    if (lock->phase != REDLOCK_PHASE_INSPECTING) return;     /* It was cancelled. */
    if (a->command == REDLOCK_COMMAND_PTTL) see_ttl(&lock->use.sights[a->k], a);
    else                         see_value(&lock->use.sights[a->k], a);
}

void inspect_begin(struct redlock *r, struct redlock_lock *lock, struct redlock_sight *sights)
{
    static const struct redlock_inspecting feature = {
        .judge = inspect_judge, .answer = inspect_answer, .row = wire_getrange
    };

    r->inspecting = &feature;
    r->holding = holder_feature();  /* This asks for the TTL. */
    lock_begin_round(r, lock, REDLOCK_COMMAND_GETRANGE, 0, REDLOCK_NEVER);
    lock_set_phase(r, lock, REDLOCK_PHASE_INSPECTING);
    lock->use.sights = sights;
    for (unsigned k = 0; k < r->node_count; k++) {
        sights[k] = (struct redlock_sight){ 0 };
        if (r->nodes[k].state != NODE_READY && r->nodes[k].settled) continue;
        lock->asking |= bit_of(k);
        stake_want(r, lock, k, REDLOCK_COMMAND_GETRANGE);
    }
}
