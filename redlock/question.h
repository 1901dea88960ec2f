/* Questions to a node that belong to no lock, and their answers: see question.c. */
#ifndef REDLOCK_QUESTION_H
#define REDLOCK_QUESTION_H

#include "private.h"
#include "redlock.h"
#include "../resp/resp.h"

/* It is one of those that are not answered; and no longer, with that status. */
REDLOCK_PRIVATE void question_append(struct redlock *r, struct redlock_question *question);
REDLOCK_PRIVATE void question_end(struct redlock_question **questions,
                                  struct redlock_question *question, enum redlock_status status);

/* A piece of an answer, to the question of that number; if it was forgotten it is dropped. */
REDLOCK_PRIVATE void question_read(struct redlock_question **questions, uint32_t number,
                                   const struct resp_item *item);

#endif
