/* What an ACL must allow, by the kind of lock and by what else is asked of it. Says nothing. */
#ifndef RIGHTS_H
#define RIGHTS_H

struct settings;

/* Each right, as ACL SETUSER takes it, behind the letters of the parts that need it: l every lock,
 * k one whose key has a token, v a vote, t a ticket, w wake-ups, y and z both of a permit, whose
 * keys all begin alike, n a permit, s shared, f fair, j Redisson's, o once per period, e
 * leadership. "@" stands for RESOURCE. */
#define RIGHTS \
    "l~@ n~@:* t~@#ticket w~@#waiters* sw~@#writer s~@#readers f~@#queue f~@#lease f~@#grant " \
    "o~@#done e~@#leader " \
    "j~redisson_lock* wzj&redlock:* j&redisson_lock__channel* v+info l+eval l+evalsha " \
    "l+script|load " \
    "l+client|setname l+pttl l+pexpire l+set k+get l+getrange k+del tysfjo+time wzsf+zadd " \
    "wzsf+zrem wz+zpopmin " \
    "wzj+publish wzj+subscribe j+unsubscribe sfj+zscore sf+zrevrange s+zremrangebyscore s+zcard " \
    "s+pexpireat " \
    "f+zrange f+zrank f+zrangebyscore j+hset j+hdel j+hexists j+type j+lrange "

#define RIGHTS_PART(letter) (1u << ((letter) - 'a'))

/* The parts that these settings ask for. */
unsigned rights_parts(const struct settings *settings);

/* The parts that need a right: "+set". 0: none does. */
unsigned rights_of(const char *right);

/* Writes each right that some of the parts need and none of the others, with a blank before it.
 * Returns the end: its NUL. */
char *rights_list(char *to, unsigned parts, unsigned others);

/* "allow it: ACL SETUSER <user> ...", and which options would do without some of that. Static. */
const char *rights_advice(unsigned parts);

#endif
