/* Tests the client over a transport that a test plays, on top of the scripted net. It checks the
 * contract of net/redlock_transport.h from the client's side. */
#include "../../../net/redlock_transport.h"
#include "scripted_client.h"

enum { SESSIONS = 2 * NET_NODES_MAX, HELD_MAX = 8192, ODD_ERROR = REDLOCK_TRANSPORT_ERROR + 7 };

/* The transport's state of one session. */
struct trunk_session {
    int fd;                         /* Between connect and hang_up; else -1. */
    int left[2];                    /* Between hang_up and discard; else -1. */
    unsigned connects, hang_ups, discards, silent;
    bool has_asked, stands;
    unsigned greeted;               /* Bytes of the far side's greeting. */
    uint8_t held[HELD_MAX];         /* Come, and not yet given to the client. */
    size_t held_first, held_end;
    char words[40];
};

static struct trunk {
    struct trunk_session sessions[SESSIONS];
    size_t send_max, receive_max;   /* Bytes per call; 0: any number. */
    unsigned receives;              /* Calls that were to give bytes. */
    /* Takes from the descriptor all that there is, as a TLS library does. */
    bool holds;
    bool greets;                    /* The connection stands when the far side has answered. */
    bool never_stands;
    bool says_nothing;              /* Has no words for errors. */
    bool interrupts;                /* A signal handler does, at each end of a connection. */
    int connect_error, finish_error, send_error, receive_error;
    unsigned peers;                 /* Bit k: a connection of session k has begun. */
    bool has_endpoint;              /* The endpoint of the last connection. */
    char host[NET_HOST_MAX + 1], address[NET_ADDRESS_TEXT_SIZE];
} trunk;

static int trunk_fails(struct trunk *t, unsigned k, int error, const char *what)
{
    (void)snprintf(t->sessions[k].words, sizeof t->sessions[k].words, "the line to %u does not %s",
                   k, what);
    return error;
}

static int trunk_connect(void *context, unsigned k, const struct redlock_peer *peer,
                         bool *connected)
{
    struct trunk *t = context;
    struct trunk_session *s = &t->sessions[k];
    struct net_endpoint endpoint = { .words = { peer->node, 1 }, .size = 24 };
    if (s->fd >= 0) net_break("session %u is connected twice", k);
    if (*connected) net_break("connected is true before anything is known");
    t->peers |= 1u << k;
    t->has_endpoint = peer->endpoint != NULL;
    (void)snprintf(t->host, sizeof t->host, "%s", peer->host);
    (void)snprintf(t->address, sizeof t->address, "%s", peer->address);
    if (t->connect_error) return -trunk_fails(t, k, t->connect_error, "open");
    if (peer->endpoint) memcpy(endpoint.words, peer->endpoint, peer->endpoint_size);
    s->held_first = s->held_end = s->greeted = 0;
    s->has_asked = s->stands = false;
    s->fd = net_connect(&endpoint, connected);
    if (t->greets || t->finish_error) *connected = false;
    if (s->fd >= 0) s->connects++;
    s->stands = *connected;
    return s->fd;
}

/* The greeting goes out when the descriptor is writable, and comes when it is readable. */
static int trunk_greet(struct trunk_session *s)
{
    static const char ask[] = "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n", answer[] = "+OK\r\n";
    ptrdiff_t got;
    if (!s->has_asked) s->has_asked = net_send(s->fd, ask, sizeof ask - 1) == sizeof ask - 1;
    while (s->greeted < sizeof answer - 1) {
        char byte;
        got = net_receive(s->fd, &byte, 1);
        if (got < 0) return EPIPE;
        if (got == 0) return REDLOCK_TRANSPORT_PENDING;
        if (byte != answer[s->greeted++]) return EPROTO;
    }
    return 0;
}

