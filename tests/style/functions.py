"""Finds functions and their lengths: in C++ by matching braces and looking at what stands before
an opening one, in Python through its own parser."""

import ast
import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Function:
    name: str
    first_line: int
    last_line: int

    @property
    def lines(self):
        return self.last_line - self.first_line + 1


def without_directives(code):
    """Preprocessor lines, continued ones included, become spaces."""
    return re.sub(
        r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group()), code, flags=re.M
    )


def matching_brace(code, opening):
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, opening):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.start()
    return len(code) - 1


SCOPE = re.compile(r"\b(?:namespace|class|struct|union|extern)\b")
NO_CODE = re.compile(r"\benum\b|=\s*$|\breturn\s*$|^\s*$|,\s*$|\(\s*$")
# A member initializer `) : a_(1), b_{`: the brace belongs to a value, not to a body.
INITIALIZER = re.compile(r"\)\s*(?:noexcept(?:\([^()]*\))?\s*)?:(?!:).*[\w>]\s*$", re.DOTALL)


def outside_parentheses(head):
    """The head without what stands inside ( ) and < >, so that only its own keywords count."""
    before = None
    while before != head:
        before = head
        head = re.sub(r"\([^()]*\)", "()", head)
    while True:
        shorter = re.sub(r"<[^<>()]*>", "", head)
        if shorter == head:
            return head
        head = shorter


def cpp_functions(source):
    """Outermost functions; lambdas and local classes count as part of theirs."""
    code = without_directives(source.code)
    functions = []
    position = head_start = 0
    while True:
        match = re.compile(r"[{};]").search(code, position)
        if match is None:
            return functions
        position = match.end()
        if match.group() != "{":
            head_start = position
            continue
        head = code[head_start : match.start()]
        head = re.sub(
            r"\b(?:public|private|protected)\s*:", lambda m: re.sub(r"\S", " ", m.group()), head
        )
        plain = outside_parentheses(head)
        if INITIALIZER.search(head) or (NO_CODE.search(plain) and not SCOPE.search(plain)):
            position = matching_brace(code, match.start()) + 1  # the head goes on behind the value
        elif SCOPE.search(plain) and "(" not in re.sub(r"\balignas\(\)", "", plain):
            head_start = position
        elif "(" in plain:
            end = matching_brace(code, match.start())
            first = head_start + len(head) - len(head.lstrip())
            functions.append(
                Function(function_name(plain), source.line_of(first), source.line_of(end))
            )
            position = head_start = end + 1
        else:
            position = matching_brace(code, match.start()) + 1


def function_name(plain_head):
    names = re.findall(r"([~\w:]+|operator\s*\S+?)\s*\(", plain_head)
    return names[0] if names else "function"


def python_functions(source):
    return [
        Function(node.name, node.lineno, node.end_lineno)
        for node in ast.walk(ast.parse(source.text))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]


def functions_of(source):
    if source.is_cpp:
        return cpp_functions(source)
    return python_functions(source) if source.path.endswith(".py") else []
