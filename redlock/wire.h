/* The wire: every command that redlock sends and every answer that it understands, byte for byte. The only file that knows
 * both RESP and locks.
 *
 * Handshake, pipelined, on each new connection (left out where not needed: AUTH, SELECT):
 *     AUTH [user] password            +OK
 *     SELECT database                 +OK
 *     CLIENT SETNAME redlock          +OK                 or an error, ignored
 *     INFO                            $run_id, uptime_in_seconds, redis_mode, second_repl_offset
 *     ROLE                            *"master" ...
 *     SCRIPT LOAD release-script      $its SHA-1          or -NOPERM, ignored: EVAL will do
 *     SCRIPT LOAD extend-script       $its SHA-1          both left out by an engine that sends scripts by text
 *
 * A subscription (see below) says AUTH and CLIENT SETNAME, and then
 *     SUBSCRIBE redlock:name-of-the-engine    *"subscribe" ...
 *
 * Acquire one resource without a ticket:
 *     SET resource token NX PX ttl    +OK granted         $-1 refused
 *     PTTL resource                   :ms                 behind a refusal: when will it be free? -1: no TTL, -2: it is
 * Acquire with a ticket, or several resources, by a script, all or nothing:
 *     EVALSHA acquire n resource... token ttl ticket life skew
 *                                     +OK granted         $"counter ms" refused: the largest ticket there, and the PTTL
 *                                                         -AHEAD: the ticket is too far ahead of the node's clock
 * Set it again, as its holder, where a node has lost one of the keys:
 *     SET                             as to acquire
 *     EVALSHA restore n resource... token ttl ticket life skew
 *                                     +OK all are ours    $taken: one is another's, and nothing is changed    -AHEAD as above
 * Extend, release:
 *     EVALSHA extend n resource... token ttl      :1 granted  :0 refused, not all of the keys are ours
 *     EVALSHA release n resource... token [entry] :1 granted, :2 and a waiter was woken, if an entry or "" was given
 *                                                 :0 refused, no key there   :-1 refused, another's
 *     EVAL in place of EVALSHA when the answer was -NOSCRIPT, or always where no script was loaded
 * Wait:
 *     EVALSHA wait n resource... entry arrived life       :ms     as PTTL of what is free last
 * Permits (S20): see below. slot 0: any.
 *     EVALSHA acquire 1 resource token ttl ticket life skew permits slot entry
 *                                     :slot granted  $"counter ms" refused: the largest ticket of those that are free, and
 *                                                    how long until one is; -AHEAD
 *     EVALSHA restore 1 resource token ttl ticket life skew permits slot      as of a lock
 *     EVALSHA extend 1 resource token ttl permits slot        :1, :0 as above
 *     EVALSHA release 1 resource token entry permits slot     :1, :2, :0 as above; entry "": none; slot: wakes when it goes
 *     EVALSHA wait 1 resource entry arrived life permits      :ms     as PTTL of the slot that is free first
 * Inspect:
 *     GETRANGE resource 0 40          $value              41 bytes: longer than a token
 *     PTTL resource
 *
 * Where the engine has a holder's name, each token above is "token name": nodes compare the whole (redlock_use_holder).
 *
 * Tickets (S15). A ticket is a number below 2^53, so that Lua compares it exactly; its text is what is stored. The client
 * proposes the same one to all nodes: the larger of its wall clock in microseconds and one more than the largest that it
 * has seen. A node grants it when all resources are free and it is larger than the counter of each, "resource#ticket",
 * which becomes the ticket, for a life of its own that is much longer than the lock's. Release and extend leave counters
 * alone. A client that is refused learns the largest counter and proposes more in its next attempt: at once, if nothing else is in
 * the way and there is time to wait left.
 *   Two quorums have a node in common; it granted both tickets, so the later is larger: whoever begins to acquire after
 * another has acquired gets more. (Who began before that may get less, and come back later: then the resource refuses it.)
 * No clock is needed for that as long as the node does not forget.
 *   A node that restarts empty has forgotten. It gives no ticket for the guard (no attempt from before is valid then) and
 * twice the largest difference of two wall clocks: after that every honest clock has passed every ticket that was given
 * before, since a node refuses one that is further than that difference ahead of its own clock, whoever's clock is wrong.
 * The same holds when a counter's life is over. What is lost unseen (FLUSHALL, eviction, a step of a wall clock that is
 * larger than the difference) may make a ticket that is not larger.
 *   The holder sets its key again where a node has lost it, behind an extension that a quorum has confirmed. That is no grant of
 * a ticket and no vote, so the ticket need not be larger than the counter; but the counter must not become smaller, and becomes the
 * ticket where it is smaller. For the later of two holders has more because it was granted its ticket, in an acquire, by a node
 * that had granted the earlier one: while counters only grow, it makes no difference what sets keys. A larger counter at a node
 * that has lost the key was there before us, or is that of a candidate that the others have refused, since our quorum stands. If
 * the command comes so late that another client has acquired and released meanwhile, it leaves that one's counter, and a key that
 * keeps others out until its TTL is over or its release comes (S5). It adds nothing to what the holder believes, since an
 * extension counts only within the old validity (S9).
 *   The counter's name begins with the resource's, since ACLs allow keys by what they begin with; where the resource has a
 * hash tag both have it. A plain lock and one with a ticket exclude each other: both are the same key with a token.
 *
 * Waiters. A client that waits keeps a second connection to each node, its subscription, for a channel of its own.
 * It puts an entry, "name-of-the-engine:number", into the sorted set "resource#waiters", ordered by when it arrived. A release
 * takes the first entry out and tells its channel the number; where nobody listens any more it takes the next. So one waiter
 * is woken by a release, not all. What is heard is never a grant: it only makes the next attempt begin earlier.
 *
 * Permits (S20). Of a resource with k permits, "resource:1" to "resource:k" are slots, each a plain lock, so that at most k have
 * one, and whoever locks "resource:3" otherwise takes a permit. A node grants the first slot that is free, in an order that the
 * token makes, so that it is the same on all nodes. With the grant its entry among the waiters goes, if it has one, or while it
 * holds a release of another's would wake it in vain. A client with a quorum of one slot holds that. Nodes that have granted it
 * another give that up, and get the one that is held, by a restore at once: or they would take for free what is held. Never by a
 * release: S27, by a token that is held none is sent, for one that is executed late would delete the slot that an extension has
 * set again meanwhile. What comes too late for a restore waits for the next extension, or for the end of the lock. To count on each
 * node how many have one would be unsound: three clients, each with another two of three nodes, are three holders where each node
 * has seen two. Those who wait have one entry for all slots, in "resource:#waiters", so that clients that know of no permits never
 * hear of slots; a release tells "number@slot".
 *
 * Shared locks (S21: a reader is never beside a writer). The resource's key has the text "~shared", which is no token, so that
 * everybody else's SET NX is refused by it. Beside it "resource#readers" is a sorted set of the readers' tokens, each with the time
 * at which it ends, in milliseconds by the node's clock: a reader's whole claim is that the key stays until then, and a writer's
 * SET is refused as long as it does. So the key lives as long as the longest of them, and no reader shortens the time of another.
 * A writer is a plain lock.
 *     EVALSHA acquire n resource... token ttl ticket life skew modes arrived     as the acquire script; modes: s or x for each
 *                                                                                resource
 *     EVALSHA extend n resource... token ttl modes                               :1 granted  :0 refused
 *     EVALSHA extend 1 resource token ttl x|s other ticket life skew             the same, and another role: :-1 others read,
 *                                                                                :-2 the ticket is too small
 *     EVALSHA release n resource... token [entry [other]]                        as the release script
 *     EVALSHA wait n resource... entry arrived life modes                        as the wait script
 *   S22: a lock changes its role without a gap. Only a reader that is alone on a quorum becomes a writer, and otherwise stays a
 * reader. It has a new token then (S6), as a writer that becomes a reader has, and the command names the other one as well: so an
 * extension heals whatever an earlier message, lost or late, has left in the other role, and a release removes both.
 *   A reader's entry among the waiters ends in "s". A release wakes all readers up to the next writer; one that is let in does so
 * as well, since older clients take one entry out. "resource#writer", "arrived entry", is the writer that waits next: readers that
 * came later are refused until it has had its turn, or has been silent for 20 s. It is a hint, and no vote.
 *   A reader's ticket is the largest counter that it has seen. A node whose counter is larger refuses and tells it, and one whose
 * counter is smaller takes it over: so it is no smaller than that of any writer before, and every later writer, whose quorum has a
 * node in common with the reader's, gets more.
 *   A set in which some are shared and some are not has one ticket: each node compares it with the counter of each resource as
 * that of a reader or of a writer of it, and it becomes the counter of all. For each resource it is as if that were locked alone.
 *
 * Fair locks. A client that waits has a turn, and a node grants the key to the first of its queue alone. "resource#queue" is a
 * sorted set of members "token:entry", by their turns, "resource#lease" the same with the time at which each member's place ends,
 * in milliseconds by the node's clock.
 *     EVALSHA acquire 1 resource token ttl ticket life skew place      the poll; place: "turn round renew entry"
 *                                     +OK granted    $"counter ms turn rank" refused: the largest ticket there; how long until it
 *                                                    may be worth while to ask again, at most; the largest turn in the queue; how
 *                                                    many are before it, -1: it is not queued, -2: an old poll;    -AHEAD
 *     EVALSHA restore 1 resource token ttl ticket life skew            as of a lock
 *     EVALSHA extend 1 resource token ttl                              :1, :0 as above
 *     EVALSHA release 1 resource token entry [1]                       :1, :0, :-1 as above; its place in the queue goes as well.
 *                                                                      With the 1: :2 and a waiter was woken
 *   The first poll, with turn 0, is the doorway: it is granted if the key is free and nobody is queued. Else a quorum of refusals
 * tells the turn, which is larger by one than the largest of theirs, and stays the same from then on. S25: nobody whose first poll
 * began after a waiter was queued on a quorum gets in before it, since one of the nodes that told the turn had that waiter in its
 * queue, and so has one of those that would have to grant. Turns that are equal are ordered by the tokens.
 *   A node that has granted the key to a client takes it back by that client's next poll if another is the first by then: or of
 * three clients each might have one node for ever. No grant that counts is lost by that: each round forgets those of the last. But
 * a poll may be executed late, after a later one that was granted and counted. So "resource#grant" is the round in which the key
 * was granted, and S24: a poll of an older round than that changes nothing. What extends the key, or sets it again, is of no round:
 * from then on all polls are old.
 *   A place is taken, and renewed, only by a client whose last round was answered by a quorum: one that reaches a minority would
 * hold up all others. A client that dies at the head of the queue holds them up for its lease. A poll that comes late, after the
 * release, makes a ghost: in the queue for the time of a lease, or in the key until its TTL is over.
 *
 * Locks of Redisson's kind (S26). The resource's key is a hash with one field, "uuid:number" of the attempt's token, whose count is
 * 1; a Java holder's has its own UUID, the number of its thread and how often that has entered. Whatever key is there refuses.
 *     EVALSHA acquire 1 resource field ttl            +OK granted  $"0 ms" refused: how long until it is free
 *     EVALSHA extend 1 resource field ttl             :1 granted   :0 refused, not ours
 *     EVALSHA release 1 resource field                :1 granted, :2 and somebody listened   :0 no key there   :-1 another's
 * The release tells "0" to the channel "redisson_lock__channel:{resource}" (if the resource has a brace itself, without those), on
 * which Java threads wait and we do; and to that of the first in a fair lock's queue. On several nodes it would be unsound: for a
 * lock over several nodes Java looks at no clock, and it keeps no guard behind a restart.
 *
 * Periods (S18). A holder that marks a period does so by a question of no lock, EVAL, since it is rare:
 *     EVAL mark 1 resource token mark life skew   :1 taken (life 0: would be)  :0 our lock is not there
 *                                                 $mark refused: there is another's of this period, or one of a later
 *                                                 -AHEAD, -BEHIND: the mark's clock differs from the node's by more than skew
 * A mark, "resource#done", is "period marker when who": when the period begins, by the marker's wall clock; the first 16 digits of
 * its token; when it asked; both in milliseconds since 1970; and words for people. mark.c says why that is enough.
 *
 * Every other answer is no grant (S3). An error is a vote of its own meaning; an answer of another type ends the
 * connection (S16). Keys and values are the plain ones of every Redlock library, so that they exclude each other. */
