"""Print what Python's own parser finds declared, one JSON object a declaration.

    python3 truth_python.py ROOT > truth.jsonl
"""
import ast
import json
import os
import sys
import warnings

warnings.simplefilter("ignore")
root = sys.argv[1]


def targets(t):
    if isinstance(t, ast.Name):
        yield t.id, t.lineno
    elif isinstance(t, (ast.Tuple, ast.List)):
        for e in t.elts:
            yield from targets(e)
    elif isinstance(t, ast.Starred):
        yield from targets(t.value)


def attributes(fn, out, cls):
    """What a method assigns to self, outside of functions in it."""
    for n in fn.body:
        todo = [n]
        while todo:
            m = todo.pop()
            if isinstance(m, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
                continue
            ts = m.targets[:1] if isinstance(m, ast.Assign) else [m.target] if isinstance(m, ast.AnnAssign) else []
            for t in ts:
                if isinstance(t, ast.Attribute) and isinstance(t.value, ast.Name) and t.value.id in ("self", "cls"):
                    out.append((t.attr, cls, t.lineno))
            todo.extend(ast.iter_child_nodes(m))


def body(stmts, out, parent):
    for s in stmts:
        if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef)):
            out.append((s.name, parent, s.lineno))
            if parent:
                attributes(s, out, parent)
        elif isinstance(s, ast.ClassDef):
            out.append((s.name, parent, s.lineno))
            body(s.body, out, s.name)
        elif isinstance(s, ast.Assign):
            for t in s.targets:
                for name, line in targets(t):
                    out.append((name, parent, line))
        elif isinstance(s, ast.AnnAssign):
            for name, line in targets(s.target):
                out.append((name, parent, line))
        elif isinstance(s, (ast.If, ast.For, ast.While, ast.With, ast.Try)) or type(s).__name__ in ("TryStar", "AsyncWith", "AsyncFor"):
            body(s.body, out, parent)
            for h in getattr(s, "handlers", []):
                body(h.body, out, parent)
            body(getattr(s, "orelse", []), out, parent)
            body(getattr(s, "finalbody", []), out, parent)


for d, dirs, files in os.walk(root):
    dirs.sort()
    for f in sorted(files):
        if not f.endswith((".py", ".pyi")):
            continue
        p = os.path.join(d, f)
        rel = os.path.relpath(p, root)
        try:
            with open(p, "rb") as fh:
                tree = ast.parse(fh.read())
        except (SyntaxError, ValueError, RecursionError):
            continue
        out = []
        body(tree.body, out, "")
        for name, parent, line in out:
            print(json.dumps({"file": rel, "name": name, "parent": parent, "line": line}))
        if not out:
            print(json.dumps({"file": rel, "name": "", "parent": "", "line": 0}))
