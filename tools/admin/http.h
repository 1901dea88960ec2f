/* A small HTTP server in a thread of its own, which hands out one text, the metrics. Knows nothing
 * of nodes.
 *
 * GET or HEAD of /metrics is answered by the text that was given last, anything else by an error,
 * and each connection carries one request. A client's cost is bounded. There are HTTP_CLIENTS of
 * them, each with a request of HTTP_REQUEST_MAX bytes and HTTP_CLIENT_MS from its first byte to its
 * last. If one more comes, the one that is longest at it has to go, so those that hang
 * keep out nobody. */
#ifndef HTTP_H
#define HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HTTP_CLIENTS = 16,
    HTTP_REQUEST_MAX = 4096,
    HTTP_CLIENT_MS = 10000,
    HTTP_ADDRESS_MAX = 64,      /* "[ffff:...:ffff]:65535", and a NUL. */
    HTTP_WHY_MAX = 160
};

struct http;

/* Listens on "PORT", of the loopback; "ADDRESS:PORT" or "[ADDRESS]:PORT", of an address that is a
 * number; or "*:PORT", of all. With port 0 the system chooses one. Nobody is answered before
 * http_start. NULL: why says why. */
struct http *http_open(const char *text, char why[HTTP_WHY_MAX]);

/* The address that it listens on, such as "127.0.0.1:9736". */
const char *http_address(const struct http *http);

/* Begins to answer. Until a text is given, the answer is that there is none yet (503). False: the
 * system gave no thread. */
bool http_start(struct http *http);

/* The text from now on, which is copied; an answer that is under way is finished with the one
 * before. False: there is no memory for it, so the one before stays. */
bool http_give(struct http *http, const char *text, size_t size);

/* Ends at once, also requests under way. NULL is left alone. */
void http_close(struct http *http);

#endif
