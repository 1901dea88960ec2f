/* The text of a script that two kinds have, as an object of each (see kinds/plain.c). */
#ifndef REDLOCK_KINDS_TEXTS_H
#define REDLOCK_KINDS_TEXTS_H

#include "../wire.h"

static const char shared_release_text[] = WIRE_SHARED_RELEASE_SCRIPT,
                  shared_release_sha1[] = WIRE_SHARED_RELEASE_SHA1;

#endif
