"""What the tests of this folder share: where things are, a server of one's own, skipping by name."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(os.environ.get('WINNOW_ROOT', pathlib.Path(__file__).parents[2]))
SERVER = os.environ.get('WINNOW_SERVER', str(ROOT / 'build/server/app/winnow-server'))
CLI = os.environ.get('WINNOW_CLI', str(ROOT / 'build/client/cli/winnow'))


def skip(why):
    print('skipped:', why)
    sys.exit(77)


def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            skip(f'{program} is not installed')


def load_yaml(path):
    try:
        import yaml
    except ImportError:
        skip('the Python module yaml is not installed')
    return [part for part in yaml.safe_load_all(pathlib.Path(path).read_text(encoding='utf-8')) if part]


def use_chart_tools():
    """Goes on in the Python that has the schemas of Kubernetes, with helm beside it; skips where they cannot be had."""
    done = subprocess.run([str(ROOT / 'deploy/scripts/chart_tools.sh')], stdout=subprocess.PIPE, check=False)
    said = done.stdout.decode().strip()
    if done.returncode != 0:
        print(said)
        sys.exit(done.returncode)
    if pathlib.Path(sys.prefix).resolve() != pathlib.Path(said).parent.resolve():
        os.execv(f'{said}/python', [f'{said}/python', *sys.argv])
    return pathlib.Path(said)


def run(*command, **more):
    """Runs to the end; returns (exit code, output)."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=more.pop('timeout', 120), check=False, **more)
    return done.returncode, done.stdout.decode(errors='replace')


def check(condition, what):
    if not condition:
        print('FAILED:', what)
        sys.exit(1)


class Server:
    """A winnow-server on a Unix socket in a folder of its own, until the end of the `with`."""

    def __init__(self, *flags, folder=None):
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix='winnow-deploy.'))
        self._made = folder is None
        self.target = f'unix:{self.folder}/winnow.sock'
        self._log = open(self.folder / 'log', 'a+b')  # noqa: one for several servers of a folder
        self._begin = os.path.getsize(self.folder / 'log')
        self.process = subprocess.Popen([SERVER, '--backend=cpu', '--threads=1', f'--listen={self.target}', *flags],
                                        stderr=self._log)

    def __enter__(self):
        deadline = time.monotonic() + 60
        while 'server ready' not in self.log():
            check(self.process.poll() is None and time.monotonic() < deadline, 'the server starts: ' + self.log())
            time.sleep(0.01)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._log.close()
        if self._made:
            shutil.rmtree(self.folder)

    def log(self):
        return (self.folder / 'log').read_bytes()[self._begin:].decode(errors='replace')

    def field(self, name):
        """A field of the ready line."""
        line = next(line for line in self.log().splitlines() if 'server ready' in line)
        return line.split(f' {name}=', 1)[1].split(' ', 1)[0]

    def stop(self):
        self.process.terminate()
        return self.process.wait(timeout=60)


def topk_files(folder):
    """Scores and lengths of a small request; returns the arguments of `winnow topk`."""
    import struct

    def npy(path, descr, shape, data):
        header = repr({'descr': descr, 'fortran_order': False, 'shape': shape})
        header += ' ' * (63 - (len(header) + 10) % 64) + '\n'
        pathlib.Path(path).write_bytes(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header.encode() + data)

    rows, columns = 4, 1024
    npy(folder / 'scores.npy', '<f4', (rows, columns),
        struct.pack(f'<{rows * columns}f', *[(i * 7919) % 4099 for i in range(rows * columns)]))
    npy(folder / 'lengths.npy', '<i4', (rows,), struct.pack(f'<{rows}i', *[columns] * rows))
    # For requests that the server refuses.
    npy(folder / 'too_long.npy', '<i4', (rows,), struct.pack(f'<{rows}i', *[columns + 1] * rows))
    return ['topk', f'--scores={folder}/scores.npy', f'--lengths={folder}/lengths.npy', '--k=64']
