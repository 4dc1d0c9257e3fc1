#!/usr/bin/env python3
"""Checks the files of deploy/ one kind at a time: deploy_files.py kubernetes|chart|rules|dashboard|unit|compose.

Kubernetes objects are checked against the published schemas where the Python module kubernetes_validate is installed;
otherwise only the structural checks below run, and the test says so.
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
SCHEMAS = '1.34'


def against_schema(document, name):
    """Whether there was a schema."""
    try:
        import kubernetes_validate
    except ImportError:
        return False
    try:
        kubernetes_validate.validate(document, SCHEMAS, strict=True)
    except kubernetes_validate.SchemaNotFoundError:
        check(document['kind'] == 'PodMonitor', f'{name}: {document["kind"]} has no schema')
        return False
    except kubernetes_validate.ValidationError as error:
        check(False, f'{name}: {error}')
    return True


def check_container(name, container):
    security = container['securityContext']
    check(security['readOnlyRootFilesystem'] is True, f'{name}: the root filesystem is read-only')
    check(security['allowPrivilegeEscalation'] is False, f'{name}: no privileges can be gained')
    check(security['capabilities'] == {'drop': ['ALL']}, f'{name}: no capabilities')
    check({'requests', 'limits'} <= container['resources'].keys(), f'{name}: resources are bounded')


def check_deployment(document):
    pod = document['spec']['template']['spec']
    check(pod['securityContext']['runAsNonRoot'] is True, 'the pod runs as an ordinary user')
    sidecars = [c for c in pod['initContainers'] if c.get('restartPolicy') == 'Always']
    check(any(c['name'] == 'winnow' for c in sidecars), 'Winnow is a native sidecar')
    for container in pod['initContainers'] + pod['containers']:
        check_container(container['name'], container)
        mounts = {mount['name'] for mount in container['volumeMounts']}
        check(mounts <= {volume['name'] for volume in pod['volumes']}, f'{container["name"]}: every mount has a volume')
    by_name = {c['name']: c for c in pod['initContainers'] + pod['containers']}
    shared = {m['name'] for m in by_name['winnow']['volumeMounts']} & {m['name'] for m in by_name['engine']['volumeMounts']}
    check({'sockets', 'shared-memory'} <= shared, 'Winnow and the engine share sockets and memory')
    claims = [c['resources'].get('claims') for c in by_name.values()]
    check(all(claim == claims[0] for claim in claims), 'every container uses the same device')
    flags = [arg for arg in by_name['winnow']['args'] if not arg.startswith('--config')]
    code, output = run(support.SERVER, '--print-config', *flags)
    check(code == 0, f'the server takes the flags: {output}')


def kubernetes():
    checked = 0
    for path in sorted((DEPLOY / 'kubernetes').glob('*.yaml')):
        for document in load_yaml(path):
            checked += against_schema(document, path.name)
            if document['kind'] == 'Deployment':
                check_deployment(document)
    print(f'{checked} objects held against the schemas of Kubernetes {SCHEMAS}' if checked
          else 'structural checks only: the Python module kubernetes_validate is not installed')


def names_of(values, whole, prefix=''):
    """The dotted names of all values; those in `whole` are taken as they are, whatever is below them."""
    for key, value in values.items():
        name = prefix + key
        if isinstance(value, dict) and value and name not in whole:
            yield from names_of(value, whole, name + '.')
        else:
            yield name


def chart():
    values = load_yaml(DEPLOY / 'helm/winnow/values.yaml')[0]
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / 'winnow.yaml'
        config.write_text(json.dumps(values['config']), encoding='utf-8')  # JSON is YAML
        code, output = run(support.SERVER, f'--config={config}', '--print-config')
    check(code == 0, f'the server takes the chart\'s settings: {output}')
    used = set()
    for path in sorted((DEPLOY / 'helm/winnow/templates').iterdir()):
        for name in re.findall(r'\.Values\.([A-Za-z.]+)', path.read_text(encoding='utf-8')):
            used.add(name)
            node = values
            for part in name.split('.'):
                check(part in node, f'{path.name}: values.yaml has {name}')
                node = node[part]
    for name in names_of(values, used):
        check(name in used, f'a template uses {name} of values.yaml')
    if support.shutil.which('helm') is None:
        print('structural checks only: helm is not installed, so the chart was not rendered')
        return
    code, output = run('helm', 'template', 'demo', DEPLOY / 'helm/winnow')
    check(code == 0, output)
    import yaml
    for document in yaml.safe_load_all(output):
        if document:
            against_schema(document, 'rendered chart')
            if document['kind'] == 'Deployment':
                check_deployment(document)


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
    code, output = run(support.SERVER, '--print-config', *services['winnow']['command'])
    check(code == 0, output)
    print('structural checks only: the schema of compose files is not packaged')


if __name__ == '__main__':
    os.environ.pop('WINNOW_CONFIG', None)
    {'kubernetes': kubernetes, 'chart': chart, 'rules': rules, 'dashboard': dashboard, 'unit': unit,
     'compose': compose}[sys.argv[1]]()
