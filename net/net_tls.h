/* The common part of the adapters of TLS libraries. It is a transport (redlock_transport.h) without
 * the library itself. An adapter (net_openssl.c, net_mbedtls.c) includes this file, which has
 * functions of its own inside, and defines the ones declared below.
 *
 * A library writes into memory, and from there the socket is filled here. No SIGPIPE is raised; a
 * record that was begun is ours, whatever the engine wants to send next; and bytes that a library
 * writes while it reads (tickets, key updates) are sent whenever the descriptor allows it. */
#ifndef REDLOCK_NET_TLS_H
#define REDLOCK_NET_TLS_H

#include "redlock_net.h"
#include "redlock_tls.h"
#include "redlock_transport.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    /* As many as a client waits for, those of nodes and of sentinels. */
    TLS_SESSIONS_MAX = NET_WAIT_MAX - 1,
    TLS_SERVERS_MAX = TLS_SESSIONS_MAX,
    TLS_PIECE = 4096,                   /* Taken from the socket at once, */
    /* and so often in one call, since a node that floods us must not keep others waiting (S16). */
    TLS_PIECES_MAX = 8,
    TLS_OUT_MAX = 65536,                /* More is not kept for a node that takes nothing. */
    TLS_ERROR_TAKEN = REDLOCK_TRANSPORT_ERROR + 1,      /* Two clients use one redlock_tls. */
    TLS_WORDS_MAX = 96                  /* The engine keeps some 60 of them. */
};

/* It says nothing while there is no connection, except `words`, which outlive it. */
struct tls_session {
    struct tls_line *line;  /* The library's part of it; NULL: there is no connection. */
    unsigned node;
    int fd;
    int ended;              /* The end is 0; REDLOCK_TRANSPORT_END, or -E: nothing more comes. */
    /* It has offered the node to resume an earlier session of TLS (RFC 8446, 2.2; RFC 5077). */
    bool resumes;
    bool has_socket;        /* TCP stands, */
    bool stands;            /* and so does TLS. */
    bool may_have_more;     /* The last call has stopped before it knew. */
    bool is_dry;            /* The socket delivered less than requested in this call, */
    unsigned pieces;        /* after so many pieces. */
    char words[TLS_WORDS_MAX];
};

/* A session that a server has given us so that later connections can begin without certificates and
 * signatures. With TLS 1.3 it gives another one each time. */
struct tls_ticket {
    struct tls_resumable *resumable;    /* The library's. NULL: there is none. */
    /* The first end of the certificates that were looked at, in seconds since 1970. */
    uint64_t ends;
    /* The node has broken off a handshake because of one, so it is offered none any more. */
    bool is_refused;
    /* The certificate was for this host. Sentinels may name another one by and by. */
    char host[NET_HOST_MAX + 1];
};

/* The names that a certificate must be for. */
struct tls_host {
    char name[NET_HOST_MAX + 1];
    uint8_t number[sizeof(struct in6_addr)];    /* The name read as a number, */
    size_t number_size;                         /* of 4 or 16 bytes; 0: it is none. */
};

/* --- What an adapter defines --- */

struct tls_line;
struct tls_resumable;

static struct tls_session *tls_session(struct redlock_tls *tls, unsigned k);
static struct tls_ticket *tls_ticket(struct redlock_tls *tls, unsigned node);

/* NULL: out of memory. The calls below read the session's fields. */
static struct tls_line *tls_line_open(struct redlock_tls *tls, struct tls_session *session,
                                      const struct tls_host *host);

/* Before the handshake. False: the library does not want it. If it fails, it is of no
 * use any longer. */
static bool tls_resume(struct tls_line *line, struct tls_resumable *resumable);
static void tls_forget(struct tls_resumable *resumable);
static void tls_line_close(struct tls_line *line);

/* The library's output, with its beginning and size. The other one reports that so much of
 * it is sent. */
static size_t tls_output(const struct tls_line *line, const void **data);
static void tls_sent(struct tls_line *line, size_t size);

/* Goes on as far as tls_take gives bytes. True: it stands. False: it waits for more, or
 * session->ended says why not. */
static bool tls_shake_hands(struct tls_session *session);

/* Returns the number of bytes that were taken, or read, as a piece; 0: none, for now or as
 * session->ended says. */
