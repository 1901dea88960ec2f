/* Replays old inputs of a fuzz target, without a fuzzer. The program includes the target and says
 * its name.
 *
 *     #include "../../fuzz/fuzz_resp.c"
 *     #include "../../fuzz/replay.h"
 *     REPLAY("resp")
 *
 * Prints TAP, one point for each directory. They are tests/fuzz/corpus/NAME, and
 * tests/fuzz/crashes/NAME, which has every input that ever broke something, and some made by hand
 * that look as if they could. It must be run at the top of the tree. A file that breaks a rule ends
 * the program; its name is printed before it is fed. The arguments, if any, are files
 * to feed instead. */
#ifndef REPLAY_H
#define REPLAY_H

#include <dirent.h>

#include "fuzz.h"

enum { REPLAY_FILE_MAX = 65536, REPLAY_PATH_MAX = 300 };

#define REPLAY(name) int main(int argc, char **argv) { return replay_main(name, argc, argv); }

/* Feeds one file, in a block of just its size. False: it cannot be read. */
static inline bool replay_file(const char *path)
{
    static uint8_t bytes[REPLAY_FILE_MAX];
    FILE *file = fopen(path, "rb");
    size_t size;
    uint8_t *exact;

    if (!file) return false;
    size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    exact = fuzz_copy(bytes, size);
    fprintf(stderr, "# %s\n", path);    /* Seen when it is the last line. */
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    return true;
}

/* Returns how many files there were, -1 when the directory or a file cannot be read. */
static inline int replay_directory(const char *path)
{
    DIR *directory = opendir(path);
    int count = 0;

    if (!directory) return -1;
    for (struct dirent *entry; count >= 0 && (entry = readdir(directory));) {
        char file[REPLAY_PATH_MAX];
        if (entry->d_name[0] == '.') continue;
        bool fits = snprintf(file, sizeof file, "%s/%s", path, entry->d_name) < (int)sizeof file;
        count = fits && replay_file(file) ? count + 1 : -1;
    }
    closedir(directory);
    return count;
}

static inline int replay_main(const char *name, int argc, char **argv)
{
    static const char *const kinds[] = { "corpus", "crashes" };
    bool good = true;

    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    for (int i = 1; i < argc; i++) good &= replay_file(argv[i]);
    if (argc > 1) return good ? 0 : 1;
    puts("1..2");
    for (int i = 0; i < 2; i++) {
        char path[REPLAY_PATH_MAX];
        int count;
        snprintf(path, sizeof path, "tests/fuzz/%s/%s", kinds[i], name);
        count = replay_directory(path);
        good &= count > 0;
        printf("%s %d - the fuzz target \"%s\" holds on all of %s (%d files)\n",
               count > 0 ? "ok" : "not ok", i + 1, name, path, count);
    }
    return good ? 0 : 1;
}

#endif
