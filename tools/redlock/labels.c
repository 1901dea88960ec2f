#include "labels.h"

#include <string.h>

#include "print.h"
#include "text.h"

const char *node_label(const struct redlock_client *client, unsigned k, char text[NODE_LABEL_MAX])
{
    const char *address = redlock_node_address(client, k);
    bool is_second = false;

    for (unsigned i = 0; i < k; i++)
        is_second |= strcmp(redlock_node_address(client, i), address) == 0;
    (void)text_printable(text, REDLOCK_ADDRESS_MAX, address, strlen(address));
    if (is_second) (void)print_text(text + strlen(text), NODE_LABEL_MAX - strlen(text), " (%u)", k);
    return text;
}
