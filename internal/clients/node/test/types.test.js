// The types of @kenlayer/ken: the sources are checked, and the declarations beside them are what
// the compiler makes of them. KEN_UPDATE=1 writes them anew.

import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { compile, inside, strict } from './strict.js';

const source = fileURLToPath(new URL('../../../../packaging/npm', import.meta.url));

test('the declarations of the package are those of its sources', (t) => {
  const folder = inside(t, 'types');
  cpSync(source, folder, { recursive: true, filter: (path) => !path.endsWith('.d.mts') && !path.endsWith('package.json') });
  compile(folder, { ...strict, allowJs: true, checkJs: true, declaration: true, emitDeclarationOnly: true, outDir: 'out', rootDir: '.' }, ['*.mjs', 'lib/*.mjs']);
  const made = readdirSync(join(folder, 'out'), { recursive: true }).filter((name) => name.endsWith('.d.mts'));
  assert.ok(made.length > 4, `${made}`);
  const have = readdirSync(source, { recursive: true }).filter((name) => name.endsWith('.d.mts'));
  if (process.env.KEN_UPDATE) for (const name of made) writeFileSync(join(source, name), readFileSync(join(folder, 'out', name)));
  else assert.deepEqual(have.sort(), made.sort());
  for (const name of made) {
    assert.equal(readFileSync(join(source, name), 'utf8'), readFileSync(join(folder, 'out', name), 'utf8'), `${name}: run KEN_UPDATE=1 node --test test/types.test.js`);
  }
});

test('the types fit the clients, with everything checked', (t) => {
  const folder = inside(t, 'fit');
  writeFileSync(join(folder, 'fit.mts'), `
    import Anthropic from "@anthropic-ai/sdk";
    import { Ken, type Found } from "@kenlayer/ken";
    import { kenMiddleware } from "@kenlayer/ken/ai";
    import type { LanguageModelMiddleware } from "ai";
    import OpenAI, { AzureOpenAI } from "openai";
    const ken = new Ken({ owner: "ana" });
    export const openai: OpenAI = ken.wrap(new OpenAI());
    export const azure: AzureOpenAI = ken.session().wrap(new AzureOpenAI());
    export const anthropic: Anthropic = ken.wrap(new Anthropic());
    export const middleware: LanguageModelMiddleware = kenMiddleware(ken.session("monday"));
    export const found: Promise<Found[]> = ken.recall("x", { limit: 1 });
    // @ts-expect-error no client
    ken.wrap({});
    // @ts-expect-error no text
    ken.remember(1);
  `);
  compile(folder, { ...strict, noEmit: true, skipLibCheck: false }, ['*.mts']);
});

test('the types say what openapi.json says', () => {
  const declarations = readFileSync(join(source, 'index.d.mts'), 'utf8');
  const { paths, components: { schemas } } = JSON.parse(readFileSync(new URL('../../../../docs/openapi.json', import.meta.url)));
  const fields = (type) => [...declarations.match(new RegExp(`export type ${type} = \\{([^]*?)\\n\\};`))[1].matchAll(/^    (\w+)\??:/gm)].map((m) => m[1]);
  const insertion = schemas.PreparedTurn.properties.insertions.items;
  assert.deepEqual(fields('Insertion').sort(), Object.keys(insertion.properties).sort());
  for (const [type, schema] of [['Claim', 'Claim'], ['Claim', 'SearchResult'], ['RememberOptions', 'LearnRequest']]) {
    const known = Object.keys(schemas[schema].properties);
    assert.ok(fields(type).length > 2);
    for (const field of fields(type)) assert.ok(known.includes(field), `${type}.${field} is not in ${schema}: ${known}`);
  }
  const sources = readdirSync(source, { recursive: true }).filter((name) => name.endsWith('.mjs')).map((name) => readFileSync(join(source, name), 'utf8')).join();
  const used = [...new Set(sources.match(/\/api\/[a-z]+(?=[/`"?])/g))];
  assert.ok(used.length >= 4, `${used}`);
  for (const path of used) assert.ok(Object.keys(paths).some((p) => p === path || p.startsWith(`${path}/`)), path);
});