#ifndef REDLOCK_WIRE_H
#define REDLOCK_WIRE_H

#include "private.h"
#include "redlock.h"
#include "../resp/resp.h"

enum wire_command {
    WIRE_NONE,
    WIRE_AUTH, WIRE_SELECT, WIRE_SETNAME, WIRE_INFO, WIRE_ROLE, WIRE_LOAD_RELEASE, WIRE_LOAD_EXTEND, WIRE_SUBSCRIBE,
    WIRE_CANARY,            /* Of a durable node: see durable.c. */
    WIRE_READY,             /* No command: the end of the handshake. */
    WIRE_ACQUIRE,
    WIRE_RESTORE,           /* By the holder of the lock, where a node has lost it. */
    WIRE_EXTEND, WIRE_RELEASE, WIRE_WAIT, WIRE_PTTL, WIRE_GETRANGE,
    WIRE_QUESTION           /* Of no lock: whatever the caller asks. */
};

/* S15: larger than every counter, not equal: a ticket is given once. 4294967295: what fits is written without an exponent. */
#define WIRE_ACQUIRE_SCRIPT                                             \
    "local c,t,m,p=redis.call,tonumber(ARGV[3]),'0',-2 "                                                \
    "for _,k in ipairs(KEYS) do "                                                                       \
    "local v=math.min(c('pttl',k),4294967295) if p~=-1 and (v==-1 or v>p) then p=v end "                \
    "local x=t>0 and c('get',k..'#ticket') if x and tonumber(x)>tonumber(m) then m=x end "              \
    "end "                                                                                              \
    "if p~=-2 or t>0 and t<=tonumber(m) then return m..' '..p end "                                     \
    "local w=c('time') "                                                                                \
    "if t>w[1]*1e6+w[2]+ARGV[5]*1e3 then return {err='AHEAD of the clock of this node: '..w[1]} end "   \
    "for _,k in ipairs(KEYS) do "                                                                       \
    "if t>0 then c('set',k..'#ticket',ARGV[3],'px',ARGV[4]) end "                                       \
    "c('set',k,ARGV[1],'px',ARGV[2]) "                                                                  \
    "end "                                                                                              \
    "return {ok='OK'}"
#define WIRE_ACQUIRE_SHA1 "9aae8ee2ecfb3d7ac272f186836eb30de2fc1901"

/* What is ours already is only lengthened (S7). A counter that is made larger obeys the node's clock, as in an acquire. */
#define WIRE_RESTORE_SCRIPT                                             \
    "local c,t,r=redis.call,tonumber(ARGV[3]),{} "                                                      \
    "for _,k in ipairs(KEYS) do "                                                                       \
    "local v,q=c('get',k),k..'#ticket' "                                                                \
    "if v and v~=ARGV[1] then return 'taken' end "                                                      \
    "if t>0 and t>tonumber(c('get',q) or 0) then r[#r+1]=q end "                                        \
    "end "                                                                                              \
    "local w=r[1] and c('time') "                                                                       \
    "if w and t>w[1]*1e6+w[2]+ARGV[5]*1e3 then return {err='AHEAD of the clock of this node: '..w[1]} end "     \
    "for _,q in ipairs(r) do c('set',q,ARGV[3],'px',ARGV[4]) end "                                      \
    "for _,k in ipairs(KEYS) do "                                                                       \
    "local p=c('pttl',k) "                                                                              \
    "if p~=-1 and p<tonumber(ARGV[2]) then c('set',k,ARGV[1],'px',ARGV[2]) end "                        \
    "end "                                                                                              \
    "return {ok='OK'}"
#define WIRE_RESTORE_SHA1 "9459b6f4fe76f4380c440cc0cecf1c3ec78a2422"

/* Only the keys that are ours go (S7), and only then is somebody woken. Where nobody waits no flag goes with the key, and
 * nothing else is looked for: that is what most releases cost. A flag stands again behind each entry that was taken out, for
 * those that may be left. What an ACL refuses of the waiters' business is let be, and an entry that it keeps from being
 * published goes back, unless the set may be given no life: it would stay for ever. What it refuses of the key's, or a key of
 * another type, is told when all keys have been seen to. */
