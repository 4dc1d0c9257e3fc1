#!/usr/bin/env python3
"""Renders the Helm chart as an operator would: the default, each value changed, whole arrangements, and values that are wrong."""

import json
import re
import tempfile

import support
from support import ROOT, check, load_yaml, run

CHART = ROOT / 'deploy/helm/winnow'
GPU = {'gpu': {'enabled': True}}
POD_MPS = {'gpu': {'enabled': True, 'mps': {'mode': 'pod'}}}
NODE_MPS = {'gpu': {'enabled': True, 'mps': {'mode': 'node'}}}
CLIENTS = [{'podSelector': {'matchLabels': {'app': 'router'}}}]
TLS = {'tls': {'enabled': True, 'secretName': 'certificates'}, 'networkPolicy': {'clientsFrom': CLIENTS}}
MONITOR = {'podMonitor': {'enabled': True}}
CLAIM = 'ResourceClaimTemplate'

# Every value of values.yaml: what it is changed to, and in which arrangement that must show.
CHANGES = {
    'replicas': (3, {}),
    'strategy': ({'type': 'Recreate'}, {}),
    'imagePullSecrets': ([{'name': 'registry'}], {}),
    'nodeSelector': ({'gpu': 'h200'}, {}),
    'tolerations': ([{'key': 'gpu', 'operator': 'Exists'}], {}),
    'affinity': ({'podAntiAffinity': {'requiredDuringSchedulingIgnoredDuringExecution': [
        {'topologyKey': 'kubernetes.io/hostname'}]}}, {}),
    'image.repository': ('registry.example/winnow', {}),
    'image.tag': ('1.2.3', {}),
    'image.pullPolicy': ('Always', {}),
    'config.threads': (5, {}),
    'config.drain-timeout': ('45s', {}),
    'env': ([{'name': 'NVIDIA_VISIBLE_DEVICES', 'value': 'GPU-1'}], {}),
    'resources.requests.cpu': ('3', {}),
    'resources.requests.memory': ('5Gi', {}),
    'resources.limits.cpu': ('4', {}),
    'resources.limits.memory': ('6Gi', {}),
    'metricsPort': (9999, {}),
    'gpu.enabled': (True, {}),
    'gpu.deviceClassName': ('mig.nvidia.com', GPU),
    'gpu.resourceClaimTemplateName': ('mine', GPU),
    'gpu.mps.mode': ('pod', GPU),
    'gpu.mps.image': ('registry.example/cuda:13', POD_MPS),
    'gpu.mps.nodePipeDirectory': ('/run/mps', NODE_MPS),
    'tls.enabled': (True, {**TLS, 'tls': {'secretName': 'certificates'}}),
    'tls.secretName': ('other', TLS),
    'tls.port': (8443, TLS),
    'sharedMemory': ('3Gi', {}),
    'user': (1001, {}),
    'terminationGracePeriodSeconds': (90, {}),
    'engine.name': ('vllm', {}),
    'engine.image': ('registry.example/engine:1', {}),
    'engine.command': (['/bin/engine'], {}),
    'engine.args': (['--model=m'], {}),
    'engine.env': ([{'name': 'MODEL', 'value': 'm'}], {}),
    'engine.ports': ([{'name': 'http', 'containerPort': 8000}], {}),
    'engine.volumeMounts': ([{'name': 'models', 'mountPath': '/models'}], {'volumes': [{'name': 'models', 'emptyDir': {}}]}),
    'engine.securityContext.allowPrivilegeEscalation': (None, {}),  # the checks demand it as it is
    'engine.securityContext.readOnlyRootFilesystem': (False, {}),
    'engine.securityContext.capabilities.drop': (None, {}),
    'engine.resources.requests.cpu': ('200m', {}),
    'engine.resources.requests.memory': ('1Gi', {}),
    'engine.resources.limits.cpu': ('8', {}),
    'engine.resources.limits.memory': ('9Gi', {}),
    'volumes': ([{'name': 'models', 'emptyDir': {}}], {}),
    'networkPolicy.enabled': (False, {}),
    'networkPolicy.metricsFrom': ([{'podSelector': {}}], {}),
    'networkPolicy.clientsFrom': ([{'ipBlock': {'cidr': '10.0.0.0/8'}}], TLS),
    'networkPolicy.ingress': ([{'ports': [{'protocol': 'TCP', 'port': 8000}]}], {}),
    'podMonitor.enabled': (True, {}),
    'podMonitor.interval': ('30s', MONITOR),
    'podMonitor.labels': ({'release': 'prometheus'}, MONITOR),
}

