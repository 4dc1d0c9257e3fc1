"""Reads C++ and CUDA sources for the layer check: includes, comment-free text and function extents.

Not a compiler: it relies on the layout that clang-format gives. Next: rules.py for what is checked.
"""

import dataclasses
import re

_INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)
_NOT_CODE = re.compile(
    r'R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"
    r'|//[^\n]*'
    r'|/\*.*?\*/',
    re.DOTALL)
_DIRECTIVE = re.compile(r'^[ \t]*#(?:[^\n\\]|\\.)*(?:\\\n(?:[^\n\\]|\\.)*)*', re.MULTILINE)
# Before a `{`: what makes it the body of a function (and not of a type, a namespace, an initialiser or a statement).
_FUNCTION_HEAD = re.compile(
    r'\)\s*(?:const|noexcept|override|final|mutable|&{1,2}|'
    r'ABSL_[A-Z_]+\s*\((?:[^()]|\([^()]*\))*\)|'
    r'__[a-z_]+\s*\((?:[^()]|\([^()]*\))*\)|'
    r'requires[^{;]*|->\s*[^{;]+|:\s*[^;]+|\s)*$')
_OTHER_HEAD = re.compile(r'^\s*(?:namespace|class|struct|union|enum|extern\s*"|if|for|while|switch|do|else|try|return)\b')
# A case label, or a return of one constant (whose string literal is blank by then).
_TABLE_LINE = re.compile(r'^\s*(?:case\b[^;]*:|default:|return\s*[\w:]*\s*;)\s*$')


@dataclasses.dataclass(frozen=True)
class Include:
    line: int
    path: str
    angled: bool


@dataclasses.dataclass(frozen=True)
class Function:
    line: int  # of its opening brace
    name: str
    body_lines: int  # between the braces; the labels and plain returns of a switch, which are a table, do not count


def includes(text):
    """The #include lines of a file, in order."""
    code = strip_comments(text, keep_strings=True)
    return [Include(code.count('\n', 0, m.start(1)) + 1, m.group(2), m.group(1) == '<')
            for m in _INCLUDE.finditer(code)]


def strip_comments(text, keep_strings=False):
    """The text with comments (and strings) blanked, every line where it was."""

    def blank(match):
        found = match.group(0)
        if keep_strings and not found.startswith(('//', '/*')):
            return found
        return re.sub(r'[^\n]', ' ', found)

    return _NOT_CODE.sub(blank, text)


def functions(text):
    """Outermost function bodies: a lambda or a local class counts as part of the function around it."""
    code = _DIRECTIVE.sub(lambda m: re.sub(r'[^\n]', ' ', m.group(0)), strip_comments(text))
    found = []
    depth_of_function = None
    depth = 0
    head_start = 0
    opened = None
    for position, char in enumerate(code):
        if char == '{':
            head = code[head_start:position]
            if depth_of_function is None and _is_function_head(head):
                depth_of_function = depth
                opened = (position, _name_of(head))
            depth += 1
            head_start = position + 1
        elif char == '}':
            depth -= 1
            head_start = position + 1
            if depth_of_function == depth:
                start, name = opened
                lines = code[start:position].split('\n')[1:-1]
                counted = sum(1 for line in lines if not _TABLE_LINE.match(line))
                found.append(Function(code.count('\n', 0, start) + 1, name, counted))
                depth_of_function = None
        elif char == ';':
            head_start = position + 1
    return found


def _is_function_head(head):
    return not _OTHER_HEAD.match(_without_templates(head)) and bool(_FUNCTION_HEAD.search(head))


def _without_templates(head):
    return re.sub(r'^\s*template\s*<[^{}]*?>\s*(?=\S)', '', head, count=1)


def _name_of(head):
    if match := re.search(r'\b(TEST(?:_[FP])?|TYPED_TEST(?:_P)?)\s*\(\s*(\w+)\s*,\s*(\w+)', head):
        return f'{match.group(2)}.{match.group(3)}'
    match = re.search(r'([~\w:]+|operator\S+)\s*\(', head)
    return match.group(1) if match else '(unnamed)'