#define WIRE_RELEASE_SCRIPT                                             \
    "local c,p,n,w,e=redis.pcall,ARGV[2],1,0 "                                                          \
    "for i=1,#KEYS do "                                                                                 \
    "local k=KEYS[i] "                                                                                  \
    "local v,f=c('get',k),k..'#waiters#waiters' "                                                       \
    "if p and p~='' then c('zrem',k..'#waiters',p) end "                                                \
    "if v==ARGV[1] then "                                                                               \
    "local d=c('del',k,p and f or k) "                                                                  \
    "if type(d)=='table' then d=c('del',k) if type(d)=='table' then e=d elseif p then d=2 end end "      \
    "if d==2 then "                                                                                     \
    "local q=k..'#waiters' "                                                                            \
    "local m=c('zpopmin',q) "                                                                           \
    "while m[1] do "                                                                                    \
    "local h=c('publish','redlock:'..m[1]:sub(1,16),m[1]:sub(18)) "                                     \
    "if h~=0 then "                                                                                     \
    "if type(h)~='table' then w=1 "                                                                     \
    "elseif type(c('pexpire',q,60000))~='table' then c('zadd',q,m[2],m[1]) c('pexpire',q,60000) end "   \
    "c('set',f,'','px',60000) break "                                                                   \
    "end "                                                                                              \
    "m=c('zpopmin',q) "                                                                                 \
    "end "                                                                                              \
    "end "                                                                                              \
    "elseif type(v)=='table' then e=v elseif v then n=-1 elseif n>0 then n=0 end "                      \
    "end "                                                                                              \
    "return e or n>0 and n+w or n"
#define WIRE_RELEASE_SHA1 "b2f37c413e69f8021ece9393e96a731702efc7b5"

/* The same for one resource, without the waiters' business: what firmware needs. */
#define WIRE_RELEASE_ONE_SCRIPT                                         \
    "local v=redis.call('get',KEYS[1]) "                                                                \
    "if v==ARGV[1] then return redis.call('del',KEYS[1]) end "                                          \
    "return v and -1 or 0"
#define WIRE_RELEASE_ONE_SHA1 "42d2860ed2467036b548ac930461d308bbbcebea"

/* S7: it never shortens, or a short extension that reaches a minority would take from the holder what it was promised. */
#define WIRE_EXTEND_SCRIPT                                              \
    "local c=redis.call "                                                                               \
    "for _,k in ipairs(KEYS) do if c('get',k)~=ARGV[1] then return 0 end end "                          \
    "for _,k in ipairs(KEYS) do "                                                                       \
    "local p=c('pttl',k) "                                                                              \
    "if p>=0 and p<tonumber(ARGV[2]) then c('pexpire',k,ARGV[2]) end "                                  \
    "end "                                                                                              \
    "return 1"
#define WIRE_EXTEND_SHA1 "83e13c0a01039ba3e3edd3dbdc1b5d5649050f1e"

#define WIRE_EXTEND_ONE_SCRIPT                                          \
    "local c,k=redis.call,KEYS[1] "                                                                     \
    "if c('get',k)~=ARGV[1] then return 0 end "                                                         \
    "local p=c('pttl',k) "                                                                              \
    "if p>=0 and p<tonumber(ARGV[2]) then c('pexpire',k,ARGV[2]) end "                                  \
    "return 1"
#define WIRE_EXTEND_ONE_SHA1 "b23328c4e97b99c926354be9709aa6718b638504"

/* Must fail loudly if it cannot enqueue (ACL, memory): a client that believes it is queued polls ever more rarely. The life comes
 * before the entry as well: where an ACL refuses that, the entry would stay for ever. */
#define WIRE_WAIT_SCRIPT                                                \
    "local a,c,p,x,w=ARGV,redis.call,-2,'pexpire','#waiters' "                                          \
    "for _,k in ipairs(KEYS) do "                                                                       \
    "local v,q=c('pttl',k),k..w "                                                                       \
    "c('set',q..w,'','px',a[3]) "                                                                       \
    "c(x,q,a[3]) c('zadd',q,a[2],a[1]) c(x,q,a[3]) "                                                    \
    "p=p~=-1 and(v==-1 or v>p)and v or p "                                                              \
    "end "                                                                                              \
    "return p"
#define WIRE_WAIT_SHA1 "b78cc8977d0fb460d024c338d6ab67ae475a41e1"

/* S18: a mark is taken from the holder alone, or all hosts that begin in the same second would burn the period on minorities. That
 * there is another's mark is told where our lock is not as well. A mark lives no shorter than the one it replaces: that of a minute
 * would make the node forget that the day is marked, too. */
#define WIRE_MARK_SCRIPT                                                \
    "local c,k,f=redis.call,KEYS[1]..'#done','^(%d+) (%x+) (%d+)' "                                 \
    "local t,m,w=ARGV[2]:match(f) "                                                                 \
    "local d=c('get',k) "                                                                           \
    "if d then "                                                                                    \
    "local u,o=d:match(f) "                                                                         \
    "if not u then return {err='ERR '..k..' is no mark of a period'} end "                          \
    "if u+0>t+0 or u+0==t+0 and o~=m then return d end "                                            \
    "end "                                                                                          \
    "if c('get',KEYS[1])~=ARGV[1] then return 0 end "                                               \
    "local n=c('time') "                                                                            \
    "local a=w-n[1]*1e3-n[2]/1e3 "                                                                  \
    "if a>ARGV[4]+0 then return {err='AHEAD of the clock of this node: '..n[1]} end "               \
    "if -a>ARGV[4]+0 then return {err='BEHIND the clock of this node: '..n[1]} end "                \
    "if ARGV[3]~='0' then c('set',k,ARGV[2],'px',math.max(ARGV[3],c('pttl',k))) end "               \
    "return 1"

/* Permits (S20). The first slot that is free, and whose counter is smaller than the ticket, in the order that the token shuffles:
 * the same one on each node. S3: only the number of a slot is a grant. Behind a grant nothing may raise an error. */
#define WIRE_PERMIT_ACQUIRE_SCRIPT                                      \
    "local a,c,m,p,s=ARGV,redis.call,'0',-1,{} "                                                        \
    "local t,n,o,x=a[3]+0,a[6]+0,a[7]+0,tonumber(a[1]:sub(1,8),16) "                                    \
    "for i=1,n do s[i]=i end "                                                                          \
    "if o>0 then s,n={o},1 end "                                                                        \
    "for i=n,1,-1 do "                                                                                  \
    "x=x*16807%2147483647 "                                                                             \
    "local j=x%i+1 "                                                                                    \
    "local g=s[j] "                                                                                     \
    "s[j]=s[i] "                                                                                        \
    "local k=KEYS[1]..':'..g "                                                                          \
    "local v=math.min(c('pttl',k),4294967295) "                                                         \
    "if v==-2 then "                                                                                    \
    "p=v "                                                                                              \
    "local d=t>0 and c('get',k..'#ticket') or '0' "                                                     \
    "if t==0 or t>tonumber(d) then "                                                                    \
    "local w=t>0 and c('time') "                                                                        \
    "if w and t>w[1]*1e6+w[2]+a[5]*1e3 then return {err='AHEAD of the clock of this node: '..w[1]} end " \
    "if w then c('set',k..'#ticket',a[3],'px',a[4]) end "                                               \
    "c('set',k,a[1],'px',a[2]) "                                                                        \
    "if a[8]~='' then redis.pcall('zrem',KEYS[1]..':#waiters',a[8]) end "                               \
    "return g "                                                                                         \
    "end "                                                                                              \
    "if tonumber(d)>tonumber(m) then m=d end "                                                          \
    "elseif v>=0 and p~=-2 and (p<0 or v<p) then p=v end "                                              \
    "end "                                                                                              \
    "return m..' '..p"
#define WIRE_PERMIT_ACQUIRE_SHA1 "f44e45d97c2846a9728196a8d10a45ab68d9ef8f"

