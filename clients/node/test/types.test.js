// The types of @kenlayer/ken: the sources are checked, and the declarations beside them are what
// the compiler makes of them. KEN_UPDATE=1 writes them anew.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('..', import.meta.url));
const source = fileURLToPath(new URL('../../packaging/npm', new URL('..', import.meta.url)));

export const strict = {
  strict: true, module: 'nodenext', target: 'es2022', lib: ['es2023', 'esnext.disposable', 'dom', 'dom.iterable'], types: ['node'], skipLibCheck: true,
};

// compile runs the compiler in a folder with these options.
export function compile(folder, compilerOptions, include) {
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }));
  try {
    execFileSync(process.execPath, [join(here, 'node_modules/typescript/bin/tsc'), '-p', folder], { encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    throw new Error(error.stdout || error.message);
  }
}

// inside makes a folder from which the packages of the tests are found.
export function inside(t, name) {
  const folder = mkdtempSync(join(here, `.${name}-`));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

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
