"""The rules themselves: which folder may include which, and the limits of docs/style.md.

Each rule takes a path (relative to the root, with /) and its text, and yields messages. Next: check_layers.py, which
walks the tree.
"""

import re

import source_text

# Every layer and what it may include besides itself and the standard library. Data flows one way:
# proto -> server/rpc -> server/batching -> server/resources -> server/backend -> kernels.
_PUBLIC_KERNELS = 'kernels/include'
LAYERS = {
    'kernels/include': set(),
    'kernels/cpu': {'kernels/include', 'kernels'},
    'kernels/cuda/primitives': {'kernels/include'},
    'kernels/cuda/tuning': {'kernels/include', 'kernels'},
    'kernels/cuda/runtime': {'kernels/include', 'kernels', 'kernels/cuda/tuning'},
    'kernels/cuda/block': {'kernels/include', 'kernels/cuda/primitives'},
    'kernels/cuda/kernel': {'kernels/include', 'kernels/cuda/primitives', 'kernels/cuda/block', 'kernels/cuda/tuning'},
    'kernels/cuda/testing': {'kernels/include', 'kernels/cuda/tuning'},  # overrides that only tests call
    'kernels/cuda/launch': {'kernels/include', 'kernels', 'kernels/cuda/testing', 'kernels/cuda/primitives', 'kernels/cuda/block',
                            'kernels/cuda/kernel', 'kernels/cuda/tuning', 'kernels/cuda/runtime'},
    'kernels/cuda/instantiate': {'kernels/include', 'kernels', 'kernels/cuda/primitives', 'kernels/cuda/block',
                                 'kernels/cuda/kernel', 'kernels/cuda/tuning', 'kernels/cuda/runtime',
                                 'kernels/cuda/launch'},
    'kernels/cuda': {'kernels/include', 'kernels', 'kernels/cuda/tuning', 'kernels/cuda/runtime',
                     'kernels/cuda/launch'},
    'kernels': {'kernels/include'},
    'server/base': {_PUBLIC_KERNELS},
    'server/backend': {_PUBLIC_KERNELS, 'server/base'},
    'server/resources': {_PUBLIC_KERNELS, 'server/base', 'server/backend'},
    'server/batching': {_PUBLIC_KERNELS, 'server/base', 'server/backend', 'server/resources'},
    'server/rpc': {_PUBLIC_KERNELS, 'server/base', 'server/backend', 'server/resources', 'server/batching', 'proto'},
    'server/app': {_PUBLIC_KERNELS, 'server/base', 'server/backend', 'server/resources', 'server/batching',
                   'server/rpc', 'proto'},
    'client/include': {_PUBLIC_KERNELS},
    'client/src': {_PUBLIC_KERNELS, 'client/include', 'proto'},
    'client/cli': {_PUBLIC_KERNELS, 'client/include', 'proto'},
    'client/loadgen': {_PUBLIC_KERNELS, 'client/include', 'client/cli', 'proto'},
}

_CUDA_HEADER = re.compile(r'^(cuda|cooperative_groups|cub/|thrust/|nvtx|nvml|curand|device_launch_parameters)|\.cuh$')
_CUDA_FOLDERS = ('kernels/cuda/', 'tests/kernels/cuda/', 'tests/gpu/', 'tests/bench/', 'examples/')
_GRPC_HEADER = re.compile(r'^(grpc|grpcpp|google/protobuf|google/rpc|winnow/v1)/|\.pb\.h$|^grpc')
_GRPC_FOLDERS = ('server/rpc/', 'server/app/', 'client/src/', 'client/cli/', 'client/loadgen/', 'tests/testing/',
                 'tests/server/rpc/', 'tests/server/app/', 'tests/client/', 'tests/cli/', 'tests/integration/', 'tests/regression/', 'tests/install/',
                 'tests/bench/', 'tests/fuzz/', 'tests/proto/', 'examples/')
_VAGUE_NAME = re.compile(r'(^|_)(utils?|helpers?|common|manager|misc|fast|new|v\d+)(_|$)')

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 40
MAX_KERNEL_LINES = 120
_KERNEL_FOLDERS = ('kernels/cuda/kernel/', 'kernels/cuda/block/')