static size_t tls_write(struct tls_session *session, const void *data, size_t size);
static size_t tls_read(struct tls_session *session, void *data, size_t size);

static void tls_write_goodbye(struct tls_line *line);

/* The first end of the certificates that the node has sent, see redlock_tls_certificate_ends.
 * UINT64_MAX: there is none. */
static uint64_t tls_first_end(const struct tls_line *line);

/* --- Words --- */

#define TLS_OTHER_HOST "its certificate is for another host name"
#define TLS_NO_HOST    "its certificate names no host, only a common name"

/* Keeps the words of the failure. Returns its number for error_text(), negated. */
static int tls_fail(struct tls_session *session, const char *words)
{
    (void)snprintf(session->words, sizeof session->words, "TLS: %s", words);
    session->ended = -REDLOCK_TRANSPORT_ERROR;
    return session->ended;
}

static const char *tls_error_text(void *context, unsigned k, int error)
{
    if (error == TLS_ERROR_TAKEN)
        return "TLS: its redlock_tls is another client's: open one for each";
    return error == REDLOCK_TRANSPORT_ERROR ? tls_session(context, k)->words : NULL;
}

/* --- Bytes --- */

/* Gives the socket the library's output. Returns 0, or -errno; bytes that the socket does
 * not take stay. */
static int tls_flush(struct tls_session *session)
{
    const void *data;
    size_t size;

    while ((size = tls_output(session->line, &data)) > 0) {
        ptrdiff_t sent = net_send(session->fd, data, size);
        if (sent <= 0) return (int)sent;
        tls_sent(session->line, (size_t)sent);
    }
    return 0;
}

static size_t tls_output_size(const struct tls_session *session)
{
    const void *data;

    return tls_output(session->line, &data);
}

static void tls_begin_taking(struct tls_session *session)
{
    session->pieces = 0;
    session->is_dry = false;
}

/* Takes a piece from the socket for the library to read. 0: there is none, for now or as
 * session->ended says; or it has been asked often enough. After a piece that is not full it is not
 * asked for another one, since the descriptor tells when more comes. */
static size_t tls_take(struct tls_session *session, uint8_t piece[TLS_PIECE])
{
    ptrdiff_t got;

    session->may_have_more = session->pieces == TLS_PIECES_MAX && !session->is_dry;
    if (session->pieces == TLS_PIECES_MAX || session->is_dry) return 0;
    session->pieces++;
    got = net_receive(session->fd, piece, TLS_PIECE);
    if (got < 0) session->ended = (int)got;
    session->is_dry = got < TLS_PIECE;
    return got > 0 ? (size_t)got : 0;
}

/* --- Resuming --- */

/* The node has given it on a connection that stands, so it takes the place of the one before. */
static void tls_keep_ticket(struct tls_ticket *ticket, struct tls_resumable *resumable,
                            uint64_t ends)
{
    if (ticket->resumable) tls_forget(ticket->resumable);
    ticket->resumable = resumable;
    ticket->ends = ends;
}

/* Nothing is resumed after the end of a certificate on which it rests, since the node has to show
 * its present one, nor with another host, for which no certificate was looked at. */
static void tls_offer_ticket(struct tls_session *session, struct tls_ticket *ticket,
                             const char *host)
{
    bool is_other = strcmp(ticket->host, host) != 0;
    bool is_good = !is_other && !ticket->is_refused && (uint64_t)time(NULL) < ticket->ends;

    if (!is_good) tls_keep_ticket(ticket, NULL, 0);
    if (is_other) {
        ticket->is_refused = false;
        (void)snprintf(ticket->host, sizeof ticket->host, "%s", host);
    }
    session->resumes = ticket->resumable && tls_resume(session->line, ticket->resumable);
}

/* --- Connecting --- */

/* A certificate says which name or which number it is for, without the dot at the end of a name and
 * the scope of a number. False: none can be for this host. (OpenSSL would take a name that begins
 * with a dot for all that end so.) */
static bool tls_read_host(struct tls_host *host, const char *text)
{
    size_t size = strcspn(text, "%");

    if (size == 0 || size > NET_HOST_MAX || text[0] == '.') return false;
    if (text[size - 1] == '.') size--;
    memcpy(host->name, text, size);
    host->name[size] = '\0';
    host->number_size = 0;
    if (inet_pton(AF_INET, host->name, host->number) == 1)
        host->number_size = sizeof(struct in_addr);
    else if (inet_pton(AF_INET6, host->name, host->number) == 1)
        host->number_size = sizeof(struct in6_addr);
    return true;
}

