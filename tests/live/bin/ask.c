/* ask FOLDER 'PORT...' WORD...: sends the words as a command to the server on each port, one after
 * the other.
 *
 * Prints a line for each answer, as redis-cli does without a terminal: a status, an error or a
 * number without its type, the first line of a string, nothing for null; of an array "*N". A server
 * that speaks TLS is asked through its unix socket, FOLDER/PORT. The exit status is 1 if a server
 * could not be reached. (Scripts ask thousands of times, and perl takes five times as
 * long to start.) */
#define _XOPEN_SOURCE 700

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { CONNECT_S = 5 };     /* SIGALRM ends this program when that takes longer. */

/* Its socket, or -1. */
static int connect_to(const char *folder, uint16_t port)
{
    struct sockaddr_un local = { .sun_family = AF_UNIX };
    struct sockaddr_in internet = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
    };
    int size = snprintf(local.sun_path, sizeof local.sun_path, "%s/%u", folder, (unsigned)port);
    int is_local =
        size > 0 && (size_t)size < sizeof local.sun_path && access(local.sun_path, F_OK) == 0;
    const struct sockaddr *address =
        is_local ? (const struct sockaddr *)&local : (const struct sockaddr *)&internet;
    int fd = socket(address->sa_family, SOCK_STREAM, 0);

    alarm(CONNECT_S);
    if (fd >= 0 &&
        connect(fd, address, is_local ? (socklen_t)sizeof local : (socklen_t)sizeof internet) < 0) {
        close(fd);
        fd = -1;
    }
    alarm(0);
    return fd;
}

/* The bytes of the command; NULL without memory. */
static char *encode(int count, char **words, size_t *size)
{
    char *bytes = NULL;
    FILE *stream = open_memstream(&bytes, size);

    if (!stream) return NULL;
    fprintf(stream, "*%d\r\n", count);
    for (int i = 0; i < count; i++) fprintf(stream, "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
    return fclose(stream) == 0 ? bytes : NULL;
}

static int send_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent < 0) return 0;
        bytes += sent;
        size -= (size_t)sent;
    }
    return 1;
}

static void print_line(const char *line, size_t size)
{
    while (size > 0 && (line[size - 1] == '\n' || line[size - 1] == '\r')) size--;
    fwrite(line, 1, size, stdout);
    putchar('\n');
}

/* A connection that ends without an answer, as after SHUTDOWN, prints as null does. */
static void print_answer(FILE *server)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size = getline(&line, &room, server);

    if (size > 1 && line[0] == '$' && isdigit((unsigned char)line[1])) {
        size = getline(&line, &room, server);
        print_line(line, size < 0 ? 0 : (size_t)size);
    } else if (size < 1 || line[0] == '$') {
        putchar('\n');
    } else {
        int is_typed = strchr("+:-", line[0]) != NULL;
        print_line(line + is_typed, (size_t)(size - is_typed));
    }
    free(line);
}

/* Prints the answer of the server there; 0 if there is none. */
static int ask(const char *folder, uint16_t port, const char *bytes, size_t size)
{
    int fd = connect_to(folder, port);
    FILE *server = fd >= 0 && send_all(fd, bytes, size) ? fdopen(fd, "r") : NULL;

    if (!server) {
        fprintf(stderr, "no server on port %u\n", (unsigned)port);
        if (fd >= 0) close(fd);
        return 0;
    }
    print_answer(server);
    fclose(server);
    return 1;
}

int main(int argc, char **argv)
{
    size_t size = 0;
    char *bytes = argc > 3 ? encode(argc - 3, argv + 3, &size) : NULL;
    int status = 0;

    if (!bytes) {
        fprintf(stderr, "usage: ask FOLDER 'PORT...' WORD...\n");
        return 2;
    }
    for (char *port = strtok(argv[2], " "); port; port = strtok(NULL, " "))
        if (!ask(argv[1], (uint16_t)strtoul(port, NULL, 10), bytes, size)) status = 1;
    free(bytes);
    return status;
}
