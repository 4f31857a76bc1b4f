// The compiler of TypeScript, strict.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('..', import.meta.url));

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
