// Processes and folders that end with the test that started them.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

const built = (name) => fileURLToPath(new URL(`../../../../bin/${name}`, import.meta.url));
export const ken = process.env.KEN_BIN ?? built('ken');
const upstreamBin = process.env.KEN_UPSTREAM_BIN ?? built('upstream');

// launch starts a program and waits for the first line that it prints which
// matches. stop ends it and waits until it has ended.
async function launch(t, file, args, match, how) {
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  let said = '';
  const ended = once(child, 'close');
  const stop = async () => {
    how(child);
    await ended;
    return child.exitCode;
  };
  t.after(stop);
  const lines = (stream) => {
    const reader = createInterface({ input: stream });
    return new Promise((resolve) => {
      reader.on('line', (line) => {
        said += line + '\n';
        const found = match.exec(line);
        if (found) resolve(found[0]);
      });
    });
  };
  const first = await Promise.race([lines(child.stdout), lines(child.stderr), ended.then(() => null)]);
  if (first === null) throw new Error(`${file} ${args.join(' ')} ended: ${said}`);
  return { line: first, stop, said: () => said };
}

// silent is a server that never answers. AbortSignal.timeout ends soon meanwhile, and asked says what it was asked for.
export async function silent(t) {
  const server = createServer(() => {}).listen(0, '127.0.0.1');
  t.after(() => server.close());
  t.after(() => server.closeAllConnections());
  await once(server, 'listening');
  const asked = [];
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  t.mock.method(AbortSignal, 'timeout', (ms) => {
    asked.push(ms);
    return timeout(50);
  });
  return { url: `http://127.0.0.1:${server.address().port}`, asked };
}

const address = /http:\/\/127\.0\.0\.1:\d+/;

// upstream starts the recorded provider. Its address has no /v1.
export async function upstream(t) {
  const { line: url, stop } = await launch(t, upstreamBin, [], address, (child) => child.stdin.end());
  const control = async (path, init) => {
    const res = await fetch(`${url}/_upstream/${path}`, init);
    const body = await res.json();
    if (!res.ok) throw new Error(body);
    return body;
  };
  return {
    url,
    stop,
    // requests is what has arrived since the last forget, bodies decoded.
    requests: async () =>
      (await control('requests')).map((r) => ({ ...r, body: Buffer.from(r.body ?? '', 'base64') })),
    forget: () => control('requests', { method: 'DELETE' }),
    next: (...orders) => control('next', { method: 'POST', body: JSON.stringify(orders) }),
  };
}

// project makes a folder that knows the claims.
export async function project(t, claims) {
  const dir = await mkdtemp(join(tmpdir(), 'ken-clients-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  await mkdir(join(dir, '.ken'));
  // What is found must not depend on the machine's load.
  await writeFile(join(dir, '.ken', 'config.yaml'), 'retrieval:\n  deadline: 30s\nrepository:\n  index: false\n');
  for (const text of claims) await command(dir, 'learn', text);
  return dir;
}

// command runs ken in a project and returns what it prints.
export async function command(dir, ...args) {
  const { stdout } = await run(ken, ['--dir', dir, '--quiet', ...args]);
  return stdout;
}

// gateway starts ken serve for a project, in front of an upstream. Its end is a
// SIGTERM, at which it finishes its answers and harvests.
export async function gateway(t, dir, upstreamURL, ...args) {
  const all = ['--dir', dir, 'serve', '--listen', '127.0.0.1:0', '--upstream', `${upstreamURL}/v1`, ...args];
  const { line: url, stop, said } = await launch(t, ken, all, address, (child) => child.kill('SIGTERM'));
  return { url, stop, said };
}
