"""Runs a checker, which reads its standard input or files, on many texts in one process. For the test beside it. Prints TAP
points."""
import io
import sys

count, failed = 0, 0


class Input(io.BytesIO):
    name = '<stdin>'


class Checker:
    def __init__(self, path):
        self.path = path
        with open(path, encoding='utf-8') as file:
            self.code = compile(file.read(), path, 'exec')

    def run(self, data, options=()):
        """The exit status, and the lines that are printed."""
        saved = sys.stdin, sys.stdout, sys.stderr, sys.argv
        sys.stdin = io.TextIOWrapper(Input(data))
        sys.stdout = sys.stderr = output = io.TextIOWrapper(io.BytesIO(), encoding='ascii')
        sys.argv = [self.path, *options]
        status = None
        try:
            exec(self.code, {'__name__': '__main__'})
        except SystemExit as ending:
            status = ending.code
        except Exception as fault:
            print(repr(fault))
        finally:
            sys.stdin, sys.stdout, sys.stderr, sys.argv = saved
        output.flush()
        return status, output.buffer.getvalue().decode().splitlines()


def point(name, is_good, *notes):
    global count, failed
    count, failed = count + 1, failed + (not is_good)
    if not is_good:
        print(*notes, sep='\n# ', end='\n')
    print(f'{"ok" if is_good else "not ok"} {count} - {name}')


def finish():
    print(f'1..{count}')
    sys.exit(failed > 0)
