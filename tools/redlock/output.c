#include "output.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exit_status.h"
#include "outbox.h"
#include "print.h"
#include "text.h"

enum { NOTE_MAX = 1024 };

static const struct output *current;    /* Of the program that runs. NULL: nothing has been read. */

void output_begin(const struct output *output)
{
    assert(output->program);
    current = output;
}

/* ---- In words ---- */

void say(const char *format, ...)
{
    char text[NOTE_MAX];
    va_list arguments;
    FILE *file;

    va_start(arguments, format);
    if (current && current->json) {
        (void)print_text_list(text, sizeof text, format, arguments);
        file = outbox_compose();
        output_json_head(file, current, NULL);
        (void)print_to(file, "\"note\":");
        json_text(file, text);
        (void)print_to(file, "}\n");
        (void)outbox_send(OUTLET_STDERR, 0);
    } else {
        text_say(format, arguments);
    }
    va_end(arguments);
}

void say_of_resource(const char *format, ...)
{
    char text[NOTE_MAX];
    va_list arguments;

    assert(current);
    va_start(arguments, format);
    (void)print_text_list(text, sizeof text, format, arguments);
    va_end(arguments);
    say("%s: %s", current->resource, text);
}

bool output_written(const char *what)
{
    int failure = fflush(stdout) == 0 ? print_failure() : errno;

    if (!ferror(stdout)) return true;
    say("%s could not be written%s%s", what, failure ? ": " : "",
        failure ? text_system_error(failure) : "");
    return false;
}

/* One text and a row of numbers: a switch with a table of pointers is twice as large. */
const char *status_name(enum redlock_status status)
{
#define STATUS_NUMBER(number, name, text) number,
#define STATUS_NAME(number, name, text) #name "\0"
    static const uint8_t numbers[] = { REDLOCK_STATUSES(STATUS_NUMBER) };
    static const char names[] = REDLOCK_STATUSES(STATUS_NAME);
#undef STATUS_NUMBER
#undef STATUS_NAME
    const char *name = names;

    for (size_t i = 0; i < sizeof numbers; i++, name += strlen(name) + 1)
        if (numbers[i] == (unsigned)status) return name;
    return "UNKNOWN";
}

/* ---- JSON ---- */

/* "resource":"a",  or  "resources":["a","b"], */
static void json_resources(FILE *file, const struct output *output)
{
    (void)print_to(file, output->name_count > 1 ? "\"resources\":[" : "\"resource\":");
    if (output->name_count == 0) (void)print_to(file, "null");         /* It was not even read. */
    for (unsigned i = 0; i < output->name_count; i++) {
        if (i > 0) (void)print_to(file, ",");
        json_text(file, output->names[i]);
    }
    (void)print_to(file, output->name_count > 1 ? "]," : ",");
}

static void json_command(FILE *file, const struct output *output)
{
    (void)print_to(file, "{\"version\":%d,\"command\":", OUTPUT_JSON_VERSION);
    if (output->command) (void)print_to(file, "\"%s\",", output->command);
    else                 (void)print_to(file, "null,");
}

void output_json_head(FILE *file, const struct output *output, const char *resource)
{
    assert(output);
    json_command(file, output);
    if (!resource) {
        json_resources(file, output);
        return;
    }
    (void)print_to(file, "\"resource\":");
    json_text(file, resource);
    (void)print_to(file, ",");
}

static void json_outcome(FILE *file, const char *name, int code, const char *text)
{
    assert(name && text);
    (void)print_to(file, "\"status\":\"%s\",\"code\":%d,\"text\":", name, code);
    json_text(file, text);
    (void)print_to(file, ",");
}

void output_json_begin(FILE *file, const struct output *output, const char *resource,
                       enum redlock_status status, const char *text)
{
    output_json_head(file, output, resource);
    json_outcome(file, status_name(status), (int)status, text ? text : redlock_status_text(status));
}

void output_json_begin_bytes(FILE *file, const struct output *output, const void *resource,
                             size_t size, const char *text)
{
    assert(resource || size == 0);
    json_command(file, output);
    (void)print_to(file, "\"resource\":");
    json_string(file, resource, size);
    (void)print_to(file, ",");
    json_outcome(file, status_name(REDLOCK_OK), REDLOCK_OK, text);
}

FILE *output_json_file(const struct output *output)
{
    return output->runs ? outbox_compose() : stdout;
}

void output_json_end(const struct output *output)
{
    if (output->runs) (void)outbox_send(OUTLET_STDERR, 0);
}

/* ---- Failures before there is a session ---- */

static void json_failure(const char *name, int code, const char *text)
{
    FILE *file = output_json_file(current);

    output_json_head(file, current, NULL);
    json_outcome(file, name, code, text);
    if (current->runs)
        (void)print_to(file, "\"exit\":%d,\"reason\":\"not acquired\",", EXIT_TROUBLE);
    (void)print_to(file, "\"nodes\":[]}\n");
    output_json_end(current);
    if (file == stdout) (void)output_written("the result");
}

void output_failure(enum redlock_status status, const char *text)
{
    assert(current && status != REDLOCK_OK);
    if (current->json) json_failure(status_name(status), (int)status, text);
    else               say("%s", text);
}

void output_system_failure(const char *what, int error)
{
    char text[NOTE_MAX];

    (void)print_text(text, sizeof text, "cannot begin %s: %s", what, text_system_error(error));
    output_failure(REDLOCK_SYSTEM, text);
}

void output_mistake(const char *text)
{
    assert(current);
    if (current->json) json_failure("BAD_SETTINGS", EXIT_TROUBLE, text);
    else               say("%s", text);
}

void output_refuse(const char *command, const char *format, va_list arguments)
{
    char text[NOTE_MAX];

    assert(current);
    if (current->json) {
        (void)print_text_list(text, sizeof text, format, arguments);
        output_mistake(text);
    } else {
        text_say(format, arguments);
        (void)print_to(outbox_compose(), "Try '%s %s%s--help' for more information.\n",
                       current->program, command ? command : "", command ? " " : "");
        (void)outbox_send(OUTLET_STDERR, 0);
    }
    exit(EXIT_TROUBLE);
}
