// Prints what TypeScript's own parser finds declared, one JSON object a declaration.
//   node truth_typescript.mjs PATH/TO/typescript/lib/typescript.js ROOT > truth.jsonl
import { createRequire } from 'node:module';
import fs from 'node:fs';
import path from 'node:path';

const ts = createRequire(import.meta.url)(path.resolve(process.argv[2]));
const root = process.argv[3];

function* walk(dir) {
  for (const e of fs.readdirSync(dir, { withFileTypes: true })) {
    const p = path.join(dir, e.name);
    if (e.isDirectory()) yield* walk(p);
    else if (e.isFile() && /\.(ts|tsx|mts|cts|js|jsx|mjs|cjs)$/.test(e.name)) yield p;
  }
}

let seconds = 0;
for (const p of walk(root)) {
  const file = path.relative(root, p);
  const text = fs.readFileSync(p, 'utf8');
  const start = performance.now();
  const sf = ts.createSourceFile(p, text, ts.ScriptTarget.Latest, true);
  const out = [];
  const line = n => sf.getLineAndCharacterOfPosition(n.getStart()).line + 1;
  const add = (node, name, parent) => out.push({ file, name, parent: parent ?? '', line: line(node) });
  const nameOf = n => !n ? undefined
    : ts.isIdentifier(n) || ts.isPrivateIdentifier(n) || ts.isStringLiteral(n) || ts.isNumericLiteral(n) || ts.isNoSubstitutionTemplateLiteral(n) ? n.text : undefined;
  const binding = (n, f) => {
    if (ts.isIdentifier(n)) f(n);
    else for (const e of n.elements) if (!ts.isOmittedExpression(e)) binding(e.name, f);
  };
  const isRequire = e => e && ts.isPropertyAccessExpression(e) ? isRequire(e.expression) : e && ts.isCallExpression(e) && ts.isIdentifier(e.expression) && e.expression.text === 'require' && e.arguments.length === 1 && ts.isStringLiteral(e.arguments[0]);
  const isFunction = e => e && (ts.isArrowFunction(e) || ts.isFunctionExpression(e));

  function members(list, parent) {
    for (const m of list) {
      const name = ts.isConstructorDeclaration(m) ? 'constructor' : nameOf(m.name);
      if (name !== undefined && name !== '') add(m, name, parent);
      if (ts.isConstructorDeclaration(m))
        for (const q of m.parameters) if (q.modifiers?.some(x => x.kind !== ts.SyntaxKind.Decorator)) add(q, nameOf(q.name), parent);
    }
  }
  function object(o, parent) {
    for (const q of o.properties) {
      const name = nameOf(q.name);
      if (name === undefined) continue;
      if (ts.isMethodDeclaration(q) || ts.isAccessor(q) || ts.isPropertyAssignment(q) && isFunction(q.initializer)) add(q, name, parent);
    }
  }
  const top = new Set();
  function assignment(e) {
    // chains: a = b = value
    const lefts = [];
    let v = e;
    while (ts.isBinaryExpression(v) && v.operatorToken.kind === ts.SyntaxKind.EqualsToken) { lefts.push(v.left); v = v.right; }
    lefts.forEach((l, i) => {
      const text = l.getText().replace(/\s/g, '');
      const value = i === lefts.length - 1 ? v : undefined;
      if (text === 'module.exports' || text === 'exports') {
        if (value && ts.isObjectLiteralExpression(value)) {
          for (const q of value.properties) {
            const name = nameOf(q.name);
            if (name === undefined || top.has(name)) continue;
            if (ts.isMethodDeclaration(q) || ts.isAccessor(q) || ts.isPropertyAssignment(q) && isFunction(q.initializer)) { add(q, name); top.add(name); }
          }
        } else if (isFunction(value) || value && ts.isClassExpression(value)) {
          const name = value.name?.text ?? 'default';
          if (!top.has(name)) { add(value, name); top.add(name); }
          if (ts.isClassExpression(value)) members(value.members, name);
        }
        return;
      }
      if (!ts.isPropertyAccessExpression(l)) return;
      const m = /^(?:module\.)?exports\.([\w$]+)$/.exec(text);
      if (m) {
        if (value && ts.isIdentifier(value) && value.text === m[1]) return;
        if (!top.has(m[1])) { add(l, m[1]); top.add(m[1]); }
        if (value && ts.isClassExpression(value)) members(value.members, m[1]);
        return;
      }
      const n = /^([\w$]+)(\.prototype)?\.([\w$]+)$/.exec(text);
      if (n && top.has(n[1]) && n[3] !== 'prototype') {
        if (isFunction(value) || n[2] || !variables.has(n[1])) {
          const key = n[1] + '.' + n[3];
          if (!top.has(key)) { add(l, n[3], n[1]); top.add(key); }
        }
      }
    });
  }
  const variables = new Set();
  function statements(list, parent, level) {
    for (const s of list) {
      if (ts.isFunctionDeclaration(s) || ts.isClassDeclaration(s)) {
        const name = s.name?.text ?? 'default';
        add(s, name, parent); if (!parent) top.add(name);
        if (ts.isClassDeclaration(s)) members(s.members, name);
      } else if (ts.isInterfaceDeclaration(s)) {
        add(s, s.name.text, parent); members(s.members, s.name.text);
      } else if (ts.isEnumDeclaration(s)) {
        add(s, s.name.text, parent); members(s.members, s.name.text);
      } else if (ts.isTypeAliasDeclaration(s)) {
        add(s, s.name.text, parent);
        if (ts.isTypeLiteralNode(s.type)) members(s.type.members, s.name.text);
      } else if (ts.isVariableStatement(s)) {
        for (const d of s.declarationList.declarations) {
          const v = d.initializer;
          if (isRequire(v)) continue;
          binding(d.name, n => {
            add(n, n.text, parent);
            if (!parent) { top.add(n.text); if (!isFunction(v) && !(v && ts.isClassExpression(v))) variables.add(n.text); }
          });
          if (ts.isIdentifier(d.name) && v) {
            if (ts.isClassExpression(v)) members(v.members, d.name.text);
            if (ts.isObjectLiteralExpression(v) && !parent) object(v, d.name.text);
            if (ts.isBinaryExpression(v) && !parent) assignment(v);
          }
        }
      } else if (ts.isModuleDeclaration(s)) {
        let at = s, p = parent;
        while (at && ts.isModuleDeclaration(at)) {
          if (ts.isIdentifier(at.name) && !(at.flags & ts.NodeFlags.GlobalAugmentation)) { add(at, at.name.text, p); p = at.name.text; }
          at = at.body;
        }
        if (at?.statements) statements(at.statements, p, level + 1);
      } else if (ts.isExportAssignment(s) && !s.isExportEquals) {
        if (!ts.isIdentifier(s.expression)) {
          add(s, 'default', parent);
          const v = s.expression;
          if (ts.isClassExpression(v)) members(v.members, 'default');
          if (ts.isObjectLiteralExpression(v)) object(v, 'default');
        }
      } else if (ts.isExpressionStatement(s) && !parent) {
        let e = s.expression;
        if (ts.isBinaryExpression(e)) { assignment(e); continue; }
        while (ts.isParenthesizedExpression(e) || ts.isPrefixUnaryExpression(e) || ts.isCallExpression(e) || ts.isPropertyAccessExpression(e)) e = e.expression ?? e.operand;
        if (isFunction(e) && e.body && ts.isBlock(e.body) && e.getStart() !== s.getStart()) statements(e.body.statements, '', level + 1);
      }
    }
  }
  statements(sf.statements, '', 0);
  seconds += (performance.now() - start) / 1000;
  for (const d of out) console.log(JSON.stringify(d));
  if (out.length === 0) console.log(JSON.stringify({ file, name: '', parent: '', line: 0 }));
}
console.error(`parsed in ${seconds.toFixed(2)} s`);