/* As the restore script, of the slot that is held; and any other that the node has granted is given up. */
#define WIRE_PERMIT_RESTORE_SCRIPT                                      \
    "local a,c,b=ARGV,redis.call,KEYS[1]..':' "                                                         \
    "local k=b..a[7] "                                                                                  \
    "for i=1,a[6] do if i~=a[7]+0 and redis.pcall('get',b..i)==a[1] then c('del',b..i) end end "        \
    "local t,v,q=a[3]+0,c('get',k),k..'#ticket' "                                                       \
    "if v and v~=a[1] then return 'taken' end "                                                         \
    "if t>0 and t>tonumber(c('get',q) or 0) then "                                                      \
    "local w=c('time') "                                                                                \
    "if t>w[1]*1e6+w[2]+a[5]*1e3 then return {err='AHEAD of the clock of this node: '..w[1]} end "      \
    "c('set',q,a[3],'px',a[4]) "                                                                        \
    "end "                                                                                              \
    "local p=c('pttl',k) "                                                                              \
    "if p~=-1 and p<a[2]+0 then c('set',k,a[1],'px',a[2]) end "                                         \
    "return {ok='OK'}"
#define WIRE_PERMIT_RESTORE_SHA1 "af41fc050deaca1c667708eec35ec0aad697a22d"

/* S7 */
#define WIRE_PERMIT_EXTEND_SCRIPT                                       \
    "local a,c=ARGV,redis.call "                                                                        \
    "local k=KEYS[1]..':'..a[4] "                                                                       \
    "if c('get',k)~=a[1] then return 0 end "                                                            \
    "local p=c('pttl',k) "                                                                              \
    "if p>=0 and p<a[2]+0 then c('pexpire',k,a[2]) end "                                                \
    "return 1"
#define WIRE_PERMIT_EXTEND_SHA1 "f0af7a789f067b3449000b24ff1d910f32bd39ff"

/* S4: our token may be on any of the slots. A waiter is woken by the slot that was held alone, and is told which: one that was
 * granted beside it is none that a quorum has. A slot that is no string is another's. */
#define WIRE_PERMIT_RELEASE_SCRIPT                                      \
    "local a,c,b,n,w,e=ARGV,redis.pcall,KEYS[1]..':',0,0 "                                              \
    "local q=b..'#waiters' "                                                                            \
    "local f=q..'#waiters' "                                                                            \
    "if a[2]~='' then c('zrem',q,a[2]) end "                                                            \
    "for i=1,a[3] do "                                                                                  \
    "local k=b..i "                                                                                     \
    "local v=c('get',k) "                                                                               \
    "if v==a[1] then "                                                                                  \
    "local h=i==a[4]+0 "                                                                                \
    "local d=c('del',k,h and f or k) "                                                                  \
    "if type(d)=='table' then redis.call('del',k) d=h and 2 end "                                       \
    "n=1 "                                                                                              \
    "local m=d==2 and c('zpopmin',q) or {} "                                                            \
    "while m[1] do "                                                                                    \
    "local u=c('publish','redlock:'..m[1]:sub(1,16),m[1]:sub(18)..'@'..i) "                             \
    "if u~=0 then "                                                                                     \
    "if type(u)~='table' then w=1 "                                                                     \
    "elseif type(c('pexpire',q,60000))~='table' then c('zadd',q,m[2],m[1]) c('pexpire',q,60000) end "   \
    "c('set',f,'','px',60000) break "                                                                   \
    "end "                                                                                              \
    "m=c('zpopmin',q) "                                                                                 \
    "end "                                                                                              \
    "elseif type(v)=='table' then e=v end "                                                             \
    "end "                                                                                              \
    "return n>0 and n+w or e or 0"
#define WIRE_PERMIT_RELEASE_SHA1 "6a1be8c08a9b27b8ab5a764fd2a2e16de5ffa67a"

/* One entry for all slots. -2: one of them is free. */
#define WIRE_PERMIT_WAIT_SCRIPT                                         \
    "local a,c,b,p,x=ARGV,redis.call,KEYS[1]..':',-1,'pexpire' "                                        \
    "for i=1,a[4] do "                                                                                  \
    "local v=c('pttl',b..i) "                                                                           \
    "p=p~=-2 and(v==-2 or v>=0 and(p<0 or v<p))and v or p "                                             \
    "end "                                                                                              \
    "local q=b..'#waiters' "                                                                            \
    "c('set',q..'#waiters','','px',a[3]) "                                                              \
    "c(x,q,a[3]) c('zadd',q,a[2],a[1]) c(x,q,a[3]) "                                                    \
    "return p"
#define WIRE_PERMIT_WAIT_SHA1 "1abafcd97d11c05b01c3f9e24320c597bb4cba2e"

/* Shared locks: what wire.h says of them above is done by these. All writes that an ACL may refuse come in an order, and behind a
 * call of the same command that changes nothing, such that a script which is stopped halfway leaves nothing without a TTL.
 *
 * Takes places of a key out of the queue and tells them: with w the first, whoever it is, since the key is free now; and readers as
 * long as they come first. A writer that is next, or has just been told, is named as the one that waits. It needs no
 * right to any of it. Where nobody waits any longer the flag goes as well. */
#define WIRE_LUA_WAKE                                                   \
    "local function wake(k,w) "                                                                               \
    "local p,q,n=redis.pcall,k..'#waiters',0 "                                                                \
    "if w then p('del',k..'#writer') end "                                                                    \
    "while true do "                                                                                          \
    "local m=p('zpopmin',q) "                                                                                 \
    "local x=m[1] "                                                                                           \
    "if not x then if not m.err then p('del',q..'#waiters') end return n end "                                \
    "local s=x:sub(-1)=='s' "                                                                                 \
    "local h=(s or w and n==0) and p('publish','redlock:'..x:sub(1,16),x:sub(18)) "                           \
    "if not h or type(h)=='table' then "                                                                      \
    "if type(p('pexpire',q,60000))~='table' then p('zadd',q,m[2],x) p('pexpire',q,60000) end "                \
    "if n>0 and not s then p('set',k..'#writer',m[2]..' '..x,'px',20000) end "                                 \
    "return n "                                                                                               \
    "end "                                                                                                    \
    "if h>0 then "                                                                                            \
    "n=n+1 "                                                                                                  \
    "if not s then p('set',k..'#writer',m[2]..' '..x,'px',1000) return n end "                                \
    "end "                                                                                                    \
    "end "                                                                                                    \
    "end "

/* S21: makes a reader, with the time at which it ends; the key lives as long as the longest of them, or it would cut off others. */
#define WIRE_LUA_READ                                                   \
    "local function read(k,r,e) "                                                                             \
    "local m=math.max(e,tonumber(c('zrevrange',r,0,0,'withscores')[2] or 0)) "                                \
    "c('pexpireat',r,m) c('zadd',r,e,a[1]) c('pexpireat',r,m) "                                               \
    "c('set',k,'~shared') c('pexpireat',k,m) "                                                                \
    "end "

/* A reader is let in beside others unless a writer waits that came before it; without the key nobody is a reader any longer. S15: a
 * ticket is larger than the counter of what is written, and no smaller than that of what is read. */
#define WIRE_SHARED_ACQUIRE_SCRIPT                                      \
    "local a,c,o,p,d=ARGV,redis.call,'0' "                                                                    \
    "local t=c('time') local now=t[1]*1000+math.floor(t[2]/1000) "                                            \
    WIRE_LUA_WAKE                                                                                             \
    WIRE_LUA_READ                                                                                             \
    "local T=tonumber(a[3]) "                                                                                 \
    "for i,k in ipairs(KEYS) do "                                                                             \
    "local v,b=c('get',k),k "                                                                                 \
    "if a[6]:sub(i,i)=='s' and (not v or v=='~shared') then "                                                 \
    "local w=a[7]~='0' and c('get',k..'#writer') "                                                            \
    "b=w and tonumber(w:match('^%d+') or a[7])<tonumber(a[7]) and k..'#writer' "                              \
    "elseif not v then b=nil end "                                                                            \
    "if b then "                                                                                              \
    "v=math.min(c('pttl',b),4294967295) "                                                                     \
    "if p~=-1 and (v==-1 or not p or v>p) then p=v end "                                                      \
    "end "                                                                                                    \
    "local x=T>0 and c('get',k..'#ticket') "                                                                  \
    "if x and tonumber(x)>tonumber(o) then o=x end "                                                          \
    "if x and T<tonumber(x)+(a[6]:sub(i,i)=='s' and 0 or 1) then d=x end "                                    \
    "end "                                                                                                    \
    "if p or d then return o..' '..(p or -2) end "                                                            \
    "if T>t[1]*1e6+t[2]+a[5]*1e3 then return {err='AHEAD of the clock of this node: '..t[1]} end "            \
    "for i,k in ipairs(KEYS) do "                                                                             \
    "if T>0 then c('set',k..'#ticket',a[3],'px',a[4]) end "                                                   \
    "if a[6]:sub(i,i)=='s' then "                                                                             \
    "local r=k..'#readers' "                                                                                  \
    "if c('get',k) then c('zremrangebyscore',r,'-inf',now) else c('del',r) end "                              \
    "read(k,r,math.max(now+a[2],tonumber(c('zscore',r,a[1]) or 0))) "                                         \
    "wake(k) "                                                                                                \
    "else c('set',k,a[1],'px',a[2]) end "                                                                     \
    "end "                                                                                                    \
    "return {ok='OK'}"
