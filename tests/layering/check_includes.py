#!/usr/bin/env python3
"""Checks that a file includes, itself or through headers of this project, what declares the names of libraries that it uses.

A library's header that comes along with another one's does so in some versions only.

  check_includes.py ROOT
  check_includes.py --self-test     checks that it finds what is missing and nothing else
"""

import pathlib
import re
import sys
import tempfile

FOLDERS = ('client', 'examples', 'kernels', 'server', 'tests')
# Names, and the headers that declare them.
HEADERS = {
    r'absl::(StrCat|StrAppend|AlphaNum|Hex)\b': ['absl/strings/str_cat.h'],
    r'absl::(StrFormat|StrAppendFormat|FormatUntyped)\b': ['absl/strings/str_format.h'],
    r'absl::StrJoin\b': ['absl/strings/str_join.h'],
    r'absl::(StrSplit|ByChar|SkipEmpty|MaxSplits)\b': ['absl/strings/str_split.h'],
    r'absl::(StrReplaceAll)\b': ['absl/strings/str_replace.h'],
    r'absl::(StartsWith|EndsWith|StrContains|EqualsIgnoreCase)\b': ['absl/strings/match.h'],
    r'absl::(ConsumePrefix|ConsumeSuffix|StripPrefix|StripSuffix)\b': ['absl/strings/strip.h'],
    r'absl::(SimpleAto[ifdb]|SimpleHexAtoi)\b': ['absl/strings/numbers.h'],
    r'absl::(BytesToHexString|HexStringToBytes|CHexEscape|CEscape|Base64Escape|Base64Unescape)\b': ['absl/strings/escaping.h'],
    r'absl::(ascii_\w+|AsciiStrTo\w+|StripAsciiWhitespace|StripTrailingAsciiWhitespace)\b': ['absl/strings/ascii.h'],
    r'absl::string_view\b': ['absl/strings/string_view.h', 'absl/strings/'],
    r'absl::StatusOr\b': ['absl/status/statusor.h'],
    r'absl::(Status|OkStatus|StatusCode|\w+Error|Is[A-Z]\w+)\b': ['absl/status/'],
    r'absl::(Time|Duration|Seconds|Milliseconds|Microseconds|Nanoseconds|Minutes|Hours|ZeroDuration|InfiniteDuration|InfinitePast|'
    r'InfiniteFuture|FormatDuration|FormatTime|To[A-Z]\w*Seconds|ToChrono\w*|FromChrono|UnixEpoch)\b':
        ['absl/time/'],
    r'absl::(Now|SleepFor)\b': ['absl/time/clock.h'],
    r'absl::(Span|MakeSpan|MakeConstSpan)\b': ['absl/types/span.h'],
    r'absl::(Mutex|MutexLock|ReaderMutexLock|CondVar|Condition)\b': ['absl/synchronization/mutex.h'],
    r'absl::Notification\b': ['absl/synchronization/notification.h'],
    r'absl::(flat_hash_map|flat_hash_set)\b': ['absl/container/'],
    r'absl::AnyInvocable\b': ['absl/functional/any_invocable.h'],
    r'absl::FunctionRef\b': ['absl/functional/function_ref.h'],
    r'absl::Cleanup\b': ['absl/cleanup/cleanup.h'],
    r'\bABSL_(GUARDED_BY|EXCLUSIVE_LOCKS_REQUIRED|LOCKS_EXCLUDED|SHARED_LOCKS_REQUIRED|NO_THREAD_SAFETY_ANALYSIS)\b':
        ['absl/base/thread_annotations.h', 'absl/synchronization/mutex.h'],
    r'\bstd::(sort|stable_sort|min|max|copy|copy_n|fill|fill_n|find|find_if|any_of|all_of|none_of|nth_element|partial_sort|clamp|'
    r'lower_bound|upper_bound|reverse|transform|unique|equal|count|count_if|min_element|max_element|generate|shuffle|swap_ranges|'
    r'remove_if|is_sorted|replace)\(': ['algorithm'],
    r'\bstd::(iota|accumulate|partial_sum|reduce|gcd)\(': ['numeric'],
    r'\bstd::(memcpy|memset|memcmp|memmove|strncpy|strerror|strlen|strcmp)\(': ['cstring'],
    r'\bstd::(abort|exit|getenv|atoi|strtol|strtoll|strtod|_Exit|aligned_alloc|malloc|free)\(': ['cstdlib'],
    r'\bstd::(printf|fprintf|fopen|fclose|fputs|fwrite|fread|snprintf|fflush|perror|remove|rename|FILE)\b': ['cstdio', 'filesystem'],
    r'\bstd::numeric_limits\b': ['limits'],
    r'\bstd::(unique_ptr|shared_ptr|make_unique|make_shared|weak_ptr|enable_shared_from_this)\b': ['memory'],
    r'\bstd::optional\b': ['optional'],
    r'\bstd::(variant|visit|get_if|holds_alternative|monostate)\b': ['variant'],
    r'\bstd::(string|to_string)\b': ['string'],
    r'\bstd::vector\b': ['vector'],
    r'\bstd::(map|multimap)\b': ['map'],
    r'\bstd::(set|multiset)\b': ['set'],
    r'\bstd::(unordered_map)\b': ['unordered_map'],
    r'\bstd::array\b': ['array'],
    r'\bstd::deque\b': ['deque'],
    r'\bstd::list\b': ['list'],
    r'\bstd::atomic\b': ['atomic'],
    r'\bstd::(thread|this_thread)\b': ['thread'],
    r'\bstd::(mutex|lock_guard|unique_lock|once_flag|call_once)\b': ['mutex'],
    r'\bstd::function\b': ['functional'],
    r'\bstd::(stop_token|stop_source|stop_callback)\b': ['stop_token'],
    r'\bstd::chrono::': ['chrono'],
    r'\bstd::(bit_cast|countr_zero|countl_zero|popcount|bit_width|has_single_bit|bit_ceil)\b': ['bit'],
    r'\bstd::(pow|sqrt|isnan|isinf|fabs|floor|ceil|log2|log|exp|nextafter|isfinite|round|lround|signbit)\(': ['cmath'],
    r'\bstd::(ifstream|ofstream)\b': ['fstream'],
    r'\bstd::(ostringstream|istringstream|stringstream)\b': ['sstream'],
    r'\bstd::(future|promise|async|packaged_task)\b': ['future'],
    r'\bstd::(minstd_rand|mt19937|mt19937_64|random_device|uniform_\w+|normal_distribution)\b': ['random'],
    r'\b(u?int(8|16|32|64)_t|uintptr_t)\b': ['cstdint'],
}
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.M)
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/', re.S)


