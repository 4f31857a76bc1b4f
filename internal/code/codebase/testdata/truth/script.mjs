// Writes which places of a TypeScript or JavaScript project use some of its declarations.
//
//	npm install typescript@5
//	node script.mjs PROJECT SOURCE COUNT SEED > PROJECT.json
//
// COUNT declarations are drawn with SEED from the files below PROJECT/SOURCE; what uses them is
// found by TypeScript's language service; CONFIG names its settings in place of tsconfig.json, TYPES the folder of @types.
// TestTruth of package codebase reads the result. It was measured with 40 declarations of
// fastify: 83e69762, lib, seed 1, CONFIG=none; zod: e516c3ba, packages/zod, src/v4, seed 1; hono: 28a9c128, src, seed 7, CONFIG=tsconfig.base.json.
import ts from "typescript";
import fs from "node:fs";
import path from "node:path";

const [root, source, count, seed] = [path.resolve(process.argv[2]), process.argv[3], +process.argv[4], +process.argv[5]];
const skipped = new Set(["node_modules", ".git", "dist"]);
const files = [];
(function walk(dir) {
  for (const e of fs.readdirSync(dir, { withFileTypes: true })) {
    const f = path.join(dir, e.name);
    if (e.isDirectory() && !skipped.has(e.name)) walk(f);
    else if (/\.(ts|tsx|js|jsx|mjs|cjs|mts|cts)$/.test(e.name)) files.push(f);
  }
})(root);
const config = path.join(root, process.env.CONFIG ?? "tsconfig.json");
let options = { module: ts.ModuleKind.CommonJS, moduleResolution: ts.ModuleResolutionKind.Node10, esModuleInterop: true };
if (fs.existsSync(config)) options = ts.parseJsonConfigFileContent(ts.readConfigFile(config, ts.sys.readFile).config, ts.sys, root).options;
options = { target: ts.ScriptTarget.ESNext,
  ...options, allowJs: true, checkJs: true, noEmit: true, skipLibCheck: true, types: ["node"], typeRoots: [process.env.TYPES ?? ""] };
const host = {
  ...ts.sys, useCaseSensitiveFileNames: () => true, getScriptFileNames: () => files, getScriptVersion: () => "1", getCurrentDirectory: () => root,
  getScriptSnapshot: (f) => (fs.existsSync(f) ? ts.ScriptSnapshot.fromString(fs.readFileSync(f, "utf8")) : undefined),
  getCompilationSettings: () => options, getDefaultLibFileName: (o) => ts.getDefaultLibFilePath(o),
};
const service = ts.createLanguageService(host);
const program = service.getProgram();

const all = [];
for (const f of files.sort()) {
  if (!f.startsWith(path.join(root, source) + path.sep) && f !== path.join(root, source)) continue;
  if (/(^|[/.])(test|tests|spec)[/.]/.test(path.relative(root, f))) continue;
  const s = program.getSourceFile(f);
  const seen = new Set();
  const add = (name) => {
    if (!name || !ts.isIdentifier(name) || seen.has(name.text)) return;
    seen.add(name.text);
    all.push({ f, s, name });
  };
  const statement = (n) => {
    if (ts.isFunctionDeclaration(n) || ts.isTypeAliasDeclaration(n) || ts.isEnumDeclaration(n)) add(n.name);
    else if (ts.isClassDeclaration(n) || ts.isInterfaceDeclaration(n)) {
      add(n.name);
      for (const m of n.members) if (m.name) add(m.name);
    } else if (ts.isVariableStatement(n)) {
      for (const d of n.declarationList.declarations) {
        const required = d.initializer && ts.isCallExpression(d.initializer) && d.initializer.expression.getText(s) === "require";
        if (!required) add(d.name);
      }
    } else if (ts.isModuleDeclaration(n) && n.body && ts.isModuleBlock(n.body)) n.body.statements.forEach(statement);
    else if (ts.isExpressionStatement(n) && ts.isBinaryExpression(n.expression) && ts.isPropertyAccessExpression(n.expression.left)) {
      const left = n.expression.left; // app.use = function, Reply.prototype.send = function
      if (!/^(module|exports|module\.exports)$/.test(left.expression.getText(s))) add(left.name);
    }
  };
  s.statements.forEach(statement);
}
// mulberry32
let state = seed;
const next = () => {
  let t = (state += 0x6d2b79f5);
  t = Math.imul(t ^ (t >>> 15), t | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};
for (let i = all.length - 1; i > 0; i--) {
  const j = Math.floor(next() * (i + 1));
  [all[i], all[j]] = [all[j], all[i]];
}

// imported tells whether a place is in an import or in what hands a name on.
function imported(s, at) {
  let n = ts.getTokenAtPosition(s, at);
  for (; n; n = n.parent) {
    if (ts.isImportDeclaration(n) || ts.isExportDeclaration(n) || ts.isExportAssignment(n) || ts.isImportEqualsDeclaration(n)) return true;
    if (ts.isVariableDeclaration(n) && n.initializer && /^require\(/.test(n.initializer.getText(s)) && at < n.initializer.pos) return true;
    if (ts.isExpressionStatement(n) && ts.isBinaryExpression(n.expression) && /^(module\.)?exports\b/.test(n.getText(s)) && !ts.isFunctionLike(n.expression.right)) return true;
    if (ts.isFunctionLike(n) || ts.isClassLike(n)) return false;
  }
  return false;
}

const symbols = [];
for (const { f, s, name } of all.slice(0, count)) {
  const at = s.getLineAndCharacterOfPosition(name.getStart(s)).line + 1;
  const refs = [];
  const queue = [[f, name.getStart(s)]];
  const asked = new Set();
  while (queue.length) { // a name that is handed on has uses of its own
    const [file, start] = queue.pop();
    if (asked.has(file + start) || asked.size > 40) continue;
    asked.add(file + start);
    for (const r of (service.findReferences(file, start) ?? []).flatMap((g) => g.references)) {
      if (r.isDefinition || skipped.has(path.relative(root, r.fileName).split("/")[0]) || !r.fileName.startsWith(root)) continue;
      const t = program.getSourceFile(r.fileName);
      const line = t.getLineAndCharacterOfPosition(r.textSpan.start).line + 1;
      if (r.fileName === f && r.textSpan.start === name.getStart(s)) continue;
      const token = ts.getTokenAtPosition(t, r.textSpan.start);
      const handed = imported(t, r.textSpan.start);
      if (handed && ts.isPropertyAssignment(token.parent) && token.parent.initializer === token) queue.push([r.fileName, token.parent.name.getStart(t)]);
      else if (handed && (ts.isShorthandPropertyAssignment(token.parent) || ts.isBindingElement(token.parent))) queue.push([r.fileName, r.textSpan.start]);
      if (token.parent.name === token && (ts.isClassElement(token.parent) || ts.isTypeElement(token.parent))) continue; // declares another one
      refs.push({ path: path.relative(root, r.fileName), line, import: handed, by: ["typescript"] });
    }
  }
  symbols.push({ name: name.text, path: path.relative(root, f), line: at, refs });
  console.error(name.text, refs.length);
}
console.log(JSON.stringify({ symbols }, null, 0));