#define WIRE_SHARED_ACQUIRE_SHA1 "a5c87b44a7a005c394ef9a84c8f53a0930fc80f1"

/* It never shortens (S7). With the digits of another token it also changes roles (S22): a reader that is alone becomes a writer
 * (-1: others read; -2: the ticket is too small), a writer a reader, and one that is that already is extended. */
#define WIRE_SHARED_EXTEND_SCRIPT                                       \
    "local a,c=ARGV,redis.call "                                                                              \
    "local t=c('time') local now=t[1]*1000+math.floor(t[2]/1000) "                                            \
    WIRE_LUA_WAKE                                                                                             \
    WIRE_LUA_READ                                                                                             \
    "local o,T=a[4] and a[4]..a[1]:sub(41),tonumber(a[5] or 0) "                                              \
    "for i,k in ipairs(KEYS) do "                                                                             \
    "local v,r,s=c('get',k),k..'#readers',a[3]:sub(i,i)=='s' "                                                \
    "if s and v=='~shared' then "                                                                             \
    "if tonumber(c('zscore',r,a[1]) or 0)<=now then return 0 end "                                            \
    "elseif o and not s and v=='~shared' then "                                                               \
    "c('zremrangebyscore',r,'-inf',now) "                                                                     \
    "if not c('zscore',r,o) then return 0 end "                                                               \
    "if c('zcard',r)>1 then return -1 end "                                                                   \
    "local x=T>0 and c('get',k..'#ticket') "                                                                  \
    "if x and T<=tonumber(x) then return -2 end "                                                             \
    "if T>t[1]*1e6+t[2]+a[7]*1e3 then return {err='AHEAD of the clock of this node: '..t[1]} end "            \
    "elseif v~=(s and (o or '') or a[1]) then return 0 end "                                                  \
    "end "                                                                                                    \
    "for i,k in ipairs(KEYS) do "                                                                             \
    "local r,s,w,p=k..'#readers',a[3]:sub(i,i)=='s',c('get',k)=='~shared',c('pttl',k) "                       \
    "local e=now+a[2] "                                                                                       \
    "if s then "                                                                                              \
    "if not w then c('del',r) end "                                                                           \
    "read(k,r,math.max(e,tonumber(w and c('zscore',r,a[1]) or now+p))) "                                      \
    "if not w then wake(k) end "                                                                              \
    "elseif w then "                                                                                          \
    "e=math.max(e,tonumber(c('zscore',r,o))) "                                                                \
    "if T>0 then c('set',k..'#ticket',a[5],'px',a[6]) end "                                                   \
    "c('pexpireat',k,e) c('set',k,a[1]) c('pexpireat',k,e) c('del',r) "                                       \
    "elseif p>=0 and p<tonumber(a[2]) then c('pexpire',k,a[2]) end "                                          \
    "end "                                                                                                    \
    "return 1"
#define WIRE_SHARED_EXTEND_SHA1 "c11e58683bfadf60c4af8473fa77ac6c8bd8e82e"

/* Of either role, by one token or two; the place "-" is none, and nobody is woken. S21: what is left of others decides how long the
 * key lives. */
#define WIRE_SHARED_RELEASE_SCRIPT                                      \
    "local a,c,p,n,w,e=ARGV,redis.call,redis.pcall,1,0 "                                                      \
    "local y=a[2]~='-' and a[2] "                                                                             \
    WIRE_LUA_WAKE                                                                                             \
    "for _,k in ipairs(KEYS) do "                                                                             \
    "local v,r,f=p('get',k),k..'#readers' "                                                                   \
    "if y and y~='' then "                                                                                    \
    "p('zrem',k..'#waiters',y,y..'s') "                                                                       \
    "local i=p('get',k..'#writer') "                                                                          \
    "if type(i)=='string' and i:match(' (.*)')==y then p('del',k..'#writer') end "                            \
    "end "                                                                                                    \
    "local o=a[3] and a[3]..a[1]:sub(41) or a[1] "                                                            \
    "if v==a[1] or v==o then f=p('del',k) if type(f)=='table' then e,f=f end "                                \
    "elseif v=='~shared' then "                                                                               \
    "if c('zrem',r,a[1],o)>0 then "                                                                           \
    "local t=c('time') "                                                                                      \
    "c('zremrangebyscore',r,'-inf',t[1]*1000+math.floor(t[2]/1000)) "                                         \
    "local m=c('zrevrange',r,0,0,'withscores')[2] "                                                           \
    "if m then c('pexpireat',k,m) c('pexpireat',r,m) else f=c('del',k,r) end "                                \
    "else n=-1 end "                                                                                          \
    "if y and not f then w=w+wake(k) end "                                                                    \
    "elseif type(v)=='table' then e=v elseif v then n=-1 elseif n>0 then n=0 end "                            \
    "if y and f then w=w+wake(k,f) end "                                                                      \
    "end "                                                                                                    \
    "return e or n>0 and w>0 and 2 or n"
#define WIRE_SHARED_RELEASE_SHA1 "e42eae14bd05c24a707e2e3477d6a40a5c3edc23"

/* A reader is told how long a writer that came before it is waited for, a writer when the readers have to be gone. */
#define WIRE_SHARED_WAIT_SCRIPT                                         \
    "local a,c,f,p=ARGV,redis.call,redis.pcall,-2 "                                                           \
    "local T=tonumber(a[2]) "                                                                                 \
    "for i,k in ipairs(KEYS) do "                                                                             \
    "local v,q,s,w=c('pttl',k),k..'#waiters',a[4]:sub(i,i)=='s',k..'#writer' "                                \
    "c('set',q..'#waiters','','px',a[3]) "                                                                    \
    "c('pexpire',q,a[3]) c('zadd',q,T,a[1]..(s and 's' or '')) c('pexpire',q,a[3]) "                          \
    "local x,g=f('get',w),f('get',k) "                                                                        \
    "local b=type(x)=='string' and tonumber(x:match('^%d+') or a[2])<T "                                      \
    "if s and (v==-2 or g=='~shared') then v=b and c('pttl',w) or -2 "                                        \
    "elseif g=='~shared' and not s and not b then f('set',w,a[2]..' '..a[1],'px',20000) end "                  \
    "p=p~=-1 and(v==-1 or v>p)and v or p "                                                                    \
    "end "                                                                                                    \
    "return p"
#define WIRE_SHARED_WAIT_SHA1 "29212203936a2afec71d123b2e7c21836fe58053"

/* Fair locks: the first in the queue that hears it is told. A token and an engine's name have always as many digits, so that the
 * parts of a member, "token:engine:number", are known by where they are. */
#define WIRE_LUA_TELL                                                   \
    "local function tell(q) "                                                                                 \
    "for _,x in ipairs(redis.pcall('zrange',q,0,15)) do "                                                     \
    "local h=redis.pcall('publish','redlock:'..x:sub(42,57),x:sub(59)) "                                      \
    "if type(h)=='table' then return 0 end "                                                                  \
    "if h>0 then return 1 end "                                                                               \
    "end "                                                                                                    \
    "return 0 "                                                                                               \
    "end "

