#include "removal.h"

#include <stdio.h>
#include <string.h>

#include "../redlock/ask_all.h"

const char removal_script[] =
    "local c,p,k=redis.call,redis.pcall,KEYS[1] "
    "local v,f,q,t=c('get',k),k..'#waiters#waiters',k..'#waiters',k..'" REDLOCK_TICKET_SUFFIX "' "
    "if v and v~=ARGV[1] then return -1 end "
    "if ARGV[2]~='0' and tonumber(c('get',t) or 0)<tonumber(ARGV[2]) then "
    "c('set',t,ARGV[2],'px',math.max(ARGV[3],c('pttl',t))) "
    "end "
    "if not v then return 0 end "
    "local d=p('del',k,f) "
    "if type(d)=='table' then c('del',k) end "
    "if d==1 then return 1 end "
    "local m=p('zpopmin',q) "
    "while m[1] do "
    "local h=p('publish','redlock:'..m[1]:sub(1,16),m[1]:sub(18)) "
    "if h~=0 then "
    "if type(h)=='table' and type(p('pexpire',q,60000))~='table' then p('zadd',q,m[2],m[1]) p('pexpire',q,60000) end "
    "p('set',f,'','px',60000) break "
    "end "
    "m=p('zpopmin',q) "
    "end "
    "return 1";

bool removal_note_refusal(struct session *session, unsigned k, const struct redlock_item *item, const char *needs)
{
    struct session_note *note = &session->notes[k];

    item_note_refusal(item, note, needs);
    note->trouble = REDLOCK_TROUBLE_OTHER_ERROR;
    return item_is_forbidden(item);
}

unsigned removal_of(struct session *session, const void *name, size_t name_size, const void *value, size_t value_size)
{
    static struct ask_all all;
    unsigned removed = 0;
    struct redlock_item item;

    all = (struct ask_all){ 0 };
    ask_all_argument(&all, "EVAL");
    ask_all_argument(&all, removal_script);
    ask_all_argument(&all, "1");
    ask_all_bytes(&all, name, name_size);
    ask_all_bytes(&all, value, value_size);
    ask_all_argument(&all, "0");
    ask_all_begin(&all, session);
    ask_all_wait(&all, session, redlock_now_us() + (uint64_t)session->settings->options.engine.node_timeout_ms * 1000);
    for (unsigned k = 0; k < redlock_node_count(&session->client); k++) {
        bool has_answered = ask_all_answer(&all, k, &item);
        removed += has_answered && item.type == REDLOCK_ITEM_INTEGER && item.integer > 0;
        if (!has_answered && item.type == REDLOCK_ITEM_ERROR)
            (void)removal_note_refusal(session, k, &item, "to remove takes ~RESOURCE* +eval +get +set +del: ");
    }
    ask_all_end(&all, session);
    return removed;
}
