"""Whether objects of Kubernetes are valid, and hold together. For Python that has kubernetes_validate (use_chart_tools)."""

import tempfile

import kubernetes_validate

import support
from support import check, run

SCHEMAS = '1.34'
SOCKET_PROBE = '--target=unix:/run/winnow/winnow.sock'


def against_schema(document, name):
    check(document.get('kind'), f'{name}: every object has a kind')
    if document['kind'] == 'PodMonitor':  # of an operator: its schema is not among those of Kubernetes
        check(document['apiVersion'] == 'monitoring.coreos.com/v1', f'{name}: version of PodMonitor')
        check(set(document['spec']) == {'selector', 'podMetricsEndpoints'}, f'{name}: fields of PodMonitor')
        return
    try:
        kubernetes_validate.validate(document, SCHEMAS, strict=True)
    except kubernetes_validate.ValidationError as error:
        check(False, f'{name}: {document["kind"]}: {error}')


def check_container(name, container, pod):
    security = container['securityContext']
    check(security['allowPrivilegeEscalation'] is False, f'{name}: no privileges can be gained')
    check(security['capabilities'] == {'drop': ['ALL']}, f'{name}: no capabilities')
    if name in ('winnow', 'mps'):
        check(security['readOnlyRootFilesystem'] is True, f'{name}: the root filesystem is read-only')
    check({'requests', 'limits'} <= container['resources'].keys(), f'{name}: resources are bounded')
    mounts = [mount['name'] for mount in container['volumeMounts']]
    check(len({mount['mountPath'] for mount in container['volumeMounts']}) == len(mounts), f'{name}: each mount has its path')
    check(set(mounts) <= {volume['name'] for volume in pod['volumes']}, f'{name}: every mount has a volume')
    ports = {port['name'] for port in container.get('ports', []) if 'name' in port}
    for probe in ('livenessProbe', 'readinessProbe'):
        if probe in container:
            check(container[probe]['httpGet']['port'] in ports, f'{name}: {probe} asks a port of the container')


def settings_of(container, documents):
    """The flags that give the server the settings of the pod: those of its arguments, or of its ConfigMap."""
    flags = [arg for arg in container['args'] if not arg.startswith('--config')]
    text = [document['data']['winnow.yaml'] for document in documents if document['kind'] == 'ConfigMap']
    with tempfile.NamedTemporaryFile('w', suffix='.yaml') as file:
        file.write(''.join(text))
        file.flush()
        return run(support.SERVER, '--print-config', *flags, *([f'--config={file.name}'] if text else []), env={})


def check_deployment(deployment, documents):
    pod = deployment['spec']['template']['spec']
    labels = deployment['spec']['template']['metadata']['labels']
    selector = deployment['spec']['selector']['matchLabels']
    check(selector.items() <= labels.items(), 'the Deployment selects its pods')
    check(pod['securityContext']['runAsNonRoot'] is True, 'the pod runs as an ordinary user')
    containers = pod['initContainers'] + pod['containers']
    for container in containers:
        check_container(container['name'], container, pod)
    check(all(c.get('restartPolicy') == 'Always' for c in pod['initContainers']), 'what comes before the engine is a sidecar')
    winnow, engine = pod['initContainers'][-1], pod['containers'][0]
    check(winnow['name'] == 'winnow', 'Winnow is a native sidecar')
    mounts = [{mount['name'] for mount in each['volumeMounts']} for each in (winnow, engine)]
    shared = {'sockets'} if pod.get('hostIPC') else {'sockets', 'shared-memory'}
    check(shared <= mounts[0] & mounts[1], 'Winnow and the engine share sockets and memory')
    claims = [c['resources'].get('claims') for c in containers]
    check(all(claim == claims[0] for claim in claims), 'every container uses the same device')
    check(SOCKET_PROBE in winnow['startupProbe']['exec']['command'], 'the engine waits for the socket')
    code, output = settings_of(winnow, documents)
    check(code == 0, f'the server takes its settings: {output}')
    port = next(port['containerPort'] for port in winnow['ports'] if port['name'] == 'metrics')
    check(f'0.0.0.0:{port}' in output, 'the server serves metrics at the port that is named so')
    check_neighbours(labels, winnow, documents)
    return output


def check_neighbours(labels, winnow, documents):
    """What selects the pods selects these, and means ports that they have."""
    ports = {port['containerPort'] for port in winnow['ports']}
    for document in documents:
        if document['kind'] == 'NetworkPolicy':
            check(document['spec']['podSelector']['matchLabels'].items() <= labels.items(), 'the policy selects the pods')
            check(document['spec']['ingress'][0]['ports'][0]['port'] in ports, 'the policy opens the metrics')
        if document['kind'] == 'PodMonitor':
            check(document['spec']['selector']['matchLabels'].items() <= labels.items(), 'the monitor selects the pods')
            check(document['spec']['podMetricsEndpoints'][0]['port'] == 'metrics', 'the monitor asks for the metrics')


def check_all(documents, name, others=()):
    """Returns what the server makes of the settings of the last Deployment."""
    settings = ''
    for document in documents:
        against_schema(document, name)
    for document in documents:
        if document['kind'] == 'Deployment':
            settings = check_deployment(document, [*documents, *others])
    return settings