/* The poll. What gets an entry has its TTL from a call of the same command before, which an ACL would have refused: nothing stays
 * without one. The queue is seen to before the counter, so that a ticket which is too small does not cost the place. One that is
 * ahead does: or the first in the queue might be one that can be granted nothing. S24: where nobody knows in which round the key
 * was granted, every poll is an old one. A lease that ends later than one can is from before this node's clock stepped back: at the
 * head it would hold up all for as long as the step was, so it goes; whoever lives takes its place again when it next renews it. */
#define WIRE_FAIR_ACQUIRE_SCRIPT                                        \
    "local a,c,k=ARGV,redis.call,KEYS[1] "                                                                    \
    "local q,l,g=k..'#queue',k..'#lease',k..'#grant' "                                                        \
    "local T,n,w,e=a[6]:match('^(%d+) (%d+) (%d) (.*)$') "                                                    \
    "local m=a[1]:sub(1,40)..':'..e "                                                                         \
    WIRE_LUA_TELL                                                                                             \
    "local s=c('time') local now=s[1]*1000+math.floor(s[2]/1000) "                                            \
    "for _,x in ipairs(c('zrangebyscore',l,'-inf',now,'limit',0,64)) do c('zrem',q,x) c('zrem',l,x) end "     \
    "local h,z=c('zrange',q,0,0)[1],64 "                                                                      \
    "while h and z>0 and (c('zscore',l,h) or 9e15)-now>10000 do "                                             \
    "z=z-1 c('zrem',q,h) c('zrem',l,h) h=c('zrange',q,0,0)[1] "                                               \
    "end "                                                                                                    \
    "local v,d,p,r=c('get',k),a[3]+0,-2,-2 "                                                                  \
    "local o=d>0 and c('get',k..'#ticket') or '0' "                                                           \
    "local mine=v==a[1] "                                                                                     \
    "if not mine or n+0>=tonumber(c('get',g) or 9007199254740991) then "                                      \
    "if d>s[1]*1e6+s[2]+a[5]*1e3 then "                                                                       \
    "c('zrem',q,m) c('zrem',l,m) "                                                                            \
    "if mine then c('del',k,g) tell(q) end "                                                                  \
    "return {err='AHEAD of the clock of this node: '..s[1]} "                                                 \
    "end "                                                                                                    \
    "if w=='1' then "                                                                                         \
    "c('pexpire',q,5000) c('zadd',q,T,m) c('pexpire',q,5000) c('zadd',l,now+5000,m) c('pexpire',l,5000) "     \
    "h=c('zrange',q,0,0)[1] "                                                                                 \
    "end "                                                                                                    \
    "if h==(T~='0' and m or nil) then "                                                                       \
    "if (not v or mine) and (d==0 or d>tonumber(o)) then "                                                    \
    "if d>0 then c('set',k..'#ticket',a[3],'px',a[4]) end "                                                   \
    "local y=c('pttl',k) "                                                                                    \
    "c('set',g,n,'px',math.max(y,a[2])) "                                                                     \
    "if y~=-1 and y<a[2]+0 then c('set',k,a[1],'px',a[2]) end "                                               \
    "return {ok='OK'} "                                                                                       \
    "end "                                                                                                    \
    "elseif mine then c('del',k,g) v=nil tell(q) end "                                                        \
    "r=c('zrank',q,m) or -1 "                                                                                 \
    "end "                                                                                                    \
    "if v and not mine then p=math.min(c('pttl',k),4294967295) "                                              \
    "elseif h and h~=m then p=math.max((c('zscore',l,h) or now)-now,0) end "                                  \
    "return o..' '..p..' '..(c('zrevrange',q,0,0,'withscores')[2] or 0)..' '..r"
#define WIRE_FAIR_ACQUIRE_SHA1 "5c653db08b2920d40cab562a3b919afc9b0bf510"

/* As the restore script. S24: no poll that is still on its way gives away what this has set, or what an extension has counted. */
#define WIRE_FAIR_RESTORE_SCRIPT                                        \
    "local a,c,k=ARGV,redis.call,KEYS[1] "                                                                    \
    "local t,v,q=a[3]+0,c('get',k),k..'#ticket' "                                                             \
    "if v and v~=a[1] then return 'taken' end "                                                               \
    "if t>0 and t>tonumber(c('get',q) or 0) then "                                                            \
    "local w=c('time') "                                                                                      \
    "if t>w[1]*1e6+w[2]+a[5]*1e3 then return {err='AHEAD of the clock of this node: '..w[1]} end "            \
    "c('set',q,a[3],'px',a[4]) "                                                                              \
    "end "                                                                                                    \
    "local p=c('pttl',k) "                                                                                    \
    "c('set',k..'#grant','9007199254740991','px',math.max(p,a[2])) "                                          \
    "if p~=-1 and p<a[2]+0 then c('set',k,a[1],'px',a[2]) end "                                               \
    "return {ok='OK'}"
#define WIRE_FAIR_RESTORE_SHA1 "8f8a37622344d02b99af27e2a49706a840319833"

/* A node that is out of memory refuses a SET only to a script that has written nothing: so PEXPIRE comes before it. Where there is
 * no grant the key is a plain lock's, which knows of none. */
#define WIRE_FAIR_EXTEND_SCRIPT                                         \
    "local a,c,k=ARGV,redis.call,KEYS[1] "                                                                    \
    "if c('get',k)~=a[1] then return 0 end "                                                                  \
    "local p=c('pttl',k) "                                                                                    \
    "if c('pexpire',k..'#grant',a[2])==0 then return 0 end "                                                  \
    "c('set',k..'#grant','9007199254740991','px',math.max(p,a[2])) "                                          \
    "if p>=0 and p<a[2]+0 then c('pexpire',k,a[2]) end "                                                      \
    "return 1"
#define WIRE_FAIR_EXTEND_SHA1 "1c14cde736259ab5d9a5e3aec19453e0fe4efe87"

/* Its place goes whatever the entry was, if it is near the front: one that adopted the lock does not know that. What an ACL refuses
 * of the queue's business is let be. Where nobody is in the queue, whoever waits for a plain lock is woken. */
#define WIRE_FAIR_RELEASE_SCRIPT                                        \
    "local a,c,p,k=ARGV,redis.call,redis.pcall,KEYS[1] "                                                      \
    "local q,l=k..'#queue',k..'#lease' "                                                                      \
    "local t,f=a[1]:sub(1,40)..':' "                                                                          \
    WIRE_LUA_TELL                                                                                             \
    WIRE_LUA_WAKE                                                                                             \
    "for i,x in ipairs(p('zrange',q,0,15)) do "                                                               \
    "if x:sub(1,41)==t then p('zrem',q,x) p('zrem',l,x) f=f or i end "                                        \
    "end "                                                                                                    \
    "p('zrem',q,t..a[2]) p('zrem',l,t..a[2]) "                                                                \
    "local v,n,w=p('get',k),0,0 "                                                                             \
    "if type(v)=='table' then return v end "                                                                  \
    "if v==a[1] then c('del',k,k..'#grant') v,n=nil,1 elseif v then n=-1 end "                                \
    "if a[3] and not v and (n==1 or f==1) then "                                                              \
    "w=tell(q) "                                                                                              \
    "if not p('zrange',q,0,0)[1] then w=wake(k,true) end "                                                    \
    "end "                                                                                                    \
    "return n>0 and w>0 and 2 or n"
#define WIRE_FAIR_RELEASE_SHA1 "9dbef77d426d0792c7c845b831b7f8b9855abfd3"

/* Redisson's (S26). Before the field there is a life that changes nothing: where an ACL refuses that, no hash may stay for ever. */
#define WIRE_REDISSON_ACQUIRE_SCRIPT                                    \
    "local c,k=redis.call,KEYS[1] "                                                                     \
    "local p=c('pttl',k) "                                                                              \
    "if p~=-2 then return '0 '..math.min(p,4294967295) end "                                            \
    "c('pexpire',k,ARGV[2]) c('hset',k,ARGV[1],1) c('pexpire',k,ARGV[2]) "                              \
    "return {ok='OK'}"
#define WIRE_REDISSON_ACQUIRE_SHA1 "7ef9343a4f7a8fd1330729ff85ed937fde28cb85"

/* S7: where Redisson's own shortens, this does not. */
#define WIRE_REDISSON_EXTEND_SCRIPT                                     \
    "local c,k=redis.call,KEYS[1] "                                                                     \
    "if c('type',k).ok~='hash' or c('hexists',k,ARGV[1])==0 then return 0 end "                         \
    "local p=c('pttl',k) "                                                                              \
    "if p>=0 and p<tonumber(ARGV[2]) then c('pexpire',k,ARGV[2]) end "                                  \
    "return 1"
