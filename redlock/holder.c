#include "holder.h"

#include "retry.h"

/* A script has reported it with its refusal, and the largest ticket as well (S15). */
static void holder_learn(struct redlock *r, const struct answer *a)
{
    struct redlock_lock *lock = a->lock;
    const struct wire_row *row = kind_row(r, lock, KIND_ACQUIRE);
    uint64_t counter;
    int64_t pttl;

    if (row->read_refusal && row->read_refusal(a->reply, &counter, &pttl)) {
        lock->ticket_seen = later(lock->ticket_seen, counter);
        lock->stakes[a->k].holder_ms = retry_ms_of(pttl);
        if (pttl != -2) lock->taken |= bit_of(a->k);
    } else if (lock->phase != REDLOCK_PHASE_WAITING) {
        lock->asking |= bit_of(a->k);
        stake_want(r, lock, a->k, REDLOCK_COMMAND_PTTL);
    }
}

static void holder_answer(const struct answer *a)
{
    if (!a->current) return;
    a->lock->asking &= (uint16_t)~bit_of(a->k);
    if (a->meaning == REDLOCK_ANSWER_GRANTED)
        a->lock->stakes[a->k].holder_ms = retry_ms_of(a->reply->integer);
}

static void holder_stop(struct redlock *r, struct redlock_lock *lock)
{
    lock->asking = 0;
    for (unsigned k = 0; k < r->node_count; k++)
        if (lock->stakes[k].want == REDLOCK_COMMAND_PTTL) stake_want_nothing(r, lock, k);
}

const struct redlock_holding *holder_feature(void)
{
    static const struct redlock_holding feature = {
        .learn = holder_learn, .answer = holder_answer, .stop = holder_stop, .row = wire_pttl
    };

    return &feature;
}