static int trunk_finish(void *context, unsigned k)
{
    struct trunk *t = context;
    struct trunk_session *s = &t->sessions[k];
    int error = net_connect_result(s->fd);
    if (s->stands) net_break("session %u is finished twice", k);
    if (error == 0 && t->finish_error) return trunk_fails(t, k, t->finish_error, "stand");
    if (error == 0 && t->greets) error = trunk_greet(s);
    if (error == 0 && t->never_stands) return REDLOCK_TRANSPORT_PENDING;
    s->stands = error == 0;
    return error;
}

static ptrdiff_t trunk_send(void *context, unsigned k, const void *data, size_t size)
{
    struct trunk *t = context;
    if (!t->sessions[k].stands) net_break("session %u sends before it stands", k);
    if (t->send_error) return -trunk_fails(t, k, t->send_error, "take bytes");
    if (t->send_max > 0 && size > t->send_max) size = t->send_max;
    return net_send(t->sessions[k].fd, data, size);
}

/* All that the descriptor has. */
static ptrdiff_t trunk_fill(struct trunk_session *s)
{
    ptrdiff_t got = 1;
    while (got > 0 && s->held_end < HELD_MAX) {
        got = net_receive(s->fd, s->held + s->held_end, HELD_MAX - s->held_end);
        if (got > 0) s->held_end += (size_t)got;
    }
    return got;
}

static ptrdiff_t trunk_receive(void *context, unsigned k, void *data, size_t size)
{
    struct trunk *t = context;
    struct trunk_session *s = &t->sessions[k];
    ptrdiff_t got = 0;
    t->receives++;
    if (!s->stands) net_break("session %u receives before it stands", k);
    if (t->receive_error) return -trunk_fails(t, k, t->receive_error, "give bytes");
    if (t->receive_max > 0 && size > t->receive_max) size = t->receive_max;
    if (!t->holds) return net_receive(s->fd, data, size);
    if (s->held_first == s->held_end) {
        s->held_first = s->held_end = 0;
        got = trunk_fill(s);
    }
    if (s->held_first == s->held_end) return got;
    if (size > s->held_end - s->held_first) size = s->held_end - s->held_first;
    memcpy(data, s->held + s->held_first, size);
    net_moves();
    s->held_first += size;
    return (ptrdiff_t)size;
}

/* During a handshake the session waits for the answer to its question. */
static unsigned trunk_events(void *context, unsigned k, unsigned wanted)
{
    const struct trunk_session *s = &((struct trunk *)context)->sessions[k];
    if (wanted == 0) net_break("session %u is asked though it wants nothing", k);
    if (!s->stands && wanted != REDLOCK_TRANSPORT_WRITE)
        net_break("session %u wants %u before it stands", k, wanted);
    if (s->held_first < s->held_end) return wanted | REDLOCK_TRANSPORT_AT_HAND;
    return !s->stands && s->has_asked ? REDLOCK_TRANSPORT_READ : wanted;
}

static const char *trunk_text(void *context, unsigned k, int error)
{
    struct trunk *t = context;
    return t->says_nothing || error < REDLOCK_TRANSPORT_ERROR ? NULL : t->sessions[k].words;
}

static void trunk_hang_up(void *context, unsigned k, bool silently)
{
    struct trunk_session *s = &((struct trunk *)context)->sessions[k];
    if (s->fd < 0) net_break("session %u is hung up without a connection", k);
    if (s->left[1] >= 0) net_break("session %u has left more than two descriptors", k);
    s->left[s->left[0] >= 0] = s->fd;
    s->fd = -1;
    s->stands = false;
    s->hang_ups++;
    s->silent += silently;
    if (((struct trunk *)context)->interrupts) redlock_interrupt(&client);
}

static void trunk_discard(void *context, unsigned k, int fd)
{
    struct trunk_session *s = &((struct trunk *)context)->sessions[k];
    if (fd != s->left[0] && fd != s->left[1]) net_break("session %u never left %d", k, fd);
    s->left[fd != s->left[0]] = -1;
    s->discards++;
    net_close(fd);
}

