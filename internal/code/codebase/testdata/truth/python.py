"""Writes which places of a Python project use some of its declarations.

    pip install jedi; npm install pyright
    python python.py PROJECT SOURCE COUNT SEED > PROJECT.json

COUNT declarations are drawn with SEED from the files below PROJECT/SOURCE. A place counts
if jedi or pyright finds it; "by" says which. PYRIGHT names pyright-langserver. FIXTURES gives pyright the types of
fixtures of pytest, which it does not know: "app=flask.Flask client=flask.testing.FlaskClient".
TestTruth of package codebase reads the result. It was measured with 40 declarations of flask: 2ac89889, src/flask, seed 1; httpx: ae1b9f66, httpx, seed 7.
"""
import ast, json, os, pathlib, random, subprocess, sys

import jedi

root = pathlib.Path(sys.argv[1]).resolve()
source, count, seed = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
files = [f for f in root.rglob("*.py") if not any(p.startswith(".") for p in f.relative_to(root).parts)]
trees = {f: ast.parse(f.read_text()) for f in files}


def declared(f):
    """All declarations of a file: line and column of the name."""
    text = f.read_text().split("\n")
    out = []

    def add(name, line, col):
        col = text[line - 1].find(name, col)
        if col >= 0 and not (name.startswith("__") and name.endswith("__")):
            out.append((name, line, col))

    def walk(body, cls):
        for n in body:
            if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                add(n.name, n.lineno, n.col_offset + 4)
                if isinstance(n, ast.ClassDef):
                    walk(n.body, n)
            elif isinstance(n, (ast.Assign, ast.AnnAssign)):
                for t in n.targets if isinstance(n, ast.Assign) else [n.target]:
                    if isinstance(t, ast.Name):
                        add(t.id, t.lineno, t.col_offset)
            elif isinstance(n, (ast.If, ast.Try)) and not (isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test)):
                walk(n.body, cls)

    walk(trees[f].body, None)
    seen = set()
    return [d for d in out if not (d[0] in seen or seen.add(d[0]))]


def lines_of(tree):
    """Lines of import statements, and for lines of decorators the line of what they decorate."""
    imports, moved = set(), {}
    for n in ast.walk(tree):
        if isinstance(n, (ast.Import, ast.ImportFrom)):
            imports.update(range(n.lineno, n.end_lineno + 1))
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for d in n.decorator_list:
                for line in range(d.lineno, d.end_lineno + 1):
                    moved[line] = n.lineno
        if isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in n.targets):
            imports.update(range(n.lineno, n.end_lineno + 1))
    return imports, moved


fixtures = dict(f.split("=") for f in os.environ.get("FIXTURES", "").split())


def annotated(f):
    """The text of a file with the types of its fixtures."""
    text, ends = f.read_text().split("\n"), {}
    for n in ast.walk(trees[f]):
        if isinstance(n, ast.FunctionDef) and (n.name.startswith("test") or any("fixture" in ast.unparse(d) for d in n.decorator_list)):
            for a in n.args.args:
                if a.arg in fixtures and a.annotation is None:
                    ends[a.lineno, a.end_col_offset] = a.arg
    for (line, col), name in sorted(ends.items(), reverse=True):
        text[line - 1] = text[line - 1][:col] + f": '_{name}_type'" + text[line - 1][col:]
    for name in sorted(set(ends.values())):
        module, cls = fixtures[name].rsplit(".", 1)
        text.append(f"from {module} import {cls} as _{name}_type")
    return "\n".join(text)


class Pyright:
    def __init__(self):
        self.p = subprocess.Popen([os.environ["PYRIGHT"], "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.n = 0
        self.ask("initialize", {"processId": os.getpid(), "rootUri": root.as_uri(), "capabilities": {},
                                "workspaceFolders": [{"uri": root.as_uri(), "name": "x"}]})
        self.tell("initialized", {})
        for f in files:
            self.tell("textDocument/didOpen", {"textDocument": {"uri": f.as_uri(), "languageId": "python", "version": 1, "text": annotated(f)}})

    def send(self, m):
        b = json.dumps({"jsonrpc": "2.0", **m}).encode()
        self.p.stdin.write(b"Content-Length: %d\r\n\r\n" % len(b) + b)
        self.p.stdin.flush()

    def tell(self, method, params):
        self.send({"method": method, "params": params})

    def ask(self, method, params):
        self.n += 1
        self.send({"id": self.n, "method": method, "params": params})
        while True:
            size = 0
            while (line := self.p.stdout.readline().strip()):
                if line.lower().startswith(b"content-length:"):
                    size = int(line[15:])
            m = json.loads(self.p.stdout.read(size))
            if "method" in m and "id" in m:
                items = m["params"].get("items", []) if isinstance(m.get("params"), dict) else []
                self.send({"id": m["id"], "result": [{} for _ in items] if m["method"] == "workspace/configuration" else None})
            elif m.get("id") == self.n:
                return m.get("result")

    def references(self, f, line, col):
        got = self.ask("textDocument/references", {"textDocument": {"uri": f.as_uri()}, "position": {"line": line - 1, "character": col},
                                                   "context": {"includeDeclaration": False}}) or []
        return [(pathlib.Path(r["uri"].removeprefix("file://")), r["range"]["start"]["line"] + 1) for r in got]


project = jedi.Project(root, added_sys_path=[str(root / "src")])
pyright = Pyright()
all_of = [(f, d) for f in sorted(files) if (root / source) in f.parents for d in declared(f)]
random.Random(seed).shuffle(all_of)
names = {f: lines_of(t) for f, t in trees.items()}
symbols = []
for f, (name, line, col) in all_of[:count]:
    found = {}
    for r in jedi.Script(path=f, project=project).get_references(line, col + 1, include_builtins=False):
        if not r.is_definition() and r.module_path:
            found.setdefault((pathlib.Path(r.module_path), r.line), set()).add("jedi")
        elif r.module_path and r.line in names.get(pathlib.Path(r.module_path), ((), ()))[0]:
            found.setdefault((pathlib.Path(r.module_path), r.line), set()).add("jedi")
    for at in pyright.references(f, line, col + 1):
        found.setdefault(at, set()).add("pyright")
    refs = []
    for (g, n), by in sorted(found.items()):
        if g in trees and not (g == f and n == line):
            imports, moved = names[g]
            refs.append({"path": str(g.relative_to(root)), "line": moved.get(n, n), "import": n in imports, "by": sorted(by)})
    symbols.append({"name": name, "path": str(f.relative_to(root)), "line": line, "refs": refs})
    print(name, len(refs), file=sys.stderr)
pyright.p.kill()
json.dump({"symbols": symbols}, sys.stdout, indent=0)
