// Processes and folders that end with the tests that started them.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const built = (name) => fileURLToPath(new URL(`../../../../bin/${name}`, import.meta.url));
const ken = process.env.KEN_BIN ?? built('ken');
const furnish = process.env.FURNISH_BIN ?? built('furnish');
const upstream = process.env.KEN_UPSTREAM_BIN ?? built('upstream');

// The programs run with their own environment, so that no key of this environment reaches
// a model provider.
const user = mkdtempSync(join(tmpdir(), 'ken-user-'));
process.on('exit', () => rmSync(user, { recursive: true, force: true }));
const env = { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: tmpdir(), XDG_STATE_HOME: user, XDG_CONFIG_HOME: user };

const run = promisify(execFile);

const address = /http:\/\/127\.0\.0\.1:\d+/;

// launch starts a program and waits for the first address that it prints. stop ends it by
// how, and waits until it has ended. Its later output is read and kept, so that it never
// waits for a reader.
async function launch(file, args, how) {
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'pipe'], env });
  let said = '';
  const ended = once(child, 'close');
  const read = (stream) =>
    new Promise((resolve) => {
      createInterface({ input: stream }).on('line', (line) => {
        said += `${line}\n`;
        const found = address.exec(line);
        if (found) resolve(found[0]);
      });
    });
  const url = await Promise.race([read(child.stdout), read(child.stderr), ended.then(() => null)]);
  if (url === null) throw new Error(`${file} ${args.join(' ')} ended: ${said}`);
  const stop = async () => {
    how(child);
    await ended;
    return child.exitCode;
  };
  return { url, stop, said: () => said };
}

// project makes a furnished project in a temporary folder and returns what furnish says of
// it, with a method that removes it.
export async function project(...args) {
  const above = await mkdtemp(join(tmpdir(), 'ken-console-'));
  const remove = () => rm(above, { recursive: true, force: true, maxRetries: 3 });
  try {
    const { stdout } = await run(furnish, [...args, join(above, 'payments')], { env, maxBuffer: 64 << 20 });
    return { ...JSON.parse(stdout), remove };
  } catch (e) {
    await remove();
    throw e;
  }
}

// unlock takes the keys out of a project's configuration.
export async function unlock(dir) {
  const file = join(dir, '.ken/config.yaml');
  await writeFile(file, (await readFile(file, 'utf8')).replace(/^gateway:\n[^]*/m, ''));
}

// provider starts the recorded model provider. Its address has no /v1.
export const provider = () => launch(upstream, [], (child) => child.stdin.end());

// serve starts ken serve on a project, after ken trust for its keys. It ends with a SIGTERM,
// as a user would end it.
export async function serve(dir, upstreamURL, ...args) {
  await run(ken, ['--dir', dir, 'trust', '--yes'], { env });
  return launch(ken, ['--dir', dir, 'serve', '--listen', '127.0.0.1:0', '--upstream', `${upstreamURL}/v1`, ...args], (child) => child.kill('SIGTERM'));
}
