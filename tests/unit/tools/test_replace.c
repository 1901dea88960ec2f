/* Files that are replaced as a whole. */
#include "../../../tools/redlock/replace.c"
#include "../../../tools/redlock/print.c"

#include "../../tap.h"

static char folder[64], path[80];

static void begin(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/redlock-replace.XXXXXX");
    TAP_CHECK(mkdtemp(folder), "%s", strerror(errno));
    (void)snprintf(path, sizeof path, "%s/file", folder);
}

static bool write_inner(void *context, int fd)
{
    (void)context;
    return write(fd, "inner", 5) == 5;
}

/* Between two halves of the text another process comes, which has the same number
 * where it lives. */
static bool write_outer(void *context, int fd)
{
    (void)context;
    return write(fd, "out", 3) == 3 && replace_file(path, write_inner, NULL) &&
           write(fd, "er", 2) == 2;
}

static bool write_and_fail(void *context, int fd)
{
    (void)context;
    (void)!write(fd, "half", 4);
    errno = ENOSPC;
    return false;
}

static bool contains(const char *expected)
{
    char text[16] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool is_read = fd >= 0 && read(fd, text, sizeof text - 1) >= 0;
    if (fd >= 0) (void)close(fd);
    return is_read && strcmp(text, expected) == 0;
}

/* No other file is there, so the folder can be removed. */
static bool is_alone(void)
{
    return unlink(path) == 0 && rmdir(folder) == 0;
}

TEST(two_processes_with_one_number_do_not_write_to_one_file)
{
    begin();
    CHECK(replace_file(path, write_outer, NULL));
    CHECK(contains("outer"));
    CHECK(is_alone());
}

TEST(where_writing_fails_the_old_one_stays_alone)
{
    begin();
    CHECK(replace_file(path, write_inner, NULL));
    CHECK(!replace_file(path, write_and_fail, NULL));
    CHECK_INT(errno, ENOSPC);
    CHECK(contains("inner"));
    CHECK(is_alone());
}

TAP_MAIN