# Values that are wrong, and what the refusal must say.
REFUSALS = [
    ({'replica': 2}, 'replica'),
    ({'replicas': 'two'}, 'replicas'),
    ({'metricsPort': 0}, 'metricsPort'),
    ({'metricsPort': 70000}, 'metricsPort'),
    ({'user': 0}, 'user'),
    ({'image': {'pullPolicy': 'Sometimes'}}, 'IfNotPresent'),
    ({'config': {'max-queued-byte': '1G'}}, 'max-queued-byte'),
    ({'config': {'listen': ['unix:/tmp/x.sock']}}, 'config.listen is the chart\'s own'),
    ({'config': {'insecure-http-listen': ['0.0.0.0:1']}}, 'metricsPort'),
    ({'resources': {'limits': {'cpu': '2', 'memory': 'much'}}}, 'memory'),
    ({'resources': {'limits': None}}, 'limits'),
    ({'sharedMemory': '1 GB'}, 'sharedMemory'),
    ({'gpu': {'mps': {'mode': 'yes'}}}, 'node'),
    ({'gpu': {'mps': {'mode': 'pod'}}}, 'set gpu.enabled'),
    ({'gpu': {'enabled': True, 'mps': {'nodePipeDirectory': 'mps'}}}, 'nodePipeDirectory'),
    ({'tls': {'enabled': True}, 'networkPolicy': {'enabled': False}}, 'tls.secretName is empty'),
    ({'tls': TLS['tls']}, 'networkPolicy.clientsFrom is empty'),
    ({'tls': {'port': 9464}}, 'tls.port and metricsPort are both 9464'),
    ({'networkPolicy': {'metricsFrom': []}}, 'metricsFrom'),
    ({'networkPolicy': {'metricsFrom': None}}, 'metricsFrom'),
    ({'podMonitor': {'interval': 15}}, 'interval'),
]


def helm(verb, values, *flags, kubernetes='1.34.0'):
    with tempfile.NamedTemporaryFile('w', suffix='.yaml') as file:
        json.dump(values, file)  # JSON is YAML
        file.flush()
        words = ['lint', CHART] if verb == 'lint' else ['template', 'demo', CHART]
        return run(HELM, *words, f'--kube-version={kubernetes}', f'--values={file.name}', *flags)


def render(values):
    """The objects, each of them checked; and the settings that the server then has."""
    import yaml
    code, output = helm('template', values)
    check(code == 0, output)
    documents = [each for each in yaml.safe_load_all(output) if each]
    settings = kubernetes_objects.check_all(documents, f'rendered with {values}')
    return documents, settings


def of_kind(documents, kind):
    return [each for each in documents if each['kind'] == kind]


def pod_of(documents):
    return of_kind(documents, 'Deployment')[0]['spec']['template']['spec']


def merged(values, more):
    result = dict(values)
    for key, value in more.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result


def leaves(values, prefix=()):
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*prefix, key))
        else:
            yield (*prefix, key)


def each_value_shows(values):
    known = {'.'.join(path): path for path in leaves(values)}
    check(set(known) == set(CHANGES), f'each value has a case: {sorted(set(known) ^ set(CHANGES))}')
    before = {}
    for name, (value, arrangement) in CHANGES.items():
        if value is None:
            continue
        change = value
        for part in reversed(known[name]):
            change = {part: change}
        base = json.dumps(arrangement)
        if base not in before:
            before[base] = render(arrangement)[0]
        documents, _ = render(merged(arrangement, change))
        check(documents != before[base], f'{name} changes what is rendered')
        if not isinstance(value, bool):
            wanted = value if not isinstance(value, (dict, list)) else next(iter(leaves({'': value})))[-1]
            check(str(wanted) in str(documents) or isinstance(value, list), f'{name}: {wanted} is rendered')


def sidecar_on_the_cpu():
    documents, settings = render({})
    check({each['kind'] for each in documents} == {'ConfigMap', 'Deployment', 'NetworkPolicy'}, 'what a default makes')
    check('backend: "cpu"  # /' in settings and 'threads: "2"' in settings, settings)
    check('resourceClaims' not in pod_of(documents), 'no device is asked for')


def large_numbers_stay_whole():
    _, settings = render({'config': {'max-queued-bytes': 1500000001, 'allow-uids': [1000, 65532], 'tcp-admin': False}})
    check('max-queued-bytes: "1500000001"' in settings, settings)
    check('allow-uids: ["1000", "65532"]' in settings and 'tcp-admin: "false"  # /' in settings, settings)


