/* redlock_tls: TLS for the nodes at rediss://, valkeys:// and sentinels:// addresses, a transport
 * (redlock_transport.h) for redlock_open:
 *
 *     struct redlock_tls_options how = { .ca = "/etc/redis/ca.crt" };
 *     char words[REDLOCK_TLS_WORDS];
 *     struct redlock_tls *tls = redlock_tls_open(&how, words, sizeof words);
 *
 *     if (!tls) ...                                       (words says why)
 *     redlock_options_init(&options);
 *     options.secure_transport = redlock_tls_transport();
 *     options.secure_context = tls;
 *     ... redlock_open(&client, "rediss://host1,rediss://host2,rediss://host3", &options, NULL) ...
 *     redlock_close(&client, 500); redlock_tls_close(tls);
 *
 * It is in libraries that were made by "make TLS=openssl" or "make TLS=mbedtls", and in no other.
 * Each has one file, net_openssl.c or net_mbedtls.c, with this header.
 *
 * Checks   The certificate of the node must be signed by a CA that is trusted here, be valid at
 *          this time, and be for the host as the list of nodes has it. The host is a name (sent to
 *          the node as SNI, too) or a number, which must be among the names or the IP addresses of
 *          its subjectAltName; its common name is not looked at. TLS 1.2 or newer. Nothing falls
 *          back to plain text, and nothing can be switched off.
 * Resuming A connection that is made again to the same host resumes the TLS session before, if the
 *          node agrees. This needs no signatures, and a half to a quarter of the time. The
 *          certificate is the one that was checked then; when one has ended on which it rests, the
 *          node has to show its present one. No command is sent before the handshake has ended (no
 *          "early data").
 * Memory   The TLS library allocates a few tens of KB for each connection, by malloc. The rest of
 *          redlock still does not.
 * Threads  One redlock_tls belongs to one client, and to the thread that calls it. A second client
 *          that is given it connects to no node, and is told so. Different ones share nothing but
 *          the CAs of `ca_of`, which are only read.
 * Blocking No call waits for the network. redlock_tls_open reads files. The handshake is part of
 * connecting (node_timeout_ms).
 * Errors   redlock_describe_node() and the trace report the fault of a node, in words that begin
 *          with "TLS: ".
 * fork()   A child may close its copy of the client (redlock_close, which sends nothing there) and
 *          then redlock_tls_close. It cannot use it, and opens another one for a client of its own.
 * Process  SIGPIPE is never raised. The error queue of OpenSSL, which each thread has, is empty
 *          after each call. */
#ifndef REDLOCK_TLS_H
#define REDLOCK_TLS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Enough for the words of redlock_tls_open, except for the longest paths. */
enum { REDLOCK_TLS_WORDS = 512 };

struct redlock_transport;
struct redlock_tls;

/* Files are PEM, and are read by redlock_tls_open, once, so a certificate that is renewed later is
 * seen by the next one. Nothing is kept of these texts. */
struct redlock_tls_options {
    /* Certificates of the CAs that are trusted, as a file, or as a directory that "openssl rehash"
     * made (Mbed TLS reads all files in it). NULL: the system's. */
    const char *ca;
    /* Our own certificate, followed by those between it and its CA, for nodes that
     * ask. NULL: none. */
    const char *cert;
    /* Its key, without a passphrase. NULL: in the file `cert`. Without a certificate
     * there is none. */
    const char *key;

    /* Another redlock_tls, whose CAs are trusted here, too, without being read again (the system's
     * take tens of milliseconds). It is for programs with several clients, also in several threads.
     * `ca` is not looked at then. The other is closed after this one.
     * NULL: none. */
    struct redlock_tls *ca_of;
};

/* options NULL: all NULL. Returns an object that the caller owes a redlock_tls_close; or NULL with
 * the reason (the file and its fault) in words[0..size), cut to that size, which is at least 1. */
struct redlock_tls *redlock_tls_open(const struct redlock_tls_options *options, char *words,
                                     size_t size);

/* When the client is closed. NULL: nothing. */
void redlock_tls_close(struct redlock_tls *tls);

/* The transport for struct redlock_options, with the result of redlock_tls_open as its context. */
const struct redlock_transport *redlock_tls_transport(void);

/* The end of node k's certificate, by which its connection was made, or the first end among those
 * which the node sent along, in seconds since 1970. 0: no connection to it stands. It was checked
 * when the connection was made, so it may have ended since, and then no other connection
 * can be made. */
uint64_t redlock_tls_certificate_ends(struct redlock_tls *tls, unsigned k);

/* The library that it is made of, and its version as it runs, such as "OpenSSL 3.0.17 1
 * Jul 2025". Static. */
const char *redlock_tls_library(void);

#ifdef __cplusplus
}
#endif
#endif