static void tls_drop(struct tls_session *session)
{
    tls_line_close(session->line);
    session->line = NULL;
    session->fd = -1;
}

static int tls_connect(void *context, unsigned k, const struct redlock_peer *peer, bool *connected)
{
    struct tls_session *session = tls_session(context, k);
    struct net_endpoint endpoint = { .size = (uint32_t)peer->endpoint_size };
    struct tls_host host;
    int fd;

    NET_CHECK(k < TLS_SESSIONS_MAX && peer->node < TLS_SERVERS_MAX &&
              peer->endpoint_size <= sizeof endpoint.words);
    if (session->line) return -TLS_ERROR_TAKEN;
    memcpy(endpoint.words, peer->endpoint, peer->endpoint_size);
    *session = (struct tls_session){ .node = peer->node, .fd = -1 };
    if (!tls_read_host(&host, peer->host))
        return tls_fail(session, "no certificate can be for such a host");
    session->line = tls_line_open(context, session, &host);
    if (!session->line) return -ENOMEM;
    tls_offer_ticket(session, tls_ticket(context, peer->node), host.name);
    session->fd = fd = net_connect(&endpoint, connected);
    *connected = false;
    if (fd < 0) tls_drop(session);
    return fd;
}

/* If it had offered to resume, that may be why it has failed. (RFC 8446 and 5246 have a server pass
 * over a ticket that it does not want, but OpenSSL breaks off where it asks for certificates and no
 * session_id_context is set.) The failure is therefore not for good, as refusals are. */
static int tls_finish_handshake(struct tls_session *session, struct tls_ticket *ticket)
{
    tls_begin_taking(session);
    (void)tls_flush(session);
    if (tls_shake_hands(session)) session->stands = session->may_have_more = true;
    /* The alert as well that says why it has failed. If it cannot be sent, reading tells. */
    (void)tls_flush(session);
    if (session->stands) return 0;
    if (session->ended == -REDLOCK_TRANSPORT_ERROR && session->resumes) {
        ticket->is_refused = true;
        return ECONNRESET;
    }
    if (session->ended == REDLOCK_TRANSPORT_END)
        (void)tls_fail(session, "it closed the connection during the handshake");
    return session->ended < 0 ? -session->ended : REDLOCK_TRANSPORT_PENDING;
}

static int tls_finish(void *context, unsigned k)
{
    struct tls_session *session = tls_session(context, k);

    if (session->stands) return 0;
    if (!session->has_socket) {
        int error = net_connect_result(session->fd);
        if (error != 0) return error;
        session->has_socket = true;
    }
    return tls_finish_handshake(session, tls_ticket(context, session->node));
}

/* --- Talking --- */

/* While the socket takes nothing, one record at most is taken. */
static ptrdiff_t tls_send(void *context, unsigned k, const void *data, size_t size)
{
    struct tls_session *session = tls_session(context, k);
    int error = tls_flush(session);
    size_t taken;

    if (error < 0 || tls_output_size(session) > 0) return error;
    taken = tls_write(session, data, size);
    if (taken == 0) return session->ended;
    (void)tls_flush(session);       /* The next call reports an error. */
    return (ptrdiff_t)taken;
}

static ptrdiff_t tls_receive(void *context, unsigned k, void *data, size_t size)
{
    struct tls_session *session = tls_session(context, k);
    size_t got = 0, taken = 1;

    tls_begin_taking(session);
    session->may_have_more = false;
    while (got < size && taken > 0 && session->ended == 0) {
        taken = tls_read(session, (uint8_t *)data + got, size - got);
        got += taken;
    }
    session->may_have_more |= got == size;
    /* Sends the answers that reading made necessary, and earlier bytes that could not be sent. */
    (void)tls_flush(session);
    if (session->ended == 0 && tls_output_size(session) > TLS_OUT_MAX)
        (void)tls_fail(session, "it asks for more and more, and takes nothing");
    return got > 0 ? (ptrdiff_t)got : session->ended;
}

