#include "settings.h"

#include <assert.h>

#include "text.h"

void refuse(const struct settings *settings, const char *format, ...)
{
    va_list arguments;

    assert(format);
    va_start(arguments, format);
    output_refuse(settings ? settings->output.command : NULL, format, arguments);
}

void settings_add_name(struct settings *settings, const char *name)
{
    assert(settings->name_count < REDLOCK_SET_MAX);
    settings->names[settings->name_count++] = name;
    settings->output.names = settings->names;
    settings->output.name_count = settings->name_count;
}

void settings_wipe_secrets(struct settings *settings)
{
    text_wipe(settings->nodes, sizeof settings->nodes);
    text_wipe(settings->password, sizeof settings->password);
}