def one_gpu_for_both():
    documents, settings = render(GPU)
    check('backend: "cuda"  # /' in settings, 'no device, no service')
    claim = of_kind(documents, CLAIM)[0]['metadata']['name']
    pod = pod_of(documents)
    check(pod['resourceClaims'] == [{'name': 'gpu', 'resourceClaimTemplateName': claim}], 'the pod has the claim')
    check(pod['initContainers'][0]['image'].startswith('winnow-cuda:'), 'the image is the CUDA variant')
    check('nvidia.com/gpu' not in str(pod), 'no second device is asked for')
    check(not of_kind(render(merged(GPU, {'gpu': {'resourceClaimTemplateName': 'mine'}}))[0], CLAIM), 'a template of the operator')
    code, output = helm('template', GPU, kubernetes='1.31.0')
    check(code != 0 and 'needs Kubernetes 1.34, not v1.31.0' in output, output)


def mps_in_the_pod():
    pod = pod_of(render(POD_MPS)[0])
    containers = pod['initContainers'] + pod['containers']
    check([each['name'] for each in containers] == ['mps', 'winnow', 'engine'], 'the daemon starts first')
    for container in containers:
        check({'name': 'CUDA_MPS_PIPE_DIRECTORY', 'value': '/mps/pipe'} in container['env'], f'{container["name"]} finds the daemon')
        mounts = {each['mountPath'] for each in container['volumeMounts']}
        check({'/mps', '/dev/shm'} <= mounts, f'{container["name"]} shares the daemon\'s folders')
    check('hostIPC' not in pod, 'a pod has one IPC namespace as it is')


def mps_of_the_node():
    pod = pod_of(render(NODE_MPS)[0])
    check(pod['hostIPC'] is True, 'the IPC namespace is the daemon\'s')
    check([each['name'] for each in pod['initContainers']] == ['winnow'], 'no daemon of the pod')
    for container in pod['initContainers'] + pod['containers']:
        mounts = {each['mountPath'] for each in container['volumeMounts']}
        check('/tmp/nvidia-mps' in mounts, f'{container["name"]} has the pipe directory')
        check('/dev/shm' not in mounts, f'{container["name"]} has the node\'s /dev/shm, where the daemon meets it')


def clients_over_tls():
    documents, settings = render(TLS)
    for wanted in 'listen: ["unix:/run/winnow/winnow.sock", "0.0.0.0:7443"]', 'tls-client-ca: "/etc/winnow-tls/ca.crt"', \
                  'tls-client-auth: "require"  # default':
        check(wanted in settings, f'{wanted} in {settings}')
    winnow = pod_of(documents)['initContainers'][0]
    check({'name': 'tls', 'mountPath': '/etc/winnow-tls', 'readOnly': True} in winnow['volumeMounts'], 'the secret is mounted')
    check('tls' not in {each['name'] for each in pod_of(documents)['containers'][0]['volumeMounts']}, 'for Winnow alone')
    rule = of_kind(documents, 'NetworkPolicy')[0]['spec']['ingress'][1]
    check(rule == {'from': CLIENTS, 'ports': [{'protocol': 'TCP', 'port': 7443}]}, 'clients get in, and nobody else')


def settings_restart_the_pods():
    def checksum(values):
        return of_kind(render(values)[0], 'Deployment')[0]['spec']['template']['metadata']['annotations']['checksum/config']
    check(len({checksum(each) for each in ({}, {'config': {'threads': 3}}, {'metricsPort': 9000})}) == 3,
          'a change of the settings, wherever it comes from, starts new pods')


def wrong_values_are_refused():
    for values, wanted in REFUSALS:
        code, output = helm('template', values)
        check(code != 0 and wanted in output, f'{values}: {output}')
    schema = json.loads((CHART / 'values.schema.json').read_text(encoding='utf-8'))
    settings = re.findall(r'^([a-z-]+):', run(support.SERVER, '--print-config', env={})[1], re.M)
    check(schema['properties']['config']['propertyNames']['enum'] == settings, 'the schema knows the settings of the server')


def main():
    check('v3.' in run(HELM, 'version', '--short')[1], 'helm runs')
    for values in {}, POD_MPS, NODE_MPS, TLS, MONITOR:
        code, output = helm('lint', values, '--strict')
        check(code == 0, output)
    for case in (sidecar_on_the_cpu, large_numbers_stay_whole, one_gpu_for_both, mps_in_the_pod, mps_of_the_node,
                 clients_over_tls, settings_restart_the_pods, wrong_values_are_refused):
        case()
    each_value_shows(load_yaml(CHART / 'values.yaml')[0])
    print(f'{len(CHANGES)} values changed, {len(REFUSALS)} wrong ones refused')


if __name__ == '__main__':
    HELM = support.use_chart_tools() / 'helm'
    import kubernetes_objects
    main()