static struct redlock_transport table;

/* A world whose client goes by the trunk. Nobody looks at its trace, since the client does not send
 * the bytes that move. */
static void use_trunk(void)
{
    table = (struct redlock_transport){
        .has_addresses = true, .connect = trunk_connect, .finish = trunk_finish, .send = trunk_send,
        .receive = trunk_receive, .events = trunk_events, .error_text = trunk_text,
        .hang_up = trunk_hang_up, .discard = trunk_discard
    };
    trunk = (struct trunk){ .peers = 0 };
    for (unsigned k = 0; k < SESSIONS; k++) {
        struct trunk_session *s = &trunk.sessions[k];
        s->fd = s->left[0] = s->left[1] = -1;
    }
    options.trace = NULL;
    net.has_trace = false;
    options.transport = &table;
    options.transport_context = &trunk;
}

static bool all_are_hung_up(void)
{
    bool are = true;
    for (unsigned k = 0; k < SESSIONS; k++) {
        const struct trunk_session *s = &trunk.sessions[k];
        are = are && s->hang_ups == s->connects && s->discards == s->connects && s->fd < 0 &&
              s->left[0] < 0 && s->left[1] < 0;
    }
    return are;
}

static const char *words_of(unsigned k)
{
    static char words[REDLOCK_ERROR_MAX];
    redlock_describe_node(&client.engine, k, net.now_us, words, sizeof words);
    return words;
}

#define TRUNK(nodes) WORLD(nodes) use_trunk()
#define END CLOSE(1000); CHECK(all_are_hung_up())

/* Acquires both locks, releases them, and has the world as it was. */
static void use_locks(void)
{
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(ACQUIRE(&gate, 0), REDLOCK_OK);
    CHECK(is_quorum(held_on(&door, "door")) && is_quorum(held_on(&gate, "gate")));
    CHECK_INT(redlock_extend(&client, &door, 20000), REDLOCK_OK);
    CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
    CHECK_INT(redlock_release(&client, &gate, NULL), REDLOCK_OK);
    (void)redlock_run_for(&client, NULL, 10);
    CHECK_INT(keys(), 0);
}

/* ---- Bytes ---- */

TEST(a_lock_is_carried_by_the_transport_that_the_options_name)
{
    TRUNK(3);
    OPEN;
    use_locks();
    CHECK_INT(trunk.peers, 7);
    CHECK_INT(trunk.sessions[0].connects, 1);
    CHECK(trunk.has_endpoint);
    CHECK_STR(trunk.host, "n2");
    CHECK_STR(trunk.address, "n2:6379");
    END;
}

TEST(a_transport_may_take_and_give_single_bytes)
{
    TRUNK(3);
    trunk.send_max = trunk.receive_max = 1;
    OPEN;
    use_locks();
    END;
}

/* Less than was asked for, and the descriptor is silent. */
TEST(bytes_that_the_transport_holds_are_taken_without_waiting)
{
    for (unsigned waits = 0; waits < 2; waits++) {
        TRUNK(3);
        trunk.holds = true;
        trunk.receive_max = 1;
        OPEN;
        if (waits == 0) use_locks();
        if (waits == 1) CHECK_INT(redlock_connect(&client, 60000), REDLOCK_OK);
        END;
    }
}

/* The loop that poll() would make sleep. */
TEST(a_loop_does_not_sleep_over_bytes_that_the_transport_holds)
{
    for (unsigned steps_ready = 0; steps_ready < 2; steps_ready++) {
        struct loop loop = { .steps_ready = steps_ready != 0 };
        const struct redlock_request request = {
            .resource = "door", .resource_size = 4, .ttl_ms = 10000
        };
        TRUNK(3);
        trunk.holds = true;
        trunk.receive_max = 1;
        OPEN;
        CHECK_INT(redlock_start_acquire(&client.engine, &door, &request, net.now_us), REDLOCK_OK);
        loop_until(&loop, &door, net.now_us + 1000000);
        CHECK_INT(redlock_lock_status(&door), REDLOCK_OK);
        CHECK(redlock_valid_us(&door, net.now_us) > 9800000);
        END;
    }
}

