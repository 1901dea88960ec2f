#!/bin/sh
# Traces with one step each that the specification does not have, and with such that it has.
cd "$(dirname "$0")/../.." || exit 1
if ! command -v python3 >/dev/null; then
    echo '1..0 # SKIP there is no python3'
    exit 0
fi
# One process runs the checker for all of them.
exec python3 -IB - <<'END'
import sys

sys.path.insert(0, 'tests')
from checker import Checker, finish, point

A, B = 'a' * 40, 'b' * 40
run = Checker('tests/witness/check').run


def judge(name, words, steps, world='nodes=3 guard_ms=10000 skew_ms=250 drift_ppm=10000 durable=0', end='9000000 end'):
    """Semicolons part the steps. What is granted to A for 1 s, before anything else, is the dots."""
    granted = ';'.join(f'1000 node{k} 1000 has door x {A} 1001000' for k in range(3))
    lines = [f'world w {world}', *steps.replace('...', granted).split(';'), *([end] if end else [])]
    status, said = run(('\n'.join(line.strip() for line in lines if line.strip()) + '\n').encode('latin-1'))
    wanted = 0 if words == 'accepted' else 2 if words.startswith('tests/') else 1
    point(name, status == wanted and words in said[0], f'# {status} instead of {wanted}; "{words}" should be said in:', *said)


HOLDS = f'2000 client0 2000 holds door x {A} 980000'
judge('a holder that a majority keeps', 'accepted', f'...;{HOLDS}')
judge('a majority is enough', 'accepted', f'...;1500 node2 1500 has door nothing;{HOLDS}')
judge('S1: a minority is not', 'S1, ', f'...;1500 node2 1500 has door nothing;1600 node1 1600 has door nothing;{HOLDS}')
judge('S1: half of the nodes is not', 'S1, ', f'...;{HOLDS}', 'nodes=6 guard_ms=10000 skew_ms=250 drift_ppm=10000 durable=0')
judge('S2: the drift is not left out', 'S1, S2, ', f'...;2000 client0 2000 holds door x {A} 1000000')
judge('S9: a key that is not there for long enough', 'S1, S2, S9',
      f'1000 node0 1000 has door x {A} 1001000;1000 node1 1000 has door x {A} 901000;{HOLDS}')
judge('S3: a key is not given to another', 'S5',
      f'...;{HOLDS};3000 node1 3000 has door x {B} 2000000')
judge('a key that ends is granted', 'accepted', f'...;{HOLDS};1001001 node1 1001001 has door x {B} 2000000')
judge('S5: nobody is released that holds', 'S5', f'...;{HOLDS};3000 node1 3000 has door nothing')
judge('one that has stopped is', 'accepted', f'...;{HOLDS};2500 client0 2500 ends door {A};3000 node1 3000 has door nothing')
judge('one whose time is over is', 'accepted', f'...;{HOLDS};980001 node1 980001 has door nothing')
judge('S7: no key is shortened', 'S7', f'...;3000 node1 3000 has door x {A} 1000000')
judge('a key is lengthened, and so is the hold', 'accepted',
      f'...;{HOLDS};3000 node1 3000 has door x {A} 1003000;3000 node0 3000 has door x {A} 1003000;'
      f'3500 client0 3500 holds door x {A} 990000')
judge('S11: a node that has restarted has no vote', 'S1, ',
      f'500 node1 500 restarts;500 node0 500 restarts;...;{HOLDS}')
judge('one that restarts after it has granted has had a vote', 'accepted',
      f'...;1500 node1 1500 restarts;1600 node2 1600 restarts;{HOLDS}')
judge('after the guard it has', 'accepted', f'500 node1 500 restarts;500 node0 500 restarts;'
      + ';'.join(f'10001000 node{k} 10001000 has door x {A} 11001000' for k in range(3))
      + f';10002000 client0 10002000 holds door x {A} 10980000', end='12000000 end')
judge('S23: a durable node has one that has forgotten nothing', 'accepted',
      f'...;1500 node1 1500 recalls door x {A} 1001000;1500 node1 1500 restarts;1600 node0 1600 has door nothing;{HOLDS}',
      'nodes=3 guard_ms=10000 skew_ms=250 drift_ppm=10000 durable=7')
judge('S23: and none that has', 'S1, ', f'500 node1 500 has gate x {B} 9000000;600 node1 600 restarts;...;'
      f'1700 node0 1700 has door nothing;{HOLDS}', 'nodes=3 guard_ms=10000 skew_ms=250 drift_ppm=10000 durable=7')
