#!/bin/sh
# Histories that are right and wrong. Each planted violation is found, and nothing else is.
cd "$(dirname "$0")/../.." || exit 1
if ! command -v python3 >/dev/null; then
    echo '1..0 # SKIP there is no python3'
    exit 0
fi
# One process runs the checker for all of them.
exec python3 -IB - <<'END'
import subprocess
import sys
import tempfile

sys.path.insert(0, 'tests')
from checker import Checker, finish, point

CHECK = 'tests/history/check'
run = Checker(CHECK).run


def judge(name, status, lines, words, history, options=()):
    """It prints so many lines, the first with these words. Semicolons part the history."""
    if isinstance(history, str):
        history = (history.replace(';', '\n') + '\n').encode()
    got, said = run(history, options)
    is_good = got == status and len(said) == lines and words in said[0]
    point(name, is_good, f'# status {got} instead of {status}; "{words}" should be said in:', *said)


def accepts(name, history, *options):
    judge(name, 0, 1, ': accepted', history, options)


def finds(name, words, history, *options):
    """One violation alone, so the figures are the second line."""
    judge(name, 1, 2, words, history, options)


def refuses(name, words, history, *options):
    judge(name, 2, 1, f'{CHECK}: {words}', history, options)


# ---- Exclusion ----

one = '10 a held door until=20 ticket=5'
accepts('one holder after the other', f'{one}; 20 b held door until=30 ticket=6')
finds('a holder that begins a microsecond too early',
      'door: exclusion: line 2: b from 19 until 30, beside line 1: a from 10 until 20',
      f'{one}; 19 b held door until=30 ticket=6')
finds('one of many at once is named by each line',
      'line 3: c from 12 until 30, beside line 1: a from 10 until 20; line 2: b from 11 until 20',
      '10 a held door until=20 kind=shared; 11 b held door until=20 kind=shared;'
      '12 c held door until=30')
finds('lines in another order', 'exclusion: line 1: b from 19',
      '19 b held door until=30; 10 a held door until=20')
accepts('times are numbers', '100 b held door until=110; 20 a held door until=30')
accepts('two resources', f'{one}; 11 b held gate until=30')
accepts('two resources of one client', f'{one}; 11 a held gate until=30; 12 a released gate')
accepts('a release ends a hold', f'{one}; 12 a released door; 12 b held door until=30')
finds('a release a microsecond too late',
      'line 3: b from 12 until 30, beside line 1: a from 10 until 13 (line 2)',
      f'{one}; 13 a released door; 12 b held door until=30')
accepts('a loss ends a hold', f'{one}; 12 a lost door; 12 b held door until=30')
accepts('giving up ends a hold', f'{one}; 12 a gave-up door; 12 b held door until=30')
finds('a release of another client ends none', 'exclusion',
      f'{one}; 12 c released door; 13 b held door until=30')
finds('a release of another resource ends none', 'exclusion',
      f'{one}; 12 a released gate; 13 b held door until=30')
finds('a release after the end changes nothing', 'beside line 1: a from 10 until 20',
      f'{one}; 15 b held door until=30; 25 a released door')
accepts('a release at the time of held, in a later line, ends that hold',
        f'{one}; 10 a released door; 11 b held door until=30')
finds('a release at the time of held, in an earlier line, ends the hold before',
      'line 4: b from 11',
      '5 a held door until=9; 10 a released door; 10 a held door until=20; 11 b held door until=30')
finds('the same client twice', 'exclusion', f'{one}; 15 a held door until=30 ticket=6')
accepts('a hold without time is beside nobody', f'{one}; 15 b held door until=15 ticket=4')
accepts('nor is one that begins after it, at the same time',
        '10 b held door until=20; 10 a held door until=10')

# ---- Extensions ----

finds('an extension moves the end',
      'b from 22 until 30, beside line 1: a from 10 until 25 (line 2)',
      f'{one}; 15 a extended door until=25; 22 b held door until=30')
accepts('until there', f'{one}; 15 a extended door until=25; 25 b held door until=30')
finds('an extension at the last moment', 'b from 22',
      f'{one}; 20 a extended door until=25; 22 b held door until=30')
judge('which goes on', 0, 1, '1 holds', f'{one}; 20 a extended door until=25')
accepts('an extension may shorten a hold',
        f'{one}; 15 a extended door until=17; 17 b held door until=30')
finds('an extension after the end begins a hold',
      'exclusion: line 2: a from 24 until 40, beside line 3: b from 23 until 25',
      f'{one}; 24 a extended door until=40; 23 b held door until=25')
accepts('which is right if nobody was there', f'{one}; 24 a extended door until=40')
finds('and wrong if another has held it',
      'extension: line 3: a from 24 until 40, resumes line 1: a from 10 until 20, '
      'after line 2: b from 20 until 24',
      f'{one}; 20 b held door until=24; 24 a extended door until=40')