#define WIRE_REDISSON_EXTEND_SHA1 "3bed9ac646c447296d8f1fcbf6a4eec8aaddbde8"

/* S7: only our field goes. The first in a fair lock's queue listens to a channel of its own. Those before it whose times are over
 * died, and the next Java thread will remove them. What an ACL refuses of the telling is let be. */
#define WIRE_REDISSON_RELEASE_SCRIPT                                    \
    "local c,p,k,n=redis.call,redis.pcall,KEYS[1],1 "                                                   \
    "local t=c('type',k).ok "                                                                           \
    "if t~='hash' or c('hdel',k,ARGV[1])==0 then return t=='none' and 0 or -1 end "                     \
    "local b=k:find('{',1,true) and k or '{'..k..'}' "                                                  \
    "local function tell(h) local x=p('publish','redisson_lock__channel:'..h,'0') if type(x)=='number' and x>0 then n=2 end end "  \
    "tell(b) "                                                                                          \
    "local m=p('time') m=(m[1] or 0)*1000+(m[2] or 0)/1000 "                                            \
    "for _,f in ipairs(p('lrange','redisson_lock_queue:'..b,0,63)) do "                                 \
    "local s=p('zscore','redisson_lock_timeout:'..b,f) "                                                \
    "if type(s)~='string' or tonumber(s)>m then tell(b..':'..f) break end "                             \
    "end "                                                                                              \
    "return n"
#define WIRE_REDISSON_RELEASE_SHA1 "ae9293e73ef250fb76903d7c927e7f79f7224227"

enum {
    WIRE_VALUE_MAX = REDLOCK_TOKEN_TEXT + 1,    /* Bytes of a value that GETRANGE asks for. */
    WIRE_UPTIME_MAX = 50 * 365 * 86400,    /* 50 years: a server that claims more has a wrong clock. */
    WIRE_TICKET_MAX_DIGITS = 16,
    WIRE_WAITERS_LIFE_MS = 60000,   /* An entry among the waiters is renewed more often than that, or its waiter is gone. */
    WIRE_WRITER_LIFE_MS = 20000,    /* So is the hint that a writer waits. */
    WIRE_FAIR_LEASE_MS = 5000,      /* The same of a place in the queue. */
    WIRE_FAIR_RANK_MAX = 999999,
    /* The longest command of a lock, by EVALSHA or without the bytes of the script and of the resource. */
    WIRE_COMMAND_MAX = sizeof "*10 $7 EVALSHA $40 $2 16 $512 $40 $10 2147483647 $16 9007199254740991 $10 4294967295 $7 3600000 "
                              "$2 64 $2 64" + 23 + 40 + 40,
    /* The longest of all: of a fair lock. One that changes its role has 4 bytes less, one of several permits 8. */
    WIRE_LONGEST_MAX = sizeof "*10 $7 EVALSHA $40 $1 1 $512 $40 $10 2147483647 $16 9007199254740991 $10 4294967295 $7 3600000 "
                              "$51 4294967295 4294967295 1 0123456789abcdef:4294967295" + 24 + 40 + 40,
    WIRE_HOLDER_ROOM = REDLOCK_HOLDER_MAX + 2,  /* More, where the engine has a holder's name: it, a blank, a digit of the size. */
    WIRE_NAME_HEAD = sizeof "$512    " - 1      /* What each resource but the first adds to its bytes. */
};

#define WIRE_TICKET_MAX ((uint64_t)9007199254740991)    /* 2^53 - 1: Lua counts in doubles. */

/* A whole reply, as far as it matters. */
struct wire_reply {
    enum resp_type type;
    int64_t integer;
    const char *text;               /* The beginning of a string, or of the first one of an array (on a subscription: of all of
                                     * them, one behind the other: "message", the channel, and what was published there). */
    size_t text_size;
    bool text_cut;                  /* There was more of it. */
};

/* The form in which a command goes out. */
enum wire_form {
    WIRE_PLAIN,                     /* A command of the server's own. */
    WIRE_BY_SHA1,                   /* A script that the node is believed to know. */
    WIRE_BY_TEXT                    /* A script that it does not know. */
};

/* Of a fair lock that is acquired: its place in the order. */
struct redlock_place {
    uint32_t turn;                  /* 0: it has none yet. */
    uint32_t poll;                  /* Number of the round of polls, from 1. */
    uint32_t entry;                 /* By which it is woken; 0: by none. */
    bool renew;                     /* The last round was answered by a quorum. */
};

/* What a command of a lock is about. */
struct wire_subject {
    const struct redlock_name *names;
    unsigned name_count;
    const uint8_t *token;           /* REDLOCK_TOKEN_SIZE bytes: the lock's, and that of the last acquire that was sent there, */
    const uint8_t *placed;          /* which a release names; */
    const char *holder;             /* and what stands behind it in the value of the key; NULL: nothing. */
    uint32_t ttl_ms;
    uint64_t ticket;                /* 0: without. */
    uint32_t life_ms, skew_ms;      /* Of the counter; of wall clocks. */
    const uint8_t *engine;          /* REDLOCK_NAME_SIZE bytes: whose entry it is among the waiters, */
    uint32_t wait_number;           /* and which; 0: it has none. */
    uint64_t arrived_at;
    struct redlock_permit permit;
    const struct redlock_place *place;      /* Of a fair lock. */
    uint8_t phase;                  /* enum redlock_phase, of the lock. */
};

/* A command of a lock is a row: what goes out, and what may come back. An engine reaches the rows that its features use, so that
 * a linker drops all others; tests/world/decoder.c lists them. */
struct wire_row {
    const char *text;               /* Of a script; NULL: it is none. */
    const char *sha1;               /* By which a node knows it that has run it or loaded it. NULL: it goes out by text alone. */
    void (*put)(struct resp_writer *w, const struct wire_subject *subject);     /* The script's arguments; or all of the command. */
    bool (*read_refusal)(const struct wire_reply *reply, uint64_t *counter, int64_t *pttl);     /* NULL: it says nothing more. */
    uint8_t argument_count;         /* Of a script, behind its keys. */
    int8_t lowest, highest;         /* Of a script that answers with a number: from 1 on it is a grant. */
};

REDLOCK_PRIVATE const struct wire_row *wire_wait(void);
REDLOCK_PRIVATE const struct wire_row *wire_pttl(void);
REDLOCK_PRIVATE const struct wire_row *wire_getrange(void);

enum wire_answer {
    WIRE_GRANTED,
    WIRE_REFUSED,
    WIRE_ERROR,                     /* An error reply: see wire_trouble. */
    WIRE_WRONG                      /* Of a type or a value that this command never answers (S16). */
};

/* A kind of locks: their commands. NULL: as of plain ones. */
enum wire_kind_row {
    KIND_ACQUIRE, KIND_RESTORE, KIND_EXTEND, KIND_RELEASE,      /* As in enum wire_command. */
    KIND_WAKE,                      /* A release that wakes a waiter, or gives an entry back. NULL: nobody is woken. */
    KIND_ROWS
};

struct redlock_kind {
    const struct wire_row *rows[KIND_ROWS];
};

REDLOCK_PRIVATE const struct redlock_kind *wire_scripted_kind(void);        /* Of several resources, or with a ticket. */
REDLOCK_PRIVATE const struct redlock_kind *wire_permit_kind(void);          /* One of several permits, with a ticket or without. */
REDLOCK_PRIVATE const struct wire_row *wire_permit_wait(void);

REDLOCK_PRIVATE const struct redlock_kind *wire_fair_kind(void);    /* In strict order, with a ticket or without. */

/* Of which at least one is shared; and, of one resource, what has changed its role: then two tokens may be on a node. */
enum wire_shared {
    WIRE_SHARED, WIRE_UPGRADING, WIRE_UPGRADED, WIRE_UNDOING, WIRE_CANCELLED, WIRE_DOWNGRADED, WIRE_SHARED_KINDS
};
REDLOCK_PRIVATE const struct redlock_kind *wire_shared_kind(enum wire_shared which);
REDLOCK_PRIVATE const struct wire_row *wire_shared_wait(void);
REDLOCK_PRIVATE const struct wire_row *wire_release_of_waiter(void);    /* Of a writer that has waited: its #writer goes, too. */