judge('S15: a counter does not fall', 'S15', '1000 node0 1000 counts door 50 9000000;2000 node0 2000 counts door 49 9000000')
judge('S15: nor does a ticket', 'S15', ';'.join(f'1000 node{k} 1000 counts door 60 9000000' for k in range(3))
      + f';...;{HOLDS} ticket=60;980001 node0 1001001 has door x {B} 2001001;980002 node1 1001001 has door x {B} 2001001;'
      f'980003 client1 980003 holds door x {B} 1900000 ticket=60')
judge('S15: a ticket has been counted', 'S1, ', f'...;{HOLDS} ticket=60')
judge('S20: there is no permit more', 'S20', ';'.join(f'1000 node{k} 1000 has door:3 x {A} 1001000' for k in range(3))
      + f';2000 client0 2000 holds door:3 x {A} 980000 of=2')
READERS = ';'.join(f'1000 node{k} 1000 has door s {A} 1001000 {B} 1001000' for k in range(3))
judge('readers are together', 'accepted', f'{READERS};2000 client0 2000 holds door s {A} 980000;2000 client1 2000 holds door s {B} 980000')
judge('S21: a reader is not granted beside a writer', 'S3, S21', f'1000 node0 1000 has door x {A} 9000000 {B} 9000000')
judge('S21: a reader is no writer', 'S1, ', f'{READERS};2000 client0 2000 holds door x {A} 980000')
judge('S22: a reader has become a writer', 'accepted', ';'.join(f'1000 node{k} 1000 has door s {A} 1001000' for k in range(3))
      + f';2000 client0 2000 holds door s {A} 980000;2100 client0 2100 turns door {A} {B};'
      + ';'.join(f'3000 node{k} 3000 has door x {B} 1003000' for k in range(3)) + f';3500 client0 3500 holds door x {B} 981000')
judge('S10: a clock that runs slow makes nobody hold for longer', 'exclusion',
      f'1000 client0 1000 runs -100000;...;{HOLDS};980001 node0 1001001 has door x {B} 2001001;980002 node1 1001001 has door x {B} 2001001;'
      f'980003 client1 980003 holds door x {B} 1900000')
judge('servers that run too fast make two holders', 'exclusion', f'...;{HOLDS};'
      + ';'.join(f'950000 node{k} 1001001 has door x {B} 2001001' for k in range(2))
      + f';951000 client1 951000 holds door x {B} 1900000')
judge('a verb that there is not', 'tests/witness/check: line 2 is none', '1000 node0 1000 hs door nothing')
judge('a node that there is not', 'tests/witness/check: line 2 is none', '1000 node3 1000 has door nothing')
judge('a number that is none', 'tests/witness/check: line 2 is none', '1000 node0 x has door nothing')
judge('a time that is before the last', 'tests/witness/check: line 3 is none', '1000 node0 1000 has door nothing;999 node0 999 has door nothing')
judge('a world that is cut off', 'tests/witness/check: world w has no end', f'...;{HOLDS}', end='')
judge('nobody holds anything', 'tests/witness/check: nobody ever', '...')

# The queue of a fair lock. B waits in that of two nodes before A asks.
def queued(nodes=2, end=9000000):
    return ';'.join(f'{100 + k} node{k} {100 + k} queues door {end} {B}' for k in range(nodes))


WAITS, ASKS = f'50 client1 50 asks door {B}', f'500 client0 500 asks door {A}'
judge('S25: nobody passes one that waits in the queues of a majority', 'S25', f'{WAITS};{queued()};{ASKS};...;{HOLDS}')
judge('one that asked before it was queued may be first', 'accepted', f'{ASKS.replace("500", "99")};{queued()};{WAITS.replace("50 ", "150 ")};...;{HOLDS}')
judge('one that asked when it was queued may be first', 'accepted', f'{WAITS};{ASKS.replace("500", "100")};{queued()};...;{HOLDS}')
judge('a place in the queues of a minority is none', 'accepted', f'{WAITS};{queued(1)};{ASKS};...;{HOLDS}')
judge('nor is one that is over', 'accepted', f'{WAITS};{queued(end=1500)};{ASKS};...;{HOLDS}')
judge('nor one that was given up', 'accepted', f'{WAITS};{queued()};200 client1 200 quits door {B};{ASKS};...;{HOLDS}')
judge('one that is taken again is a new one', 'accepted',
      f'{WAITS};{queued()};200 node0 200 queues door 0;{ASKS};600 node0 600 queues door 9000000 {B};...;{HOLDS}')