finds('or had acquired it, and released it at once', 'extension',
      f'{one}; 21 b held door until=24; 21 b released door; 24 a extended door until=40')
accepts('but not if that was no longer valid',
        f'{one}; 21 b held door until=21; 24 a extended door until=40')
accepts('nor if both only read',
        '10 a held door until=20 kind=shared; 20 b held door until=24 kind=shared;'
        '24 a extended door until=40')
accepts('nor before the end',
        '8 b held door until=10; 10 a held door until=20; 24 a extended door until=40')
accepts('an extension keeps the kind',
        '10 a held door until=20 kind=shared; 24 a extended door until=40;'
        '25 b held door until=30 kind=shared')
finds('and the count of permits', 'permits: line 3: b from 25',
      '10 a held door until=20 kind=permit of=1; 24 a extended door until=40;'
      '25 b held door until=30 kind=permit of=2')
accepts('a hold without time can be extended',
        '10 a held door until=20; 10 a extended door until=10; 15 a extended door until=30')

# ---- Readers and writers ----

reader = '10 a held door until=20 kind=shared'
accepts('readers together', f'{reader}; 12 b held door until=30 kind=shared')
finds('a writer beside a reader', 'readers: line 2: b from 19',
      f'{reader}; 19 b held door until=30')
accepts('a writer after a reader', f'{reader}; 20 b held door until=30')
finds('a reader beside a writer', 'readers: line 2: b from 19',
      f'{one}; 19 b held door until=30 kind=shared')
accepts('a reader after a writer', f'{one}; 20 b held door until=30 kind=shared')
finds('a writer beside the reader that is left',
      'd from 25 until 26, beside line 2: c from 11 until 40',
      f'{reader}; 11 c held door until=40 kind=shared; 25 d held door until=26')
finds('an exclusive lock is a writer by name as well', 'readers: ',
      f'{reader}; 19 b held door until=30 kind=exclusive')

# ---- Permits ----

permit = '10 a held door until=20 kind=permit of=2'
accepts('as many permits as there are', f'{permit}; 11 b held door until=20 kind=permit of=2')
finds('one permit more',
      'permits: line 3: c from 19 until 30, beside line 1: a from 10 until 20; '
      'line 2: b from 11 until 20',
      f'{permit}; 11 b held door until=20 kind=permit of=2;'
      '19 c held door until=30 kind=permit of=2')
accepts('a permit that has ended is free', f'{permit}; 11 b held door until=20 kind=permit of=2;'
        '20 c held door until=30 kind=permit of=2')
finds('the smaller count of permits', 'permits: line 2: b from 11',
      f'{permit}; 11 b held door until=20 kind=permit of=1')
finds('is that of a client that is inside, too', 'permits: line 2: b from 11',
      '10 a held door until=20 kind=permit of=1; 11 b held door until=20 kind=permit of=2')
finds('a permit beside a reader', 'exclusion',
      f'{reader}; 11 b held door until=20 kind=permit of=2')
finds('a reader beside a permit', 'exclusion', f'{permit}; 11 b held door until=20 kind=shared')
finds('a permit beside an exclusive lock', 'exclusion',
      f'{one}; 11 b held door until=20 kind=permit of=2')

# ---- Tickets ----

finds('the same ticket twice',
      'ticket: line 2: b from 20 until 30, has 5, after 5 of line 1: a from 10 until 20',
      f'{one}; 20 b held door until=30 ticket=5')
finds('a smaller ticket', 'has 4, after 5', f'{one}; 20 b held door until=30 ticket=4')
accepts('a ticket that is larger by one', f'{one}; 20 b held door until=30 ticket=6')
accepts('tickets of two resources', f'{one}; 20 b held gate until=30 ticket=4')
finds('tickets are numbers', 'has 10, after 100',
      '1 a held door until=2 ticket=100; 3 b held door until=4 ticket=10')
finds('a ticket of 0 counts', 'has 0, after 0',
      '1 a held door until=2 ticket=0; 3 b held door until=4 ticket=0')
accepts('a hold without a ticket', f'{one}; 20 b held door until=30')
finds('a ticket smaller than the largest, not the last', 'has 4, after 5',
      f'{one}; 20 c held door until=21; 22 b held door until=30 ticket=4')
finds('each ticket that is too small', 'has 5, after 6 of line 2',
      f'{one}; 20 b held door until=30 ticket=6; 30 c held door until=40 ticket=5')