def layer_of(path):
    """The longest layer that is a folder of the path, or None."""
    fitting = [layer for layer in LAYERS if path.startswith(layer + '/')]
    return max(fitting, key=len) if fitting else None


def layer_of_include(include, including_path):
    """The layer that a header belongs to; None for the standard library and third parties."""
    if include.startswith('winnow/kernels/'):
        return 'kernels/include'
    if include.startswith('winnow/client/'):
        return 'client/include'
    if include.startswith('winnow/v1/'):
        return 'proto'
    if '/' not in include:  # beside the including file
        return layer_of(including_path)
    return layer_of(include)


def check_direction(path, text):
    layer = layer_of(path)
    if layer is None:
        return
    for include in source_text.includes(text):
        target = layer_of_include(include.path, path)
        if include.path.startswith('tests/'):
            yield f'{path}:{include.line}: product code includes {include.path} of the tests'
        elif include.path.startswith('server/') and target is None:
            yield f'{path}:{include.line}: {include.path} is in no known layer of server/'
        elif target is not None and target != layer and target not in LAYERS[layer]:
            yield f'{path}:{include.line}: {layer} must not include {target} ({include.path})'


def check_third_parties(path, text):
    for include in source_text.includes(text):
        if _CUDA_HEADER.search(include.path) and not path.startswith(_CUDA_FOLDERS):
            yield f'{path}:{include.line}: CUDA header {include.path} outside kernels/cuda'
        if _GRPC_HEADER.search(include.path) and not path.startswith(_GRPC_FOLDERS):
            yield f'{path}:{include.line}: gRPC or proto header {include.path} outside server/rpc, server/app and the client\'s sources'


def check_device_code(path, text):
    if not path.startswith('kernels/') or path.startswith('kernels/cuda/primitives/'):
        return
    for number, line in enumerate(source_text.strip_comments(text).splitlines(), 1):
        if re.search(r'\basm\b', line):
            yield f'{path}:{number}: inline assembly outside kernels/cuda/primitives'
        if '__CUDA_ARCH__' in line:
            yield f'{path}:{number}: architecture switch outside kernels/cuda/primitives'


def check_lengths(path, text):
    lines = text.count('\n')
    if lines > MAX_FILE_LINES:
        yield f'{path}: {lines} lines, the limit is {MAX_FILE_LINES}; split it by idea'
    limit = MAX_KERNEL_LINES if path.startswith(_KERNEL_FOLDERS) else MAX_FUNCTION_LINES
    for function in source_text.functions(text):
        if function.body_lines > limit:
            yield f'{path}:{function.line}: {function.name} has {function.body_lines} lines, the limit is {limit}'


def guard_of(path):
    """The include guard that a header's path spells."""
    spelled = re.sub(r'^(kernels|client)/include/winnow/', '', path)
    return 'WINNOW_' + re.sub(r'[^A-Z0-9]', '_', spelled.upper()) + '_'


def check_guard(path, text):
    # foo-inl.h is the body of several units, each of which includes it once.
    if not path.endswith(('.h', '.cuh')) or path.endswith('-inl.h'):
        return
    guard = guard_of(path)
    if f'#ifndef {guard}\n#define {guard}\n' not in text or f'#endif  // {guard}\n' not in text:
        yield f'{path}: the include guard must be {guard}, with its name after #endif'


def check_reading_order(path, text):
    if path.endswith(('.h', '.cuh')) and not text.startswith('// '):
        yield f'{path}: a header opens with what lives here'
    stem = path.rsplit('/', 1)[-1].split('.')[0]
    if _VAGUE_NAME.search(stem):
        yield f'{path}: the name says nothing about the content'
    for number, line in enumerate(text.splitlines(), 1):
        if re.search(r'\b(TODO|FIXME|XXX)\b(?!\(#\d+\): )', line):
            yield f'{path}:{number}: a TODO names its issue: TODO(#123): ...'


RULES = (check_direction, check_third_parties, check_device_code, check_lengths, check_guard, check_reading_order)