judge('one that is kept is as old as it was', 'S25', f'{WAITS};{queued()};{ASKS};600 node0 600 queues door 9900000 {B};...;{HOLDS}')
judge('one in a server that has restarted is a new one', 'accepted',
      f'{WAITS};{queued()};{ASKS};550 node0 550 restarts;600 node0 600 queues door 9000000 {B};'
      f'...;1200 node1 1200 has door x {A} 1001000;{HOLDS}', 'nodes=3 guard_ms=0 skew_ms=0 drift_ppm=10000 durable=0')
judge('one that extends passes nobody', 'accepted', f'{ASKS};...;{HOLDS};3000 client1 3000 asks door {B};'
      + ';'.join(f'4000 node{k} 4000 queues door 9000000 {B}' for k in range(3)) + f';5000 client0 5000 holds door x {A} 980001')

# A poll that comes late, and finds that another is first at that node. The winner's quorum is the others.
def takes_back(k, queue=f'{A} {B}'):
    return f'{3000 + k} node{k} {3000 + k} queues door 9000000 {queue};{3000 + k} node{k} {3000 + k} has door nothing'


judge('a grant may be taken back where others are queued', 'accepted', f'...;{HOLDS};{takes_back(1)}')
judge('S5: not from one that is queued alone', 'S5', f'...;{HOLDS};{takes_back(1, A)}')
judge('S5: nor from one that is not queued', 'S5', f'...;{HOLDS};{takes_back(1, B + " " + "c" * 40)}')
judge('S5: nor by a majority', 'S5', f'...;{HOLDS};{takes_back(1)};{takes_back(2)}')

# Runs, once per period.
MARKS = f'{HOLDS};3000 client0 3000 marks door 60000 {A}'
judge('a run', 'accepted', f'...;{MARKS}')
judge('S18: there is no other in that period', 'S18', f'...;{MARKS};4000 client1 4000 marks door 60000 {B}')
judge('there is one in the next', 'accepted', f'...;{MARKS};4000 client1 4000 marks door 120000 {B}')
judge('S18: nobody begins that looked when it was done', 'S18', f'...;{HOLDS};3000 client0 3000 done door 60000 {A};'
      f'4000 client1 4000 looks door 60000 {B};5000 client1 5000 begins door 60000 {B}')
judge('one that looked before may', 'accepted', f'...;{HOLDS};2000 client1 2000 looks door 60000 {B};3000 client0 3000 done door 60000 {A};'
      f'5000 client1 5000 begins door 60000 {B}')
judge('one that has done it may again', 'accepted', f'...;{HOLDS};3000 client0 3000 done door 60000 {A};'
      f'4000 client0 4000 looks door 60000 {A};5000 client0 5000 begins door 60000 {A}')
judge('S18: nor beside another, when it has done it itself', 'S18', f'...;{HOLDS};2000 client0 2000 looks door 60000 {A};'
      f'3000 client0 3000 done door 60000 {A};3000 client1 3000 done door 60000 {B};4000 client0 4000 looks door 60000 {A};'
      f'5000 client0 5000 begins door 60000 {A}')
judge('nobody begins that has not looked', 'tests/witness/check: line 7 is none',
      f'...;{HOLDS};3000 client1 3000 done door 60000 {B};3000 client0 3000 begins door 60000 {A}')

# What a review got past it.
DURABLE = 'nodes=3 guard_ms=2000 skew_ms=250 drift_ppm=10000 durable=7'
TWICE = ';'.join(f'1500 node{k} 1500 recalls door x {A} 1001000;1500 node{k} 1500 restarts' for k in range(3))
judge('S23: an older process has no vote if the next one goes on', 'S1, ',
      f'...;{TWICE};1700 node0 1700 has door nothing;1700 node1 1700 has door nothing;2000 client0 2000 holds door x {A} 900000', DURABLE)
judge('S11: nor without a guard', 'S1, ', f'...;1500 node0 1500 restarts;1500 node1 1500 restarts;2000 client0 2000 holds door x {A} 900000',
      'nodes=3 guard_ms=0 skew_ms=250 drift_ppm=10000 durable=0')
