// Prints what a grammar of tree-sitter finds declared in Rust, C#, C or C++.
//   node truth_treesitter.mjs rust|c_sharp|cpp web-tree-sitter/ GRAMMAR.wasm ROOT > truth.jsonl
// Files in which the grammar sees an error are left out.
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [lang, lib, wasm, root] = process.argv.slice(2);
const { Parser, Language } = await import(pathToFileURL(path.resolve(lib, 'tree-sitter.js')));
await Parser.init();
const parser = new Parser();
parser.setLanguage(await Language.load(path.resolve(wasm)));
const suffix = { rust: /\.rs$/, c_sharp: /\.cs$/, cpp: /\.(c|h|cc|cpp|cxx|hpp|hh)$/ }[lang];

function* walk(dir) {
  for (const e of fs.readdirSync(dir, { withFileTypes: true })) {
    const p = path.join(dir, e.name);
    if (e.isDirectory()) yield* walk(p);
    else if (e.isFile() && suffix.test(e.name)) yield p;
  }
}

let out;
const field = (n, f) => n.childForFieldName(f);
const text = (n, f) => field(n, f)?.text;
const last = s => s?.replace(/<[^]*$/, '').replace(/^r#/, '').split(/::|\./).pop().trim();

const rust = {
  visit(n, parent) {
    for (const c of n.namedChildren) {
      switch (c.type) {
        case 'function_item': case 'function_signature_item': case 'const_item': case 'static_item': case 'type_item': case 'associated_type': case 'macro_definition':
          if (text(c, 'name') !== '_') add(c, text(c, 'name'), parent); break;
        case 'struct_item': case 'union_item': case 'enum_item': {
          const name = text(c, 'name'); add(c, name, parent);
          const b = field(c, 'body');
          for (const m of b?.namedChildren ?? []) if (m.type === 'field_declaration' || m.type === 'enum_variant') add(m, text(m, 'name'), name);
          break;
        }
        case 'trait_item': add(c, text(c, 'name'), parent); this.visit(field(c, 'body'), text(c, 'name')); break;
        case 'impl_item': {
          let t = field(c, 'type');
          while (t && ['reference_type', 'pointer_type', 'dynamic_type', 'tuple_type', 'array_type', 'parenthesized_type'].includes(t.type)) t = t.namedChildren.at(-1);
          const b = field(c, 'body'); if (b) this.visit(b, '*' + last(t?.text ?? '')); break;
        }
        case 'mod_item': if (field(c, 'body')) { add(c, text(c, 'name'), parent); this.visit(field(c, 'body'), text(c, 'name')); } break;
        case 'foreign_mod_item': this.visit(field(c, 'body') ?? c, parent); break;
        case 'declaration_list': this.visit(c, parent); break;
      }
    }
  },
};

const csharp = {
  visit(n, parent) {
    for (const c of n.namedChildren) {
      switch (c.type) {
        case 'namespace_declaration': case 'file_scoped_namespace_declaration': case 'declaration_list': case 'preproc_if': case 'preproc_else': case 'preproc_elif': case 'preproc_region':
          this.visit(c.type === 'namespace_declaration' ? field(c, 'body') ?? c : c, parent); break;
        case 'class_declaration': case 'struct_declaration': case 'interface_declaration': case 'record_declaration': {
          const name = text(c, 'name'); add(c, name, parent);
          if (c.type === 'record_declaration') for (const p of c.namedChildren.find(x => x.type === 'parameter_list')?.namedChildren ?? []) if (p.type === 'parameter') add(p, text(p, 'name'), name);
          const b = field(c, 'body') ?? c.namedChildren.find(x => x.type === 'declaration_list'); if (b) this.visit(b, name); break;
        }
        case 'enum_declaration': {
          const name = text(c, 'name'); add(c, name, parent);
          for (const m of field(c, 'body')?.descendantsOfType('enum_member_declaration') ?? []) add(m, text(m, 'name'), name);
          break;
        }
        case 'delegate_declaration': case 'method_declaration': case 'constructor_declaration': case 'property_declaration': case 'event_declaration':
          add(c, text(c, 'name'), parent); break;
        case 'destructor_declaration': add(c, '~' + text(c, 'name'), parent); break;
        case 'indexer_declaration': add(c, 'this[]', parent); break;
        case 'field_declaration': case 'event_field_declaration':
          for (const v of c.descendantsOfType('variable_declarator')) if (v.parent.parent.id === c.id) add(v, text(v, 'name') ?? v.namedChildren[0]?.text, parent);
          break;
      }
    }
  },
};

const cpp = {
  name(d) { // of a declarator
    while (d) {
      if (['identifier', 'field_identifier', 'type_identifier', 'destructor_name'].includes(d.type)) return [d.text, ''];
      if (d.type === 'operator_name' || d.type === 'operator_cast') return [null];
      if (d.type === 'qualified_identifier') { const parts = d.text.replace(/<[^]*?>(?=::)/g, '').split('::'); return /operator/.test(d.text) ? [null] : [parts.pop().trim(), parts.pop() ?? '']; }
      if (d.type === 'template_function') { d = field(d, 'name'); continue; }
      d = field(d, 'declarator') ?? d.namedChildren.find(x => /declarator|identifier/.test(x.type));
    }
    return [null];
  },
  visit(n, parent) {
    for (const c of n.namedChildren) this.one(c, parent);
  },
  record(t, parent) {
    const b = field(t, 'body'); if (!b) return;
    const name = field(t, 'name') ? last(text(t, 'name')) : undefined;
    if (name) add(t, name, parent);
    if (t.type === 'enum_specifier') {
      for (const m of b.namedChildren) if (m.type === 'enumerator') add(m, text(m, 'name'), name ?? parent);
    } else this.visit(b, name ?? parent);
  },
  one(c, parent) {
    switch (c.type) {
      case 'preproc_if': case 'preproc_ifdef': case 'preproc_else': case 'preproc_elif': case 'linkage_specification': case 'declaration_list': case 'template_declaration': case 'field_declaration_list':
        this.visit(c.type === 'linkage_specification' ? field(c, 'body') ?? c : c, parent); break;
      case 'namespace_definition': {
        const name = text(c, 'name'); const parts = name ? name.split('::').map(x => x.replace(/^inline /, '').trim()) : [];
        let p = parent; for (const x of parts) { add(c, x, p); p = x; }
        if (field(c, 'body')) this.visit(field(c, 'body'), p); break;
      }
      case 'preproc_def': if (text(c, 'value')) add(c, text(c, 'name'), ''); break;
      case 'preproc_function_def': add(c, text(c, 'name'), ''); break;
      case 'class_specifier': case 'struct_specifier': case 'union_specifier': case 'enum_specifier': this.record(c, parent); break;
      case 'function_definition': {
        const [name, cls] = this.name(field(c, 'declarator')); if (name) add(c, name, cls || parent, parent); break;
      }
      case 'alias_declaration': add(c, text(c, 'name'), parent); break;
      case 'type_definition': case 'declaration': case 'field_declaration': {
        const t = field(c, 'type');
        if (t && /_specifier$/.test(t.type) && field(t, 'body')) {
          if (c.type === 'type_definition' && field(t, 'name')) add(t, text(t, 'name'), parent);
          const d0 = c.childrenForFieldName('declarator')[0];
          if (c.type !== 'type_definition' && !field(t, 'name') && d0 && t.type !== 'enum_specifier') this.visit(field(t, 'body'), this.name(d0)[0]);
          else if (c.type !== 'type_definition') this.record(t, parent);
          else {
            const names = c.childrenForFieldName('declarator').map(d => this.name(d)[0]);
            const owner = text(t, 'name') ?? names[0];
            const b = field(t, 'body');
            if (t.type === 'enum_specifier') { for (const m of b.namedChildren) if (m.type === 'enumerator') add(m, text(m, 'name'), owner ?? parent); }
            else this.visit(b, owner);
          }
        }
        for (const d of c.childrenForFieldName('declarator')) {
          const [name, cls] = this.name(d); if (name && !/^\(|::/.test(name)) add(c, name, cls || parent, parent);
        }
        break;
      }
    }
  },
};

function add(n, name, parent, around) {
  if (/^(TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P|MOCK_(CONST_)?METHOD\d*|BIT)$/.test(name)) return; // macros
  if (name) out.push({ around: around ?? '', name: name.replace(/^r#/, '').replace(/^@/, '').replace(/\s/g, ''), parent: parent ?? '', line: n.startPosition.row + 1 });
}
let skipped = 0, files = 0;
for (const p of walk(root)) {
  const src = fs.readFileSync(p, 'utf8');
  const tree = parser.parse(src);
  files++;
  if (tree.rootNode.hasError) { skipped++; tree.delete(); continue; }
  out = [];
  ({ rust, c_sharp: csharp, cpp })[lang].visit(tree.rootNode, '');
  const file = path.relative(root, p);
  const types = new Set(out.filter(d => !d.parent.startsWith('*')).map(d => d.name));
  for (const d of out) {
    let parent = d.parent;
    if (parent.startsWith('*')) parent = types.has(parent.slice(1)) ? parent.slice(1) : '';
    if (lang === 'cpp' && parent && !types.has(parent)) parent = d.around;
    console.log(JSON.stringify({ file, name: d.name, line: d.line, parent }));
  }
  if (!out.length) console.log(JSON.stringify({ file, name: '', parent: '', line: 0 }));
  tree.delete();
}
console.error(`${files} files, ${skipped} with errors left out`);