writer = '1 w held door until=2 ticket=5'
readers = f'{writer}; 3 a held door until=9 kind=shared ticket=7'
accepts('readers with the same ticket', f'{readers}; 4 b held door until=9 kind=shared ticket=7')
accepts('a reader with a smaller ticket than another',
        f'{readers}; 4 b held door until=9 kind=shared ticket=6')
accepts('a reader with the ticket of a writer before',
        f'{readers}; 4 b held door until=9 kind=shared ticket=5')
finds('a reader with a smaller ticket than a writer before', 'has 4, after 5 of line 1',
      f'{readers}; 4 b held door until=9 kind=shared ticket=4')
finds('a writer with the ticket of a reader before', 'has 7, after 7 of line 2',
      f'{readers}; 9 b held door until=10 ticket=7')
accepts('a writer with a larger ticket than a reader before',
        f'{readers}; 9 b held door until=10 ticket=8')
accepts('tickets of permits, which belong to a slot each',
        f'{permit} ticket=6; 11 b held door until=20 kind=permit of=2 ticket=5')
accepts('and have no order with those of other kinds',
        f'{permit} ticket=6; 20 b held door until=30 ticket=5')
accepts('a ticket that came too late to be used',
        f'{one}; 21 b held door until=21 ticket=4; 22 c held door until=30 ticket=6')
accepts('nor is a later ticket too small for that',
        f'{one}; 21 b held door until=21 ticket=9; 22 c held door until=30 ticket=6')
accepts('holds that were released at once, at one time',
        '10 b held door until=20 ticket=6; 10 b released door; 10 a held door until=20 ticket=5')
accepts('a writer and a reader, at one time',
        '10 b held door until=20 ticket=5 kind=shared; 10 b released door;'
        '10 a held door until=20 ticket=5; 10 a released door')

# ---- Order of asking ----

asked = '1 a asked door; 5 b asked door'
accepts('the order is not judged unless asked for', f'{asked}; 9 b held door until=10')
finds('a client that asked later is first',
      'order: line 3: b, which asked at 5, before line 1: a, which asked at 1',
      f'{asked}; 9 b held door until=10; 10 a held door until=11', '--fair')
finds('a client that waits for ever', 'order: line 3: b', f'{asked}; 9 b held door until=10',
      '--fair')
accepts('a client that asked later, by as much as the slack', f'{asked}; 9 b held door until=10',
        '--fair', '--slack', '4')
finds('a microsecond more', 'order', f'{asked}; 9 b held door until=10', '--fair', '--slack', '3')
accepts('two that asked at one time', '1 a asked door; 1 b asked door; 9 b held door until=10',
        '--fair')
accepts('the first was held before', f'{asked}; 6 a held door until=7; 9 b held door until=10',
        '--fair')
accepts('both are held at one time',
        f'{asked}; 9 b held door until=10 kind=shared; 9 a held door until=10 kind=shared',
        '--fair')
finds('a microsecond later', 'order',
      f'{asked}; 9 b held door until=10 kind=shared; 10 a held door until=11 kind=shared', '--fair')
accepts('the first has given up', f'{asked}; 7 a gave-up door; 9 b held door until=10', '--fair')
accepts('at the same time', f'{asked}; 9 b held door until=10; 9 a gave-up door', '--fair')
finds('a microsecond later is too late', 'order',
      f'{asked}; 9 b held door until=10; 10 a gave-up door', '--fair')
accepts('released gives up as well, without a hold',
        f'{asked}; 7 a released door; 9 b held door until=10', '--fair')
finds('with a hold it ends that', 'order: line 4: b',
      '1 a held door until=3; 2 a asked door; 5 b asked door; 9 b held door until=10;'
      '6 a released door',
      '--fair')
finds('gave-up ends the wait before the hold', 'exclusion: line 4: b',
      '1 a held door until=9; 2 a asked door; 3 a gave-up door; 5 b held door until=8', '--fair')
finds('a client that asks twice has waited since the first time', 'a, which asked at 1',
      f'{asked}; 6 a asked door; 9 b held door until=10', '--fair')
finds('a hold that was not asked for was asked for as it began',
      'order: line 2: c, which asked at 9', '1 a asked door; 9 c held door until=10', '--fair')
finds('the one that waits longest is named', 'before line 2: b, which asked at 2',
      '1 a asked door; 2 b asked door; 3 c asked door; 9 c held door until=10;'
      '10 a held door until=11; 12 b held door until=13',
      '--fair')
finds('a client that gave up is not first, and hides no other', 'before line 1: a, which asked',
      '1 a asked door; 2 b asked door; 3 b gave-up door; 5 c asked door; 9 c held door until=10;'
      '10 a held door until=11', '--fair')
accepts('another resource has an order of its own',
        '1 a asked gate; 5 b asked door; 9 b held door until=10', '--fair')

# ---- Figures ----

