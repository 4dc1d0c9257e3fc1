#!/usr/bin/env python3
"""Builds the image's last stage from the programs of this build and runs it as an unprivileged user with a read-only root.

The stage that compiles is not run: it would build everything again (docker build does). Needs root, buildah, podman, runc.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile

import support
from support import ROOT, check, need, run

IMAGE = f'localhost/winnow-test-{os.getpid()}'
PODMAN = ['podman', '--runtime', '/usr/sbin/runc', '--cgroup-manager=cgroupfs']
LIMITS = ['--network=none', '--ulimit', 'nofile=1024:1024', '--ulimit', 'nproc=1024:1024', '--read-only',
          '--read-only-tmpfs=false', '--user', '65532', '--cap-drop=ALL', '--security-opt=no-new-privileges']
PROBE = ['/usr/bin/winnow', 'probe', '--target=unix:/run/winnow/winnow.sock', '--timeout=5']


def build(folder):
    image_root = folder / 'build/image'
    image_root.mkdir(parents=True)
    code, output = run(ROOT / 'deploy/scripts/image_root.sh', image_root, support.SERVER, support.CLI)
    check(code == 0, output)
    for program in (image_root / 'usr/bin').iterdir():
        run('strip', program)
    empty = folder / 'context'
    empty.mkdir()
    code, output = run('buildah', 'bud', '--format=docker', '--isolation=chroot', '--build-context',
                       f'build={folder}/build', '-f', ROOT / 'deploy/Dockerfile', '-t', IMAGE, empty)
    check(code == 0, output)
    size = int(run(*PODMAN, 'image', 'inspect', '--format', '{{.Size}}', IMAGE)[1].split()[-1])
    print(f'image: {size / 1e6:.0f} MB')
    check(size < 150e6, 'the image is small')
    check('probe' in run(*PODMAN, 'image', 'inspect', '--format', '{{.Config.Healthcheck}}', IMAGE)[1],
          'the image has a health check')


def driver_loads(folder):
    """What the host mounts as a GPU's driver finds its parts of the C library in the image."""
    driver = folder / 'driver/libcuda.so.1'
    driver.parent.mkdir()
    needed = [f'-l:{library}' for library in ('libdl.so.2', 'libpthread.so.0', 'librt.so.1', 'libm.so.6')]
    code, output = run('gcc', '-shared', '-x', 'c', '/dev/null', '-o', driver, '-Wl,--no-as-needed', *needed)
    check(code == 0, output)
    loader = next((folder / 'build/image').glob('usr/lib*/**/ld-linux-*.so.*'))
    code, output = run(*PODMAN, 'run', '--rm', *LIMITS, '-v', f'{driver.parent}:/driver', '--entrypoint',
                       f'/{loader.relative_to(folder / "build/image")}', IMAGE, '--list', '/driver/libcuda.so.1')
    check(code == 0 and 'librt.so.1 =>' in output and 'not found' not in output,
          'the libraries that a driver needs are in the image: ' + output)


def inside(name, *command):
    return run(*PODMAN, 'exec', name, *command)


def serve(folder):
    sockets = folder / 'sockets'
    sockets.mkdir(mode=0o770)
    os.chown(sockets, 65532, 65532)
    os.chmod(sockets, 0o770)
    name = f'winnow-test-{os.getpid()}'
    code, output = run(*PODMAN, 'run', '-d', '--name', name, *LIMITS, '-v', f'{sockets}:/run/winnow', IMAGE,
                       '--backend=cpu', '--threads=1')
    check(code == 0, output)
    try:
        code = 1
        for _ in range(50):
            code, output = inside(name, *PROBE)
            if code == 0:
                break
        check(code == 0, 'the probe of the health check succeeds: ' + output)
        host = f'/proc/{int(run(*PODMAN, "inspect", "--format", "{{.State.Pid}}", name)[1].split()[-1])}/status'
        status = dict(line.split(':\t', 1) for line in pathlib.Path(host).read_text().splitlines() if ':\t' in line)
        check(status['Uid'].split()[0] == '65532', 'it runs as an ordinary user')
        check(int(status['CapEff'], 16) == 0 and status['NoNewPrivs'] == '1', 'it has no privileges')
        code, output = inside(name, '/usr/bin/winnow-server', '--listen=unix:/etc/x.sock')
        check(code == 1 and 'Read-only file system' in output, 'nothing but the volume can be written: ' + output)
        code, output = inside(name, '/usr/bin/winnow-server', '--backend=cuda', '--listen=unix:/run/winnow/cuda.sock')
        check(code == 1 and '--backend=cuda: ' in output, 'a GPU that is not there is asked for, and named: ' + output)
        demo(folder, sockets)
        code, _ = run(*PODMAN, 'stop', '-t', '30', name)
        check(code == 0, 'it stops')
        exit_code = run(*PODMAN, 'inspect', '--format', '{{.State.ExitCode}}', name)[1].split()[-1]
        check(exit_code == '0', f'SIGTERM ends it with 0, not {exit_code}')
        check(not list(sockets.iterdir()), 'nothing is left in the volume')
    finally:
        run(*PODMAN, 'rm', '-f', name)


def demo(folder, sockets):
    """A client of the host on the shared socket."""
    command = support.topk_files(folder)
    for work in (command, ['demo', '--no-picture']):
        code, output = run(support.CLI, *work, f'--target=unix:{sockets}/winnow.sock')
        check(code == 0, output)


def main():
    if os.getuid() != 0:
        support.skip('building an image here needs root')
    need('buildah', 'podman', 'runc')
    folder = pathlib.Path(tempfile.mkdtemp(prefix='winnow-container.'))
    try:
        build(folder)
        driver_loads(folder)
        serve(folder)
    finally:
        subprocess.run([*PODMAN, 'rmi', '-f', IMAGE], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(folder)


if __name__ == '__main__':
    main()
