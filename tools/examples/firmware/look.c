/* Looks at the servers' keys, for the run of firmware.c.
 *
 *     look held|gone TOKEN PORT...
 *
 * held: the key "door" has this token on a quorum of the servers; gone: a quorum answers and
 * has it not.
 * The exit status is 0 if it is so, in two seconds at the latest; else 1, and lines say
 * what is there. */
#define _DEFAULT_SOURCE

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

enum { TRIES = 20, PAUSE_US = 100000, ANSWER_MAX = 128 };

/* Writes the answer to GET door, or "" when there is none. */
static void ask(const char *port, char answer[ANSWER_MAX])
{
    const struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
    };
    const struct timeval patience = { .tv_sec = 2 };
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    ssize_t size = -1;

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (const struct sockaddr *)&at, sizeof at) == 0 &&
        write(fd, "GET door\r\n", 10) == 10)
        size = read(fd, answer, ANSWER_MAX - 1);
    answer[size > 0 ? size : 0] = '\0';
    close(fd);
}

/* On how many servers it is so. */
static int count(bool is_held, const char *token, char **ports, bool talks)
{
    char answer[ANSWER_MAX], held[ANSWER_MAX];
    int so = 0;

    snprintf(held, sizeof held, "$%zu\r\n%s\r\n", strlen(token), token);
    for (; *ports; ports++) {
        ask(*ports, answer);
        so += is_held ? strcmp(answer, held) == 0 : answer[0] != '\0' && strcmp(answer, held) != 0;
        if (talks) printf("look: %s says %s\n", *ports, answer);
    }
    return so;
}

int main(int argc, char **argv)
{
    if (argc < 4) return 2;
    const bool is_held = strcmp(argv[1], "held") == 0;

    for (int left = TRIES; left > 0; left--) {
        if (count(is_held, argv[2], argv + 3, false) > (argc - 3) / 2) return 0;
        usleep(PAUSE_US);
    }
    printf("look: %s %s:\n", argv[1], argv[2]);
    (void)count(is_held, argv[2], argv + 3, true);
    return 1;
}
