// A guard in C++11: the lock is released where the guard goes out of scope, however that is left.
//
//     c++ -std=c++11 guard.cc -o guard $(pkg-config --cflags --libs redlock) -pthread
//     ./guard host1,host2,host3 numbers.txt
//
// Shows: redlocks::acquire, guards that are returned and moved, the question "is it held still?" before each step, a guard that a
// function enters again which was called by one that has the lock, and a set of two resources. Nothing here throws, but what does
// may pass through: guards release on the way.
//
// To change: the names of the locks, TTL and WAIT, and what is done under them.
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>

#include "redlock.hpp"

namespace {

constexpr uint32_t TTL = 10000, WAIT = 5000;        // Milliseconds.

// A client is large and must stay where it is; its end sees to it that slow nodes hear of the releases.
class Client {
public:
    explicit Client(const char *nodes)
    {
        redlock_mistake mistake;
        const redlock_status status = redlock_open(&client_, nodes, nullptr, &mistake);
        const char *const words = mistake.text[0] ? mistake.text : "NODES is a list such as host1,host2:7000";
        if (status != REDLOCK_OK) throw std::runtime_error(std::string(redlock_status_text(status)) + ": " + words);
    }
    ~Client() { redlock_close(&client_, 1000); }
    Client(const Client &) = delete;
    Client &operator=(const Client &) = delete;
    redlock_client &get() noexcept { return client_; }

private:
    redlock_client client_{};
};

// A lock with its name. It stays where it is, while its guards move.
struct Door {
    Door() noexcept { redlock_reentrant_init(&home); }
    redlock_reentrant home;
};

// The guard is moved out. A caller that ignores it gives the lock back at once.
redlocks::reentrant_guard open_door(Client &client, Door &door)
{
    return redlocks::enter(client.get(), door.home, redlocks::request("numbers", TTL, WAIT));
}

long last_number(const std::string &file)
{
    std::ifstream in(file);
    long number = 0;
    for (long next; in >> next;) number = next;
    return number;
}

// Called by those that have the lock, and by those that have not: no node is asked if we are inside already.
long append_number(Client &client, Door &door, const std::string &file)
{
    const auto held = open_door(client, door);
    if (!held) throw std::runtime_error(redlock_status_text(held.status()));
    const long number = last_number(file) + 1;
    std::ofstream out(file, std::ios::app);
    if (!(out << number << '\n')) throw std::runtime_error("cannot write " + file);
    return number;
}

void append_three(Client &client, Door &door, const std::string &file)
{
    const auto held = open_door(client, door);
    for (int i = 0; i < 3; i++) {
        if (!held) throw std::runtime_error(redlock_status_text(held.status()));     // By the clock: it may have been lost.
        std::printf("appended %ld, %u ms left\n", append_number(client, door, file), static_cast<unsigned>(held.valid_ms()));
    }
}

// Two resources, all or nothing, whoever names them in which order.
redlock_status lock_both(Client &client)
{
    redlock_name both[2] = { { "numbers", 7, false }, { "letters", 7, false } };
    redlock_request request;
    redlock_lock lock;
    redlock_request_init(&request);
    request.set = both;
    request.set_count = 2;
    request.ttl_ms = TTL;
    request.wait_ms = WAIT;
    redlock_lock_init(&lock);
    return redlocks::acquire(client.get(), lock, request).status();      // Released here: nobody has kept the guard.
}

}

int main(int argc, char **argv)
{
    if (argc != 3) return std::fprintf(stderr, "usage: guard NODES FILE\n"), 2;
    try {
        static Client client(argv[1]);
        Door door;
        append_three(client, door, argv[2]);
        std::printf("both: %s\n", redlock_status_text(lock_both(client)));
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "guard: %s\n", error.what());
        return 1;
    }
}
