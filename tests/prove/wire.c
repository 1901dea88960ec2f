/* The reading side of wire.c and kinds/redisson.c, for all possible answers of a node. A reply has
 * any type and number, and a text of any bytes, of every size from 0 to TEXT_MAX, which is longer
 * than all that it is compared with; a refusal has 0 to REFUSAL_MAX bytes, which is longer than any
 * valid one. */
#include "any.h"
#include "../../redlock/wire.c"
#include "../../redlock/kinds/redisson.c"
#include "../../resp/resp_encode.c"

enum { TEXT_MAX = 64, REFUSAL_MAX = 32 };

static char text[TEXT_MAX];
static struct redlock_identity identity;

/* Any bytes, at the end of their array. */
static const char *any_text(size_t size)
{
    Frama_C_make_unknown(text, sizeof text);
    return text + TEXT_MAX - size;
}

static struct wire_reply any_reply(size_t size)
{
    struct wire_reply reply = {
        .type = (enum resp_type)any_u8(RESP_NULL_ARRAY), .text_size = size, .text_cut = any_bool()
    };

    reply.integer = (int64_t)any_u64(UINT64_MAX);
    reply.text = any_text(size);
    return reply;
}

/* The answer to any command. */
void prove_answer(void)
{
    size_t size = any_size(TEXT_MAX);
    struct redlock_asked asked = {
        .command = any_u8(UINT8_MAX), .form = any_u8(REDLOCK_FORM_BY_TEXT)
    };
    asked.lowest = (int8_t)(any_u8(3) - 1);
    asked.highest = (int8_t)(any_u8(3) - 1);

    //@ split size;
    struct wire_reply reply = any_reply(size);
    wire_read(&asked, &reply);
}

void prove_refusal(void)
{
    size_t size = any_size(REFUSAL_MAX);
    uint64_t counter = 0;
    int64_t pttl = 0;

    //@ split size;
    struct wire_reply reply = any_reply(size);
    wire_read_refusal(&reply, &counter, &pttl);
    //@ assert counter <= WIRE_TICKET_MAX && pttl <= UINT32_MAX;
}

void prove_wake_up(void)
{
    size_t size = any_size(TEXT_MAX);
    uint32_t number = 0;
    uint8_t slot = 0;

    //@ split size;
    struct wire_reply reply = any_reply(size);
    wire_read_wake_up(&reply, &number, &slot);
    //@ assert slot <= REDLOCK_PERMITS_MAX;
}

void prove_info(void)
{
    size_t size = any_size(TEXT_MAX);

    //@ split size;
    const char *line = any_text(size);
    wire_read_info(line, size, &identity);
    //@ assert identity.uptime_s <= WIRE_UPTIME_MAX;
}

void prove_token(void)
{
    size_t size = any_size(TEXT_MAX);
    uint8_t token[REDLOCK_TOKEN_SIZE] = { 0 };
    char hex_digits[REDLOCK_TOKEN_TEXT];

    //@ split size;
    const char *digits = any_text(size);
    wire_token_read(digits, size, token);
    wire_token_text(token, hex_digits);
}

void prove_trouble(void)
{
    size_t size = any_size(TEXT_MAX);

    //@ split size;
    const char *error = any_text(size);
    enum redlock_trouble trouble = wire_trouble(error, size);
    //@ assert REDLOCK_TROUBLE_NONE < trouble <= UINT8_MAX;
    struct wire_reply heard = {
        .type = RESP_ARRAY, .integer = 3, .text = error, .text_size = size
    };
    size_t before = wire_before_wake_up(&heard);
    //@ assert before <= size;
    trouble = wire_class(error, size);
    //@ assert REDLOCK_TROUBLE_NOAUTH <= trouble <= REDLOCK_TROUBLE_OTHER_ERROR;
}

/* A subscription's messages. */
void prove_heard(void)
{
    size_t size = any_size(TEXT_MAX);

    //@ split size;
    struct wire_reply reply = any_reply(size);
    enum redisson_heard what = redisson_read_heard(&reply);
    //@ assert what <= REDISSON_HEARD_UNSUBSCRIBED;
}
