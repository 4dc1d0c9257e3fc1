#!/usr/bin/env python3
"""Opens the status page in headless Chromium, beside a server that works, and reads what it shows.

With --pictures FOLDER it also saves what it looks like: light, dark, and as wide as a phone.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

import support
from support import check, run

SIZES = {'light': ('1280,1500', []), 'dark': ('1280,1500', ['--force-dark-mode', '--enable-features=WebContentsForceDark']),
         'phone': ('412,2400', [])}


def browser():
    for name in 'chromium', 'chromium-browser', 'google-chrome':
        if shutil.which(name):
            return name
    support.skip('chromium is not installed')


def chromium(name, profile, *flags, timeout=90):
    return subprocess.run([name, '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
                           '--hide-scrollbars', f'--user-data-dir={profile}', *flags],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=timeout, check=False).stdout


def main():
    name = browser()
    with support.Server('--http-listen=127.0.0.1:0') as server:
        url = f'http://{server.field("http")}/'
        stop = threading.Event()
        command = support.topk_files(server.folder)
        refused = [word.replace('/lengths.npy', '/too_long.npy') for word in command]

        run(support.CLI, *command, f'--target={server.target}')
        run(support.CLI, *refused, f'--target={server.target}')

        def work():
            while not stop.is_set():
                run(support.CLI, *command, f'--target={server.target}')
                run(support.CLI, *refused, f'--target={server.target}')

        worker = threading.Thread(target=work)
        worker.start()
        try:
            profile = tempfile.mkdtemp(dir=server.folder)
            page = chromium(name, profile, '--virtual-time-budget=9000', '--dump-dom', url).decode()
            readings = re.search(r'data-readings="(\d+)"', page)
            check(readings and int(readings[1]) >= 2, 'the page reads the server more than once')
            check('>serving<' in page, 'it says that the server serves')
            check(re.search(r'<code>TopK</code>', page), 'it names the method that was called')
            check('LENGTH_OUT_OF_RANGE' in page, 'it shows why requests failed')
            check(not re.search(r'(?:src|href)="', page), 'it loads nothing from elsewhere')
            if '--pictures' in sys.argv:
                folder = pathlib.Path(sys.argv[sys.argv.index('--pictures') + 1])
                for kind, (size, flags) in SIZES.items():
                    chromium(name, profile, *flags, f'--window-size={size}', '--virtual-time-budget=30000',
                             f'--screenshot={folder}/status-{kind}.png', url)
        finally:
            stop.set()
            worker.join()


if __name__ == '__main__':
    os.environ.setdefault('HOME', '/tmp')
    main()