REDLOCK_PRIVATE const struct redlock_kind *wire_redisson_kind(void);        /* As Java services lock it, of one resource. */

/* Plain locks, in the form that suits an engine's features: for one resource, or for several and with wake-ups. */
struct redlock_scripts {
    struct redlock_kind plain;
    const struct wire_loading *loading;         /* NULL: none is loaded in the handshake; they go out by text. */
    void (*put_subscribe)(struct resp_writer *w, const uint8_t engine[REDLOCK_NAME_SIZE]);     /* NULL: it has no subscriptions. */
};
REDLOCK_PRIVATE const struct redlock_scripts *wire_scripts_for_one(void);
REDLOCK_PRIVATE const struct redlock_scripts *wire_scripts_for_one_loaded(void);
REDLOCK_PRIVATE const struct redlock_scripts *wire_scripts_for_all(void);      /* They are loaded. */
REDLOCK_PRIVATE const struct wire_loading *wire_loading(void);

/* The commands of the handshake from SCRIPT LOAD on, but for SUBSCRIBE; and what the answer to any means, so that what was loaded
 * is the script that we know. */
struct wire_loading {
    bool (*is_left_out)(enum wire_command command, const struct redlock_login *login, bool is_subscription);
    void (*put)(struct resp_writer *w, enum wire_command command, const struct redlock_scripts *scripts);
    enum wire_answer (*read)(struct redlock_node *node, const struct redlock_asked *asked, const struct redlock_scripts *scripts,
                             const struct wire_reply *reply);
};

/* The form of a command, if a script that a node may know is to go out in this one. */
static inline enum wire_form wire_form_of(const struct wire_row *row, enum wire_form of_script)
{
    return !row->text ? WIRE_PLAIN : row->sha1 ? of_script : WIRE_BY_TEXT;
}

/* Appends a command of a lock, or of the handshake, whole or not at all: then false. A script for which there
 * is little room stays where it lies, see resp_apart. */
REDLOCK_PRIVATE bool wire_put(struct resp_writer *w, const struct wire_row *row, enum wire_form form,
                              const struct wire_subject *subject);
REDLOCK_PRIVATE bool wire_put_handshake(struct resp_writer *w, enum wire_command command, const struct redlock_login *login,
                                       const struct redlock_scripts *scripts, const uint8_t engine[REDLOCK_NAME_SIZE]);

/* True when this step of the handshake has nothing to say with this login and these scripts, on a subscription or on a connection
 * for commands. */
REDLOCK_PRIVATE bool wire_is_left_out(enum wire_command command, const struct redlock_login *login,
                                      const struct redlock_scripts *scripts, bool is_subscription);

/* What the reply means as the answer to that. Of asked it looks at the command, the form and the range of numbers. */
REDLOCK_PRIVATE enum wire_answer wire_read(const struct redlock_asked *asked, const struct wire_reply *reply);

/* The same, also of the commands of the handshake that not all engines send: LOAD_..., SUBSCRIBE, CANARY. */
REDLOCK_PRIVATE enum wire_answer wire_read_any(const struct redlock_asked *asked, const struct wire_reply *reply);

/* What the acquire script says when it refuses. False: it is not that. */
REDLOCK_PRIVATE bool wire_read_refusal(const struct wire_reply *reply, uint64_t *counter, int64_t *pttl);

/* What the poll of a fair lock says beside that: the largest turn in the queue, and how many are before the lock: -1: it is not
 * in the queue, -2: the poll was an old one. False: it is not that. */
REDLOCK_PRIVATE bool wire_read_fair_refusal(const struct wire_reply *reply, uint32_t *turn, int32_t *rank);

/* How many bytes stand before what was published, if that was on the channel of an engine. 0: it was not. */
REDLOCK_PRIVATE size_t wire_before_wake_up(const struct wire_reply *reply);

/* What a subscription hears there, without these: the number of the entry whose turn it is; of which slot, 0: none; and, ignored,
 * an s if it is a reader's. False: it is not that. */
REDLOCK_PRIVATE bool wire_read_wake_up(const struct wire_reply *reply, uint32_t *wait_number, uint8_t *slot);

/* What a subscription hears of Redisson's channels: an answer, or a message. */
enum wire_heard { WIRE_HEARD_NOTHING, WIRE_HEARD_MESSAGE, WIRE_HEARD_SUBSCRIBED, WIRE_HEARD_UNSUBSCRIBED };
REDLOCK_PRIVATE enum wire_heard wire_read_heard(const struct wire_reply *reply);

/* May it have been about that resource's channel? Of a long name only the beginning is compared. */
REDLOCK_PRIVATE bool wire_is_heard_of(const struct wire_reply *reply, enum wire_heard heard, const struct redlock_name *name);

/* Appends SUBSCRIBE, or UNSUBSCRIBE, for it; whole or not at all: then false. */
REDLOCK_PRIVATE bool wire_put_listening(struct resp_writer *w, bool begins, const struct redlock_name *name);

/* Takes what matters from one line of INFO (without its end), and from the answer to ROLE.
 *
 * S30: a second_repl_offset other than -1 says that the server has taken over a history from before its present run, as a replica
 * that was promoted, which may lack its master's last writes. Tried with Redis 7.0.15, whose uptime does not change meanwhile:
 *
 *     a master, also one with replicas                    -1
 *     REPLICAOF NO ONE, also where the link never stood   the offset at which the old history ends
 *     FAILOVER                                            the same, on both sides
 *     REPLICAOF again, and a full synchronization         -1, until REPLICAOF NO ONE: then the next offset
 *     a restart with the RDB file of SHUTDOWN SAVE        an offset
 *     a restart with an AOF, or with nothing              -1, but the uptime begins anew
 *     repl-backlog-ttl (3,600 s) without a replica        -1: by then any guard is over, unless somebody set less; but the
 *                                                         offset where there is no backlog, as the link never stood
 *
 * Plain INFO, since Redis before 7.0 takes one section at a time. A server that tells no offset is as one that has taken over
 * nothing. */
REDLOCK_PRIVATE void wire_read_info(const char *line, size_t size, struct redlock_identity *identity);
REDLOCK_PRIVATE void wire_read_role(const struct wire_reply *reply, struct redlock_identity *identity);

/* What kind of trouble the text of an error reply tells of. */
REDLOCK_PRIVATE enum redlock_trouble wire_trouble(const char *text, size_t size);

/* The same as far as an engine must know it: NOPERM, NOSCRIPT, WRONGTYPE, AHEAD; NOAUTH for whatever ends the session, and
 * OTHER_ERROR. The other kinds are linked with redlock_node_trouble alone. */
REDLOCK_PRIVATE enum redlock_trouble wire_class(const char *text, size_t size);

/* True when the node will not vote on this connection any more, so that a new handshake has to find out why. */
static inline bool wire_ends_session(enum redlock_trouble class_of_error)
{
    return class_of_error == REDLOCK_TROUBLE_NOAUTH;
}

/* The value of a lock's keys: the token, and behind a blank what the engine was told of the holder, if anything. Without a
 * NUL; its size. */
REDLOCK_PRIVATE size_t wire_value_text(const uint8_t token[REDLOCK_TOKEN_SIZE], const char *holder, char text[REDLOCK_VALUE_TEXT]);

/* The field of a lock of Redisson's kind, without a NUL; its size. */
REDLOCK_PRIVATE size_t wire_redisson_field(const uint8_t token[REDLOCK_TOKEN_SIZE], char text[REDLOCK_REDISSON_FIELD]);

/* The hex digits of a token, without a NUL; and the way back: false when they are not 40 of 0-9 a-f. */
REDLOCK_PRIVATE void wire_token_text(const uint8_t token[REDLOCK_TOKEN_SIZE], char text[REDLOCK_TOKEN_TEXT]);
REDLOCK_PRIVATE bool wire_token_read(const char *text, size_t size, uint8_t token[REDLOCK_TOKEN_SIZE]);

/* How many bytes of text are those of expected: all of expected, or 0. */
REDLOCK_PRIVATE size_t wire_begins(const char *text, size_t size, const char *expected);

#endif
