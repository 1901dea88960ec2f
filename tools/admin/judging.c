#include "judging.h"

#include <stdarg.h>
#include <string.h>

#include "../redlock/print.h"
#include "../redlock/text.h"

/* ---- What is found ---- */

static struct finding *add(struct judging *j, enum severity severity, const char *fix,
                           const char *text)
{
    struct finding *finding = &j->findings->all[j->findings->count++];

    *finding = (struct finding){
        .check = (uint8_t)j->check, .node = (uint8_t)j->k, .severity = severity
    };
    (void)text_printable(finding->text, sizeof finding->text, text, strlen(text));
    (void)print_text(finding->fix, sizeof finding->fix, "%s", fix);
    return finding;
}

void found(struct judging *j, enum severity severity, const char *fix, const char *format, ...)
{
    char text[JUDGE_TEXT_MAX];
    va_list arguments;

    va_start(arguments, format);
    (void)print_text_list(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)add(j, severity, fix, text);
}

void well(struct judging *j, const char *format, ...)
{
    char text[JUDGE_TEXT_MAX];
    va_list arguments;

    va_start(arguments, format);
    (void)print_text_list(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)add(j, SEVERITY_OK, "", text);
}

void unknown(struct judging *j, const char *needs, const char *format, ...)
{
    char text[JUDGE_TEXT_MAX], fix[64] = "";
    va_list arguments;

    va_start(arguments, format);
    (void)print_text_list(text, sizeof text, format, arguments);
    va_end(arguments);
    if (needs) (void)print_text(fix, sizeof fix, "ACL SETUSER <user> %s", needs);
    add(j, SEVERITY_UNKNOWN, fix, text)->needs = needs;
}

void left_out(struct judging *j, const char *why)
{
    found(j, SEVERITY_UNKNOWN, "", "not looked at: %s", why);
    j->findings->all[j->findings->count - 1].is_left_out = true;
}

void hidden(struct judging *j, enum fact fact)
{
    enum question question = survey_question(fact);
    const char *const *words = survey_words[question];
    const char *first = words[0], *second = words[1] ? words[1] : "",
               *third = words[1] && words[2] ? words[2] : "";
    const char *needs = survey_rule(question);

    switch (survey_asked(j->node, fact)) {
    case ANSWER_REFUSED:
        unknown(j, needs, "%s %s%s%s is refused: needs %s", first, second, *third ? " " : "", third,
                needs);
        break;
    case ANSWER_ERROR:
        unknown(j, NULL, "%s %s%s%s: %s", first, second, *third ? " " : "", third,
                j->node->errors[question]);
        break;
    case ANSWER_GIVEN:
        unknown(j, NULL, "%s %s%s%s does not tell it", first, second, *third ? " " : "", third);
        break;
    case ANSWER_NONE:
        unknown(j, NULL, "not asked: %s",
                j->node->trouble ? j->node->trouble_text : "no answer in time");
        break;
    }
}

bool number_of(struct judging *j, enum fact fact, uint64_t *number)
{
    if (survey_number(j->node, fact, number)) return true;
    hidden(j, fact);
    return false;
}

const char *text_of(struct judging *j, enum fact fact)
{
    if (j->node->has[fact]) return j->node->told[fact];
    hidden(j, fact);
    return NULL;
}

const char *why_remember(const struct judging *j)
{
    if (j->limits->guard_ms == 0) return "there is no guard";
    return j->limits->durable >> j->k & 1 ? "it is declared durable" : NULL;
}

bool is_managed(const struct judging *j)
{
    return j->limits->managed >> j->k & 1;
}

bool is_behind_sentinels(const struct survey_node *node)
{
    return strncmp(node->address, "sentinel:", strlen("sentinel:")) == 0;
}

bool is_unsafe(const struct findings *findings, unsigned k)
{
    for (unsigned i = 0; i < findings->count; i++)
        if (findings->all[i].node == k && findings->all[i].severity == SEVERITY_UNSAFE) return true;
    return false;
}

bool judge_is_nameless(const struct survey_node *node, const struct judge_limits *limits)
{
    bool is_told = node->has[FACT_RUN_ID] || node->has[FACT_PROCESS_ID] || node->has[FACT_REPLID];

    return !limits->trusts_unknown && node->votes && (!is_told || !node->has[FACT_ROLE]);
}

bool judge_vote_of(const struct survey_node *node, const struct judge_limits *limits)
{
    return node->votes && !judge_is_nameless(node, limits) && !survey_barrier(node);
}
