#!/usr/bin/env python3
"""Checks the files of deploy/ one kind at a time: deploy_files.py kubernetes|rules|dashboard|unit|compose.

The chart has a test of its own, chart.py.
"""

import json
import os
import pathlib
import re
import sys
import tempfile

import support
from support import ROOT, check, load_yaml, need, run

DEPLOY = ROOT / 'deploy'


def kubernetes():
    support.use_chart_tools()
    import kubernetes_objects
    files = {path.name: load_yaml(path) for path in sorted((DEPLOY / 'kubernetes').glob('*.yaml'))}
    for name, documents in files.items():
        # What selects the pods of one file lies in another.
        others = [each for other, all_of in files.items() if other != name for each in all_of if each['kind'] != 'Deployment']
        kubernetes_objects.check_all(documents, name, [*others] if 'sidecar' in name else [])
    gpu_manifest(files['sidecar-gpu.yaml'])
    print(f'{sum(len(each) for each in files.values())} objects held against the schemas of Kubernetes')


def gpu_manifest(documents):
    """Each fact that sharing a GPU depends on."""
    claim, deployment = documents
    pod = deployment['spec']['template']['spec']
    containers = pod['initContainers'] + pod['containers']
    check([c['name'] for c in containers] == ['mps', 'winnow', 'engine'], 'the daemon starts first, then Winnow, then the engine')
    check(pod['resourceClaims'][0]['resourceClaimTemplateName'] == claim['metadata']['name'], 'the claim is the one made here')
    check(claim['spec']['spec']['devices']['requests'][0]['exactly']['count'] == 1, 'it is of one device')
    for container in containers:
        name = container['name']
        check('nvidia.com/gpu' not in str(container['resources']), f'{name}: nvidia.com/gpu would be another device')
        check(container['resources']['claims'] == [{'name': 'gpu'}], f'{name}: uses the claim')
        pipe = [each['value'] for each in container['env'] if each['name'] == 'CUDA_MPS_PIPE_DIRECTORY']
        check(pipe == ['/mps/pipe'], f'{name}: finds the daemon')
        mounts = {each['mountPath']: each['name'] for each in container['volumeMounts']}
        check(mounts['/mps'] == 'mps' and mounts['/dev/shm'] == 'shared-memory', f'{name}: shares the daemon\'s folders')
        check('runAsUser' not in container['securityContext'], f'{name}: is of the pod\'s one user')
    check('hostIPC' not in pod and 'shareProcessNamespace' not in pod, 'a pod has one IPC namespace as it is')
    check('--backend=cuda' in containers[1]['args'][0], 'without a device it does not serve')


def rules():
    for alert in load_yaml(DEPLOY / 'prometheus/winnow-rules.yaml')[0]['groups'][0]['rules']:
        heading = f'### {alert["alert"]}'
        check(heading in (DEPLOY / 'README.md').read_text(encoding='utf-8'), f'the runbook has "{heading}"')
        tests = load_yaml(DEPLOY / 'prometheus/winnow-rules-test.yaml')[0]['tests']
        fired = {case['alertname'] for test in tests for case in test['alert_rule_test'] if case['exp_alerts']}
        check(alert['alert'] in fired, f'a test of the rules makes {alert["alert"]} fire')
    need('promtool')
    for command in ('check', 'rules', 'winnow-rules.yaml'), ('test', 'rules', 'winnow-rules-test.yaml'):
        code, output = run('promtool', *command, cwd=DEPLOY / 'prometheus')
        check(code == 0, output)


def dashboard():
    """Every metric that a panel or an alert asks for is one that a server has."""
    with support.Server('--http-listen=127.0.0.1:0') as server:
        code, text = run('curl', '-sf', f'http://{server.field("http")}/metrics')
        check(code == 0, 'the metrics are served')
    need_promtool = support.shutil.which('promtool')
    if need_promtool:
        code, output = run('promtool', 'check', 'metrics', input=text.encode())
        check('error' not in output.lower(), output)
    known = set(re.findall(r'^# TYPE (\S+)', text, re.M)) | {'winnow_errors_total'}  # made by the first error
    asked = (DEPLOY / 'grafana/winnow.json').read_text() + (DEPLOY / 'prometheus/winnow-rules.yaml').read_text()
    json.loads((DEPLOY / 'grafana/winnow.json').read_text())
    for name in sorted(set(re.findall(r'\bwinnow_[a-z_]+', asked))):
        check(re.sub(r'_(bucket|sum|count)$', '', name) in known or name in known, f'a server has {name}')
    documented = set(re.findall(r'^\| `(winnow_[a-z_]+)`', (ROOT / 'docs/metrics.md').read_text(encoding='utf-8'), re.M))
    check(documented == known, f'docs/metrics.md describes what a server has: {sorted(documented ^ known)}')


def unit():
    need('systemd-analyze')
    code, output = run(support.SERVER, f'--config={DEPLOY}/systemd/winnow.yaml', '--print-config')
    check(code == 0, f'the server takes the settings: {output}')
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'winnow.service'
        text = (DEPLOY / 'systemd/winnow.service').read_text(encoding='utf-8')
        path.write_text(text.replace('/usr/bin/winnow-server', support.SERVER), encoding='utf-8')
        code, output = run('systemd-analyze', 'verify', path)
        check(code == 0 and 'winnow.service:' not in output, output)
        code, output = run('systemd-analyze', 'security', '--offline=true', '--threshold=25', '--no-pager', path)
        check(code == 0, output[-300:])


def compose():
    services = load_yaml(DEPLOY / 'compose.yaml')[0]['services']
    for name, service in services.items():
        check(service['read_only'] is True and service['cap_drop'] == ['ALL'], f'{name} has no privileges')
        check(service['user'] == '65532:65532', f'{name} is an ordinary user')
        check('sockets:/run/winnow' in service['volumes'], f'{name} has the sockets')
    gpu = load_yaml(DEPLOY / 'compose.gpu.yaml')[0]['services']
    check(set(services) < set(gpu), 'every service has the GPU')
    for name, service in gpu.items():
        check(service['deploy'] == gpu['mps']['deploy'], f'{name} has the same device')
        check(service['environment']['CUDA_MPS_PIPE_DIRECTORY'] == '/mps/pipe', f'{name} finds the daemon')
        check('mps:/mps' in service['volumes'], f'{name} has the pipe directory')
        check(service['ipc'] == ('shareable' if name == 'mps' else 'service:mps'), f'{name} is of the daemon\'s IPC namespace')
        check({**services.get(name, {}), **service}['user'] == '65532:65532', f'{name} is of the one user')
        check({**services.get(name, {}), **service}['read_only'] is True, f'{name} has no privileges')
    for each in services, gpu:
        code, output = run(support.SERVER, '--print-config', *each['winnow']['command'])
        check(code == 0, output)
    print('structural checks only: the schema of compose files is not packaged')


if __name__ == '__main__':
    os.environ.pop('WINNOW_CONFIG', None)
    {'kubernetes': kubernetes, 'rules': rules, 'dashboard': dashboard, 'unit': unit,
     'compose': compose}[sys.argv[1]]()