judge('the figures', 0, 1,
      '7 events, 3 clients, 2 resources, 3 holds, longest wait 8 us, 1 still wait: accepted',
      '1 a asked door; 5 b asked door; 6 a held door until=7; 13 b held door until=14;'
      '13 c asked door; 14 b asked gate; 16 b held gate until=20')
judge('a wait that was given up is not the longest', 0, 1, 'longest wait 0 us, 0 still wait',
      f'{one}; 11 b asked door; 19 b gave-up door')

# ---- Malformed histories ----

held = '3 a held door until=4'
refuses('nobody holds anything', 'a history should have at least one held', '1 a asked door')
refuses('an empty line', 'line 1: it should be TIME CLIENT EVENT RESOURCE..., not ""', '')
refuses('too few words', 'line 2: it should be TIME CLIENT EVENT RESOURCE..., not "2 a held"',
        f'{one}; 2 a held')
refuses('a time that is not a number',
        'line 2: TIME should be a number of up to 20 digits, not "-1"', f'{one}; -1 a asked door')
refuses('a time with a fraction', 'line 1: TIME should be a number', '1.5 a asked door')
refuses('digits of another script', 'line 1: TIME should be a number', '\u0663 a asked door')
accepts('a number of 20 digits', '1 a held door until=99999999999999999999')
refuses('a number of 21 digits', 'line 1: until should be a number of up to 20 digits',
        '1 a held door until=999999999999999999999')
refuses('an unknown event', 'line 1: EVENT should be one of asked, gave-up, held,', '1 a has door')
refuses('no until', 'line 1: held should have until=TIME, 3 or later', '3 a held door')
refuses('an until before its own time', 'line 1: held should have until=TIME, 3 or later',
        '3 a held door until=2')
refuses('an extension without until', 'line 2: extended should have until=TIME, 4 or later',
        f'{held}; 4 a extended door')
refuses('an extension until an earlier time', 'line 2: extended should have until=TIME, 4 or later',
        f'{held}; 4 a extended door until=3')
refuses('an unknown field',
        'line 1: held should have until=... ticket=... kind=... of=..., not "till=4"',
        '3 a held door till=4')
refuses('a field of another event', 'line 2: released should have no fields, not "until=4"',
        f'{held}; 4 a released door until=4')
refuses('a field without a value',
        'line 1: held should have until=... ticket=... kind=... of=..., not "ticket"',
        f'{held} ticket')
refuses('an empty number', 'line 1: ticket should be a number of up to 20 digits, not ""',
        f'{held} ticket=')
refuses('a field twice', 'line 1: until should be given once, not again as "until=5"',
        f'{held} until=5')
refuses('an unknown kind', 'line 1: kind should be exclusive, shared or permit, not "fair"',
        f'{held} kind=fair')
of = 'line 1: kind=permit, and no other kind, should have of=COUNT, 1 or more'
refuses('permits without a count', of, f'{held} kind=permit')
refuses('a count of another kind', of, f'{held} of=3')
refuses('no permits at all', of, f'{held} kind=permit of=0')
refuses('an extension of nothing', 'line 1: extended should follow a held of a that has not ended',
        '3 a extended door until=4')
refuses('an extension of a hold that was released', 'line 3: extended should follow',
        f'{one}; 12 a released door; 13 a extended door until=20')
refuses('a last line that was cut', 'line 2: it should end with a newline;',
        b'10 a held door until=20\n11 b asked do')
refuses('an empty file', 'a history should have at least one held', b'')
finds('names of any bytes', r'd\xa0: exclusion: line 2: b from 11 until 20, beside line 1: \xff',
      b'10 \xff held d\302\240 until=20\n11 b held d\302\240 until=20\n')

# ---- The program ----

# Several files are one history. A line is named by its file.
with tempfile.TemporaryDirectory() as made:
    for name, line in ('a', '10 a held door until=20\n'), ('b', '19 b held door until=30\n'):
        with open(f'{made}/{name}', 'w') as file:
            file.write(line)
    finds('two files', f'exclusion: {made}/b:1: b from 19 until 30, beside {made}/a:1: a from 10',
          '', f'{made}/b', f'{made}/a')
    judge('a missing file', 2, 2, 'usage: check', one, [f'{made}/c'])
judge('an option without its value', 2, 2, 'usage: check', one, ['--slack'])
judge('a slack below 0', 2, 2, 'usage: check', one, ['--slack', '-1'])

ran = subprocess.run(CHECK, input=f'{one}\n19 b held door until=30\n'.encode(),
                     stdout=subprocess.PIPE)
is_found = ran.returncode == 1 and ran.stdout.endswith(b': 1 violations\n')
point('the program itself', is_found, f'# {ran}')

finish()
END