TEST(a_reply_longer_than_a_step_takes_is_read_from_what_the_transport_holds)
{
    static char reply[HELD_MAX];
    static const struct redlock_name words[] = {
        { .bytes = "GET", .size = 3 }, { .bytes = "long", .size = 4 }
    };
    struct redlock_question question = { 0 };
    TRUNK(3);
    trunk.holds = true;
    trunk.receive_max = 3;
    OPEN;
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    CHECK_INT(redlock_ask_node(&client, &question, 0, words, 2, reply, sizeof reply), REDLOCK_OK);
    END;
}

/* A transport that gives less than was asked for has given all, unless it says otherwise. */
TEST(a_step_asks_for_bytes_as_often_as_there_may_be_more_but_for_no_more_than_16_times)
{
    static const struct { bool holds; size_t receive_max, size; unsigned expected; } cases[] = {
        { false, 0, 39000, 16 }, { false, 3, 39000, 1 }, { false, 0, 600, 2 },
        { true, 0, 39000, 16 }, { true, 3, 39000, 16 }
    };
    static char reply[HELD_MAX], flood[40000] = "$39000\r\n";
    static const struct redlock_name words[] = {
        { .bytes = "GET", .size = 3 }, { .bytes = "long", .size = 4 }
    };
    for (volatile unsigned i = 0; i < 5; i++) {
        struct redlock_question question = { 0 };
        TRUNK(3);
        TAP_CONTEXT("case %u", i);
        trunk.holds = cases[i].holds;
        OPEN;
        CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
        model_node_plan(&net.hosts[2].node, (struct model_answer){
            .command = "GET", .bytes = flood, .size = cases[i].size, .times = 1 });
        CHECK_INT(redlock_ask(&client.engine, &question, 2, words, 2, reply, sizeof reply,
                              net.now_us), REDLOCK_OK);
        CHECK_INT(redlock_step(&client), REDLOCK_OK);
        net_pass(10 * MS);
        trunk.receive_max = cases[i].receive_max;
        trunk.receives = 0;
        CHECK_INT(redlock_step_ready(&client, 1u << 2), REDLOCK_OK);
        CHECK_INT(trunk.receives, cases[i].expected);
        if (i == 4) CHECK_INT(redlock_poll_ms(&client), 0);
        END;
    }
}

/* ---- Handshakes ---- */

TEST(a_handshake_may_read_before_the_connection_stands)
{
    TRUNK(3);
    trunk.greets = true;
    options.engine.wake_ups = true;
    OPEN;
    const uint64_t began = net.now_us;
    CHECK_INT(redlock_connect(&client, 60000), REDLOCK_OK);
    CHECK(taken_ms(began) <= 2);
    use_locks();
    END;
}

TEST(a_handshake_that_never_ends_is_hung_up_with_the_nodes_timeout)
{
    TRUNK(3);
    trunk.greets = true;
    trunk.never_stands = true;
    OPEN;
    for (unsigned k = 0; k < 3; k++) node_hang(k);
    const uint64_t began = net.now_us;
    CHECK_INT(redlock_connect(&client, 60000), REDLOCK_NO_QUORUM);
    CHECK(taken_ms(began) <= NODE_TIMEOUT);
    CHECK_INT(trunk.sessions[0].hang_ups, 1);
    END;
}

/* ---- Errors ---- */

TEST(a_transport_that_refuses_says_why_and_is_not_hung_up)
{
    TRUNK(3);
    trunk.connect_error = ODD_ERROR;
    OPEN;
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_NO_QUORUM);
    CHECK_STR(words_of(1), "the line to 1 does not open");
    CHECK_INT(trunk.sessions[1].hang_ups, 0);
    END;
}

