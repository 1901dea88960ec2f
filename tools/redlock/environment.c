#include "environment.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

void environment_take(const char *name)
{
    size_t size = strcspn(name, "=");
    char **to = environ;

    assert(size > 0);
    for (char **at = environ; *at; at++)
        if (strncmp(*at, name, size) != 0 || (*at)[size] != '=') *to++ = *at;
    *to = NULL;
}

void environment_put(char *variable)
{
    static char **ours;
    size_t count = 0;
    char **all;

    assert(strchr(variable, '='));
    environment_take(variable);
    while (environ[count]) count++;
    all = malloc((count + 2) * sizeof *all);
    if (!all) return;
    memcpy(all, environ, count * sizeof *all);
    all[count] = variable;
    all[count + 1] = NULL;
    environ = all;
    free(ours);
    ours = all;
}
