/* The metrics as one file, beside those of the core, so that a program that does not call them has
 * none of it. Only the functions of redlock_metrics.h are visible outside. tools/amalgamate makes
 * the file for vendoring from this one. */
#define REDLOCK_PRIVATE static

#include "metrics.c"
#include "metrics_text.c"