TEST(a_handshake_that_fails_says_why_and_is_hung_up_once)
{
    TRUNK(3);
    trunk.finish_error = ODD_ERROR;
    OPEN;
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_NO_QUORUM);
    CHECK_STR(words_of(2), "the line to 2 does not stand");
    CHECK_INT(trunk.sessions[2].hang_ups, 1);
    END;
}

TEST(the_next_address_is_tried_when_a_handshake_fails)
{
    TRUNK(1);
    trunk.finish_error = ODD_ERROR;
    net.hosts[0].endpoint_count = 1;
    OPEN;
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_NO_QUORUM);
    trunk.finish_error = 0;
    CHECK_INT(ACQUIRE(&door, 5000), REDLOCK_OK);
    END;
}

TEST(a_connection_that_fails_later_says_why_and_is_hung_up_once)
{
    for (unsigned sends = 0; sends < 2; sends++) {
        TRUNK(3);
        options.interruptible = false;
        OPEN;
        CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
        CHECK_INT(redlock_fd(&client, 0), 0);
        *(sends ? &trunk.send_error : &trunk.receive_error) = ODD_ERROR;
        CHECK_INT(ACQUIRE(&door, 0), REDLOCK_NO_QUORUM);
        CHECK_STR(words_of(0), sends ? "the line to 0 does not take bytes"
                                     : "the line to 0 does not give bytes");
        CHECK_STR(words_of(2), sends ? "the line to 2 does not take bytes"
                                     : "the line to 2 does not give bytes");
        CHECK(trunk.sessions[0].hang_ups >= 1);
        END;
    }
}

TEST(an_error_without_words_of_the_transport_has_those_of_the_system)
{
    for (volatile unsigned i = 0; i < 3; i++) {
        TRUNK(3);
        trunk.connect_error = i == 0 ? ODD_ERROR : ECONNREFUSED;
        trunk.says_nothing = i == 0;
        if (i == 2) table.error_text = NULL;
        OPEN;
        CHECK_INT(ACQUIRE(&door, 0), REDLOCK_NO_QUORUM);
        CHECK_STR(words_of(0), i == 0 ? "system error" : "connection refused");
        END;
    }
}

/* ---- The end ---- */

/* An interrupt that comes too late is nobody's. */
TEST(a_client_that_is_being_closed_is_not_interrupted)
{
    TRUNK(3);
    OPEN;
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    trunk.interrupts = true;
    END;
    CHECK(!net.was_written);
}

/* The first node may be without the transport of the others. */
static void use_trunk_for_the_rest(void)
{
    options.transport = NULL;
    options.secure_transport = &table;
    options.secure_context = &trunk;
}

/* In one step, since another address of the node is at hand. */
TEST(connections_that_are_lost_as_soon_as_they_stand_are_hung_up_and_discarded)
{
    TRUNK(3);
    for (unsigned k = 0; k < 3; k++) net.hosts[k].endpoint_count = 2;
    all_welcome(NET_AT_ONCE);
    net.breaks = 1000;
    use_trunk_for_the_rest();
    CHECK_INT(redlock_open(&client, "n0,rediss://n1,rediss://n2", &options, NULL), REDLOCK_OK);
    CHECK_INT(redlock_run_for(&client, NULL, 20000), REDLOCK_OK);
    CHECK(trunk.sessions[1].connects > 5);
    END;
}

