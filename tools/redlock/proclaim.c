#include "proclaim.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "command_scripts.h"
#include "print.h"

static const char proclaim_script[] = PROCLAIM_SCRIPT, resign_script[] = RESIGN_SCRIPT;

static void say_script(struct ask_all *all, const char *script, const struct proclamation *p,
                       const struct settings *settings)
{
    assert(settings->name_count == 1);
    ask_all_argument(all, "EVAL");
    ask_all_argument(all, script);
    ask_all_argument(all, "1");
    ask_all_argument(all, settings->names[0]);
    ask_all_argument(all, p->value);
}

void proclaim_begin(struct proclamation *p, struct session *session, const char *as)
{
    const struct settings *settings = session->settings;

    assert(as && redlock_ticket(&session->lock) > 0);
    memset(p, 0, sizeof *p);
    redlock_value(&session->client.engine, &session->lock, p->value);
    (void)print_text(p->epoch, sizeof p->epoch, "%" PRIu64, redlock_ticket(&session->lock));
    (void)print_text(p->ttl, sizeof p->ttl, "%" PRIu32, settings->ttl_ms);
    say_script(&p->proclaim, proclaim_script, p, settings);
    ask_all_argument(&p->proclaim, p->epoch);
    ask_all_argument(&p->proclaim, as);
    ask_all_argument(&p->proclaim, p->ttl);
    say_script(&p->resign, resign_script, p, settings);
    ask_all_begin(&p->proclaim, session);
}

void proclaim_again(struct proclamation *p, struct session *session)
{
    ask_all_begin(&p->proclaim, session);
}

void proclaim_resign(struct proclamation *p, struct session *session)
{
    ask_all_begin(&p->resign, session);
}

void proclaim_end(struct proclamation *p, struct session *session)
{
    ask_all_end(&p->proclaim, session);
    ask_all_end(&p->resign, session);
}
