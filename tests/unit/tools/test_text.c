/* The commands' words for an errno. */
#include "../../../tools/redlock/descriptors.c"
#include "../../../tools/redlock/outbox.c"
#include "../../../tools/redlock/print.c"
#include "../../../tools/redlock/text.c"

#include "../../tap.h"

enum { ERRNO_MAX = 133 };       /* On Linux. */

/* Other systems' words may differ, and those of other libcs do. */
static const char *words_here(int error)
{
#ifdef __GLIBC__
    return strerror(error);
#else
    return text_system_error(error);
#endif
}

TEST(an_error_of_the_system_has_its_words_or_its_number)
{
    unsigned told = 0;
    for (int error = 1; error <= ERRNO_MAX; error++) {
        const char *text = text_system_error(error);
        char number[32];
        TAP_CONTEXT("errno %d", error);
        print_text(number, sizeof number, "error %d of the system", error);
        if (strcmp(text, number) == 0 || strstr(text, "too many open files")) continue;
        CHECK(strcmp(text, words_here(error)) == 0);
        told++;
    }
    CHECK(told >= 30);
    CHECK(strcmp(text_system_error(ENOENT), "No such file or directory") == 0);
    CHECK(strcmp(text_system_error(9999), "error 9999 of the system") == 0);
    CHECK(strcmp(text_system_error(-1), "error -1 of the system") == 0);
}

TEST(where_files_are_too_many_it_says_what_to_do)
{
    CHECK(strstr(text_system_error(EMFILE), "ulimit -n") != NULL);
    CHECK(strstr(text_system_error(ENFILE), "in the system") != NULL);
}

TAP_MAIN