TEST(each_connection_is_hung_up_and_discarded_once_whatever_happens)
{
    for (unsigned seed = 1; seed <= 60; seed++) {
        TRUNK(3);
        const bool is_mixed = seed % 7 < 3;
        TAP_CONTEXT("seed %u", seed);
        net.dice = seed;
        net.breaks = 20;
        net.again = 100;
        trunk.greets = seed % 2;
        trunk.holds = seed % 3 == 0;
        trunk.receive_max = seed % 5;
        options.engine.wake_ups = seed % 4 == 0;
        options.interruptible = seed % 2;
        if (seed % 3 == 1) all_welcome(NET_AT_ONCE);
        if (is_mixed) use_trunk_for_the_rest();
        redlock_lock_init(&door);
        CHECK_INT(redlock_open(&client, is_mixed ? "n0,rediss://n1,rediss://n2" : "n0,n1,n2",
                               &options, NULL), REDLOCK_OK);
        for (unsigned i = 0; i < 10; i++) {
            if (ACQUIRE(&door, 100) == REDLOCK_OK) (void)redlock_release(&client, &door, NULL);
            if (i % 3 == 0) node_cut(i % 3);
            (void)redlock_run_for(&client, NULL, 100);
        }
        END;
    }
}

/* The connection is the parent's. */
TEST(a_child_of_fork_hangs_up_silently)
{
    TRUNK(3);
    OPEN;
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    net.process++;
    redlock_close(&client, 1000);
    for (unsigned k = 0; k < 3; k++) CHECK_INT(trunk.sessions[k].silent, 1);
    CHECK(all_are_hung_up());
    CHECK_STR(net.breach, "");
}

TEST(only_a_child_hangs_up_silently)
{
    TRUNK(3);
    OPEN;
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    node_cut(0);
    (void)redlock_run_for(&client, NULL, 100);
    END;
    for (unsigned k = 0; k < 3; k++) CHECK_INT(trunk.sessions[k].silent, 0);
}

/* ---- Which nodes ---- */

TEST(a_transport_without_addresses_has_no_name_looked_up)
{
    TRUNK(3);
    for (unsigned k = 0; k < 3; k++) net.hosts[k].is_name = true;
    table.has_addresses = false;
    OPEN;
    use_locks();
    CHECK_INT(net.hosts[0].lookups + net.hosts[1].lookups + net.hosts[2].lookups, 0);
    CHECK(!trunk.has_endpoint);
    CHECK_STR(trunk.host, "n2");
    END;
}

TEST(a_transport_with_addresses_has_names_looked_up)
{
    TRUNK(3);
    for (unsigned k = 0; k < 3; k++) net.hosts[k].is_name = true;
    OPEN;
    use_locks();
    CHECK_INT(net.hosts[0].lookups, 1);
    CHECK(trunk.has_endpoint);
    END;
}

TEST(secure_addresses_have_a_transport_of_their_own)
{
    WORLD(3);
    use_trunk();
    use_trunk_for_the_rest();
    trunk.holds = true;
    trunk.receive_max = 1;
    CHECK_INT(redlock_open(&client, "n0,rediss://n1,valkeys://n2:7000", &options, NULL),
              REDLOCK_OK);
    use_locks();
    trunk.receive_error = ODD_ERROR;
    CHECK(ACQUIRE(&door, 0) != REDLOCK_PENDING);
    CHECK_STR(words_of(1), "the line to 1 does not give bytes");
    CHECK_INT(trunk.peers, 6);
    CHECK_STR(redlock_node_address(&client, 1), "n1:6379");
    CHECK_STR(trunk.address, "n2:7000");
    END;
}

TEST(a_secure_address_without_such_a_transport_is_refused_and_never_plain)
{
    struct redlock_mistake mistake;
    WORLD(3);
    use_trunk();
    CHECK_INT(redlock_open(&client, "n0,n1,rediss://ann:hush@n2", &options, &mistake),
              REDLOCK_BAD_ADDRESS);
    CHECK_INT(mistake.node, 2);
    CHECK_INT(mistake.at, 6);
    CHECK(strstr(mistake.text, "make TLS=openssl") != NULL && strstr(mistake.text, "hush") == NULL);
    CHECK(strlen(mistake.text) < sizeof mistake.text - 1);
    CHECK_INT(trunk.peers, 0);
    CHECK_INT(net.opened, 0);
}

TAP_MAIN
