/* The stories, for the page, with their words, each with its moment, and the link
 * of their actions. */
#include "world.h"

#include "../../tests/world/stories.h"

#include <stdio.h>

static struct text output;

const char *world_stories(void)
{
    text_clear(&output);
    json_open(&output, NULL, '[');
    for (size_t i = 0; i < story_count; i++) {
        json_open(&output, NULL, '{');
        json_text(&output, "name", stories[i].name);
        json_text(&output, "title", stories[i].title);
        json_close(&output, '}');
    }
    json_close(&output, ']');
    return output.data;
}

static void write_line(void *context, const struct story_line *line)
{
    struct text *text = context;
    json_open(text, NULL, '{');
    json_number(text, "at", (int64_t)line->at_us);
    json_number(text, "moves", (int64_t)line->moves);
    json_number(text, "actions", (int64_t)line->actions);
    json_text(text, "words", line->words);
    json_close(text, '}');
}

static void write_end(struct text *text, struct stage *stage, const struct story_end *end)
{
    char hash[20];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)stage->hash);
    json_text(text, "link", world_link_of(&stage->settings, stage->actions, stage->action_count));
    json_number(text, "endsAt", (int64_t)stage_now_us(stage));
    json_text(text, "verdict", end->verdict);
    json_bool(text, "isRight", end->is_right);
    json_text(text, "hash", hash);
}

const char *world_story(int number)
{
    const struct story_listener listener = { &output, write_line };
    struct story_end end;
    text_clear(&output);
    if (number < 0 || (size_t)number >= story_count) return "null";
    json_open(&output, NULL, '{');
    json_text(&output, "name", stories[number].name);
    json_text(&output, "title", stories[number].title);
    json_open(&output, "lines", '[');
    struct stage *stage = story_tell(&stories[number], &listener, &end);
    json_close(&output, ']');
    write_end(&output, stage, &end);
    stage_free(stage);
    json_close(&output, '}');
    return output.data;
}