judge('S23: a durable node that has lost its counter has forgotten', 'S1, ', '1000 node0 1000 counts door 50 9000000;1000 node1 1000 counts door 50 9000000;'
      f'1500 node0 1500 restarts;1500 node1 1500 restarts;1600 node0 1600 has door x {A} 1001000;'
      f'1600 node1 1600 has door x {A} 1001000;2000 client0 2000 holds door x {A} 900000', DURABLE)
judge('S23: so has one on which a key ends earlier', 'S1, ', f'...;1500 node0 1500 recalls door x {A} 4000;1500 node0 1500 restarts;'
      f'1500 node1 1500 recalls door x {A} 4000;1500 node1 1500 restarts;'
      f'5000 node0 5000 has door x {B} 1005000;5000 node1 5000 has door x {B} 1005000;6000 client1 6000 holds door x {B} 900000', DURABLE)
judge('S3: no two writers are recalled', 'S3, S21', f'1500 node0 1500 recalls door x {A} 1001000 {B} 1001000;1500 node0 1500 restarts')
judge('S10: the clock of a client does not go back', 'tests/witness/check: line 6 is none', f'...;{HOLDS};1502000 client0 2000 runs 0')
judge('no line is about an earlier time', 'tests/witness/check: line 6 is none', f'...;{HOLDS};1000 client1 1000 runs 0')
judge('S21: readers do not become writers beside each other', 'S3, S21', f'{READERS};2000 node0 2000 has door x {A} 1001000 {B} 1001000')
judge('S22: nobody is made a reader that believes to be a writer', 'S5', f'...;{HOLDS};3000 node0 3000 has door s {A} 1001000 {B} 1001000')
judge('S22: nor by its other token', 'S5', f'...;{HOLDS};2500 client0 2500 turns door {A} {B};3000 node0 3000 has door s {B} 1001000')
# It turns, and node2 misses that.
MISSED = (f'...;{HOLDS};2000 node2 2000 has door x {A} 1001000;2500 client0 2500 turns door {A} {B};2500 client0 2500 holds door s {A} 970000'
          f';2600 node0 2600 has door s {B} 1001000')
KNOWN = f'{MISSED};2600 node1 2600 has door s {B} 1001000'
judge('S5: a node that has missed a change of role gives back the older token', 'accepted', f'{KNOWN};3000 node2 3000 has door nothing')
judge('S5: not before a majority has the other', 'S5', f'{MISSED};3000 node2 3000 has door nothing')
judge('S5: none of that majority gives back its own', 'S5', f'{KNOWN};3000 node1 3000 has door nothing')
judge('S15: a holder keeps its ticket', 'S15', ';'.join(f'1000 node{k} 1000 counts door 60 9000000' for k in range(3))
      + f';...;{HOLDS} ticket=60;3000 client0 3000 holds door x {A} 970000')

# A writer becomes a reader, and the nodes have forgotten its ticket by then.
BECOMES = (';'.join(f'1000 node{k} 1000 counts door 60 2500' for k in range(3)) + f';...;{HOLDS} ticket=60'
           f';3000 client0 3000 turns door {A} {B}')
READS = f'{BECOMES};3000 client0 3000 holds door s {B} 970000 ticket=60'
judge('a writer that becomes a reader keeps its ticket', 'accepted', READS)
judge('S15: it gets no other that nobody has counted', 'S1, ', READS.replace('970000 ticket=60', '970000 ticket=61'))
judge('S15: nor is it a writer again with that', 'S15', f'{READS};3100 client0 3100 turns door {B} {A};'
      f'3100 client0 3100 holds door x {A} 960000 ticket=60')

NONE_2, NONE_5 = ('tests/witness/check: line %d is none' % line for line in (2, 5))
judge('a token without an end', NONE_2, f'1000 node0 1000 has door x {A}')
judge('nobody, with a token', NONE_2, f'1000 node0 1000 has door nothing {A} 1001000')
judge('a field that there is not', NONE_5, f'...;{HOLDS} tickt=5')
judge('no nodes', 'tests/witness/check: line 1 is none', f'...;{HOLDS}', 'nodes=-3 guard_ms=0 skew_ms=0 drift_ppm=0 durable=0')
judge('a drift below 0', 'tests/witness/check: line 1 is none', f'...;{HOLDS}', 'nodes=3 guard_ms=0 skew_ms=0 drift_ppm=-1000000 durable=0')
judge('a number of 400 digits', NONE_2, '1000 client0 1000 runs ' + 400 * '9')
judge('bytes that are no text', 'tests/witness/check: line 2 is none', '1000 node0 1000 \xff door nothing')
finish()
END
