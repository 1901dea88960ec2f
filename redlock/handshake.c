#include "handshake.h"

/* A command of words without blanks. */
static void put_words(struct resp_writer *w, unsigned count, const char *words)
{
    resp_command(w, count);
    for (size_t size; count > 0; count--, words += size + 1) {
        for (size = 0; words[size] > ' ';) size++;
        resp_bytes(w, words, size);
    }
}

static void put_select(struct resp_writer *w, uint32_t database)
{
    resp_command(w, 2);
    resp_text(w, "SELECT");
    resp_size(w, database);
}

static void put_auth(struct resp_writer *w, const struct redlock_login *login)
{
    resp_command(w, login->user ? 3 : 2);
    resp_text(w, "AUTH");
    if (login->user) resp_text(w, login->user);
    resp_text(w, login->password);
}

bool handshake_put(struct resp_writer *w, enum redlock_command command,
                   const struct redlock_node *node, const struct redlock_scripts *scripts,
                   const uint8_t engine[REDLOCK_NAME_SIZE])
{
    switch (command) {
    case REDLOCK_COMMAND_AUTH:         put_auth(w, &node->login); break;
    case REDLOCK_COMMAND_SELECT:       put_select(w, node->login.database); break;
    case REDLOCK_COMMAND_SETNAME:      put_words(w, 3, "CLIENT SETNAME redlock"); break;
    case REDLOCK_COMMAND_INFO:         put_words(w, 1, "INFO"); break;
    case REDLOCK_COMMAND_EVAL:         put_words(w, 3, "EVAL return 0"); break;
    case REDLOCK_COMMAND_SUBSCRIBE:    scripts->put_subscribe(w, engine); break;
    default:                           scripts->loading->put(w, command, node, scripts);
    }
    return resp_end(w);
}

bool handshake_leaves_out(enum redlock_command command, const struct redlock_node *node,
                          const struct redlock_scripts *scripts)
{
    switch (command) {
    case REDLOCK_COMMAND_AUTH:      return !node->login.password;
    case REDLOCK_COMMAND_SETNAME:   return false;
    case REDLOCK_COMMAND_SUBSCRIBE: return !node->is_subscription;
    case REDLOCK_COMMAND_SELECT:    return node->is_subscription || node->login.database == 0;
    case REDLOCK_COMMAND_INFO:
    case REDLOCK_COMMAND_EVAL:      return node->is_subscription;
    default:
        return !scripts->loading || scripts->loading->is_left_out(command, node);
    }
}