static unsigned tls_events(void *context, unsigned k, unsigned wanted)
{
    const struct tls_session *session = tls_session(context, k);
    unsigned known = tls_output_size(session) > 0 ? REDLOCK_TRANSPORT_WRITE : 0u;

    if (!session->has_socket) return REDLOCK_TRANSPORT_WRITE;
    if (session->may_have_more || session->ended != 0) known |= REDLOCK_TRANSPORT_AT_HAND;
    return (session->stands ? wanted : (unsigned)REDLOCK_TRANSPORT_READ) | known;
}

/* --- Hanging up --- */

/* Sends what the socket accepts, unless an error or earlier data is pending. */
static void tls_say_goodbye(struct tls_session *session)
{
    if (!session->stands || session->ended != 0 || tls_flush(session) < 0 ||
        tls_output_size(session) > 0)
        return;
    tls_write_goodbye(session->line);
    (void)tls_flush(session);
}

static void tls_hang_up(void *context, unsigned k, bool silently)
{
    struct tls_session *session = tls_session(context, k);

    if (!silently) tls_say_goodbye(session);
    tls_drop(session);
}

static void tls_discard(void *context, unsigned k, int fd)
{
    (void)context;
    (void)k;
    net_close(fd);
}

static const struct redlock_transport TLS_TRANSPORT = {
    .has_addresses = true, .connect = tls_connect, .finish = tls_finish, .send = tls_send,
    .receive = tls_receive, .events = tls_events, .error_text = tls_error_text,
    .hang_up = tls_hang_up, .discard = tls_discard
};

const struct redlock_transport *redlock_tls_transport(void)
{
    return &TLS_TRANSPORT;
}

/* --- Certificates --- */

/* Seconds since 1970; 0 before that. Counts days since March 1st of the year 0, so that a leap day
 * is the last of its year. */
static uint64_t tls_seconds(int year, int month, int day, int hour, int minute, int second)
{
    int64_t years = year - (month <= 2),
            of_year = (153 * (month + (month <= 2 ? 9 : -3)) + 2) / 5 + day - 1;
    int64_t days = years * 365 + years / 4 - years / 100 + years / 400 + of_year - 719468;

    return days < 0
               ? 0
               : (uint64_t)(days * 86400 + hour * INT64_C(3600) + minute * INT64_C(60) + second);
}

uint64_t redlock_tls_certificate_ends(struct redlock_tls *tls, unsigned k)
{
    const struct tls_session *session = tls_session(tls, k);
    uint64_t ends = session->line && session->stands ? tls_first_end(session->line) : UINT64_MAX;

    return ends < UINT64_MAX ? ends : 0;
}

/* --- Opening --- */

static bool tls_is_directory(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The kind of a file, and its requirements. */
struct tls_use {
    const char *what, *must;
};
static const struct tls_use TLS_CA = {
    "the CA certificates in", "a file in PEM, or a directory that 'openssl rehash' has made ready"
};
static const struct tls_use TLS_CERT = {
    "the client certificate", "a file in PEM, in which the certificate comes first"
};
static const struct tls_use TLS_KEY = {
    "the key of the client certificate",
    "a file in PEM with the private key of this certificate, without a passphrase"
};

/* Always false. It reports a fault of a file; reason is the library's own text. */
static bool tls_blame(char *words, size_t size, const struct tls_use *use, const char *path,
                      const char *reason)
{
    (void)snprintf(words, size, "%s %s: %s; it must be %s", use->what, path, reason, use->must);
    return false;
}

/* Returns false, with a message, if there is nothing that a library could read. (One of them takes
 * a directory for a file without end.) */
static bool tls_can_read(char *words, size_t size, const struct tls_use *use, const char *path)
{
    if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0) {
        (void)snprintf(words, size, "%s %s: %s", use->what, path,
                       errno == ENOENT ? "no such file" : "this file may not be read");
        return false;
    }
    return use == &TLS_CA || !tls_is_directory(path) ||
           tls_blame(words, size, use, path, "it is a directory");
}

/* Returns false, with a message, if there is a key, and no certificate that it is for. */
static bool tls_may_lack_cert(const struct redlock_tls_options *options, char *words, size_t size)
{
    if (options->key)
        (void)snprintf(words, size, "the key %s is of no use without its certificate",
                       options->key);
    return !options->key;
}

#endif
