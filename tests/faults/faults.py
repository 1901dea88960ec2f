"""What the two planters of faults share: they copy the tree, run tests, and judge what was found against tests/faults/unfound."""
import collections
import fnmatch
import glob
import os
import shutil
import signal
import subprocess
import sys
import threading

# As for mutants, the engine's own checks are left out, since a test is to find the fault. Tables are written to.
CFLAGS = '-O1 -w -Dconst= -DREDLOCK_NO_CHECKS -DNDEBUG'
# Tests with many worlds run one in so many, the simulator more than others, or it would have no case of some rules.
SAMPLE = os.environ.get('SAMPLE', '29')
SAMPLE_OF_SIM = os.environ.get('SAMPLE', '7')
FOLDERS = ('resp', 'net', 'redlock', 'tests', 'tools', 'Makefile', 'README.md', 'CHANGELOG.md', 'LICENSE')
UNFOUND = 'tests/faults/unfound'


def lines(path):
    with open(path, encoding='utf-8') as file:
        return file.read().splitlines()


def unit_tests(name='test_*'):
    """The programs of that name, in whichever folder of tests/unit they are."""
    return [f'build/{source[:-2]}' for source in sorted(glob.glob(f'tests/unit/*/{name}.c'))]


def copy_to(tree):
    for name in FOLDERS:
        (shutil.copytree if os.path.isdir(name) else shutil.copy)(name, f'{tree}/{name}')


def succeeds(tree, *command):
    return subprocess.run(command, cwd=tree, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def make(tree, *programs, jobs=1):
    return succeeds(tree, 'make', '-s', f'-j{jobs}', 'BUILD=build', f'CFLAGS={CFLAGS}', *programs)


running, is_stopped = set(), False


def end_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def stop(number, _):
    """For a signal. Test programs end at once, those that would be started too, and so does the planter."""
    global is_stopped
    is_stopped = True
    for process in tuple(running):
        end_group(process)
    sys.exit(128 + number)


def stop_by_signals():
    for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
        signal.signal(number, stop)


def passes(tree, program, limit_s, **environment):
    """Runs a test program, up to the first test that fails. None of its children is left."""
    if is_stopped:
        return True
    sample = SAMPLE_OF_SIM if program.endswith('/test_sim') else SAMPLE
    process = subprocess.Popen([f'./{program}'], cwd=tree, env={**os.environ, 'SAMPLE': sample, **environment}, start_new_session=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    running.add(process)
    limit = threading.Timer(0 if is_stopped else limit_s, end_group, [process])
    limit.start()
    try:
        return not any(line.startswith(b'not ok') for line in process.stdout) and process.wait() == 0
    finally:
        limit.cancel()
        end_group(process)
        process.stdout.close()
        process.wait()
        running.remove(process)


def by_turns(faults):
    """Those whose turn it is, one in TURNS."""
    numbers = '\n'.join(map(str, range(len(faults))))
    turn = subprocess.run(['tests/by_turns'], input=numbers, text=True, capture_output=True, check=True).stdout.split()
    return [faults[int(number)] for number in turn]


def judge(faults, name_of, parts, ask, workers):
    """Asks about each fault whose turn it is, and prints what is not as tests/faults/unfound says. Returns the exit status."""
    unfound = [line.rsplit(' | ', 1) for line in lines(UNFOUND) if line and line[0] != '#']
    patterns = [name for name, _ in unfound if name[0] == '*']
    known = {name for name, _ in unfound}
    faults = [f for f in faults if not parts or any(part in name_of(f) for part in parts)]
    wanted = by_turns(faults)
    awake = [f for f in wanted if not any(fnmatch.fnmatchcase(name_of(f), pattern) for pattern in patterns)]
    print(f'# {len(awake)} faults; {len(wanted) - len(awake)} more are harmless', flush=True)
    by_name, files = collections.defaultdict(list), collections.defaultdict(list)
    for fault, finder in zip(awake, workers.map(ask, awake)):
        name = name_of(fault)
        by_name[name].append(finder)
        files[fault.file].append(finder)
        if not finder and name not in known:
            print(f'not ok - line {fault.line} of {name}: found by nobody', flush=True)
    failed = sum(None in finders for name, finders in by_name.items() if name not in known)
    is_whole = len(wanted) == len(faults)       # By turns another fault of that name may be the one that nobody finds.
    for name, finders in by_name.items():
        if is_whole and name in known and None not in finders:
            print(f'not ok - {name}: found by {finders[0]}, so it need not stand in {UNFOUND}')
            failed += 1
    for file, finders in sorted(files.items()):
        found = len(finders) - finders.count(None)
        print(f'# {file}: {found} of {len(finders)} found, {100 * found / len(finders):.1f} %')
    print(f'{len(by_name) - failed} passed, {failed} failed')
    return int(failed > 0)
