// Every snippet of docs/typescript.md, and those in TypeScript of the README, as they stand there:
// each is compiled strictly, and runs as a program of its own, one after another in one project.
// Behind a program, "text" is what it prints.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { marker } from './bytes.js';
import * as processes from './processes.js';
import { compile, inside, strict } from './strict.js';

const run = promisify(execFile);
const pages = { 'docs/typescript.md': 11, 'README.md': 1 }; // with the least that there is to run

// snippets are the programs of a page, each with what it prints, if the page says so.
function snippets(text) {
  const out = [];
  let heading = '';
  let last = {};
  for (const [, title, language, body] of text.matchAll(/^## (.*)$|^```(\w*)\n([^]*?)^```$/gm)) {
    if (title) heading = title;
    else if (language === 'text') last.prints = body;
    else if (language === 'ts') out.push((last = { name: `${out.length + 1}, ${heading}`, body }));
    else last = {};
  }
  return out;
}

// alike is a text without ids and dates.
const alike = (text) => text.replace(/\[k:\w+\]/g, '[k:ID]').replace(/\d{4}-\d\d-\d\d/g, 'DATE');

for (const [page, least] of Object.entries(pages)) test(`the snippets of ${page}`, async (t) => {
  const programs = snippets(readFileSync(new URL(`../../../../${page}`, import.meta.url), 'utf8'));
  assert.ok(programs.length >= least, `${programs.length} snippets`);
  const folder = inside(t, 'docs');
  programs.forEach(({ body }, i) => writeFileSync(join(folder, `${i}.mts`), body));
  compile(folder, strict, ['*.mts']);

  const up = await processes.upstream(t);
  const cwd = await processes.project(t, []);
  const env = { ...process.env, OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: `${up.url}/v1`, ANTHROPIC_API_KEY: 'sk-test', ANTHROPIC_BASE_URL: up.url };
  for (const name of ['KEN_URL', 'KEN_KEY']) delete env[name];
  const gate = await processes.gateway(t, cwd, up.url);
  const all = programs.map((program, i) => ({ ...program, i, env }));
  if (programs.length > 1) all.push({ ...programs[1], name: 'the same at an address', i: 1, env: { ...env, KEN_URL: gate.url } });
  for (const { name, body, prints, i, env } of all) {
    await t.test(name, async () => {
      await up.forget();
      const { stdout, stderr } = await run(process.execPath, [join(folder, `${i}.mjs`)], { cwd, env, timeout: 60_000 });
      assert.equal(stderr, '');
      if (prints !== undefined) assert.equal(alike(stdout), alike(prints));
      const requests = await up.requests();
      assert.equal(requests.length > 0, /["/:](gpt|claude)-/.test(body), `${requests.length} model calls`);
      if (!body.includes('Remember that')) for (const r of requests) assert.ok(r.body.includes(marker), `no block in ${r.body}`);
    });
  }
});
