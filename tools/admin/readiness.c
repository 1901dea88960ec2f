#include "readiness.h"

#include "../redlock/text.h"

bool readiness_must_end(const struct readiness *r)
{
    return r->session->fault || session_must_end(r->session) || redlock_now_us() >= r->until;
}

enum { NOT_EVERYWHERE = 1 << SCAN_DEGRADED | 1 << SCAN_MAYBE_HELD };

void readiness_note(void *context, const struct scan_finding *finding)
{
    struct readiness *r = context;

    if ((finding->judgement->classes & NOT_EVERYWHERE) == 0 || r->first[0] != '\0') return;
    (void)text_printable(r->first, sizeof r->first, finding->name, finding->name_size);
}

bool readiness_goes_on(void *context, const struct scan_counts *so_far)
{
    (void)so_far;
    return !readiness_must_end(context);
}