def includes(text):
    return set(INCLUDE.findall(text))


def resolve(root, path, name):
    for base in root, root / 'kernels/include', root / 'client/include', path.parent:
        if (base / name).is_file():
            return base / name
    return None


def all_includes(root, path, known):
    """What the file includes, headers of this project included, at any depth."""
    if path not in known:
        known[path] = set()  # ends a circle
        names = includes(path.read_text())
        for header in filter(None, [resolve(root, path, name) for name in names]):
            names = names | all_includes(root, header, known)
        known[path] = names
    return known[path]


def problems_of(root, path, known):
    have = all_includes(root, path, known)
    text = path.read_text()
    code = COMMENT.sub(' ', re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', INCLUDE.sub('', text)))
    for names, headers in HEADERS.items():
        use = re.search(names, code)
        if use and not any(header in have or (header.endswith('/') and any(name.startswith(header) for name in have))
                           for header in headers):
            yield f'{path.relative_to(root)}: uses {use[0].rstrip("(")} without <{headers[0]}>'


def check(root):
    files = [path for folder in FOLDERS for path in sorted((root / folder).rglob('*')) if path.suffix in ('.cc', '.h')]
    known = {}
    return files, [problem for path in files for problem in problems_of(root, path, known)]


def self_test():
    sources = {
        'server/a.h': '#include <string>\n#include "absl/strings/str_cat.h"\nstd::string A();\n',
        'server/through_a_header.cc': '#include "server/a.h"\nstd::string A() { return absl::StrCat(1); }\n',
        'server/by_luck.cc': '#include "grpcpp/server.h"\nint B() { return absl::StrCat(1).size(); }\n',
        'server/said_only.cc': 'const char* C() { return "absl::StrCat"; }  // absl::StrCat\n',
        'server/one_of_several.cc': '#include "absl/status/statusor.h"\nabsl::Status D() { return absl::OkStatus(); }\n',
        'server/standard.cc': '#include "server/a.h"\nint64_t E() { return 0; }\n',
    }
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder).resolve()
        for name, text in sources.items():
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text)
        files, problems = check(root)
    wanted = ['server/by_luck.cc: uses absl::StrCat without <absl/strings/str_cat.h>',
              'server/standard.cc: uses int64_t without <cstdint>']
    if len(files) != len(sources) or problems != wanted:
        sys.exit(f'found {problems}, not {wanted}')


def main():
    if sys.argv[1:] == ['--self-test']:
        return self_test()
    files, problems = check(pathlib.Path(sys.argv[1]).resolve())
    for problem in problems:
        print(problem)
    print(f'{len(files)} files, {len(problems)} problems')
    sys.exit(bool(problems) or not files)


if __name__ == '__main__':
    main()
