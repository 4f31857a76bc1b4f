// Forty conversations of eight agents begin with the same words, over one gateway. Each
// has a separate session, continues in it from another process, and keeps its blocks.
// It takes minutes, so it is run by hand:
//
//   make clients && (cd internal/clients/agents && node --test test/crowd.js)

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as processes from '../../node/test/processes.js';
import { claim, question } from '../../node/test/sides.js';

const each = 5; // conversations of an agent
const atOnce = 2;

// varied is a proxy of the recorded provider that makes all answers different, as with a
// real model: each has another word and other ids of calls. Upgraded connections pass
// unchanged.
async function varied(t, target) {
  const { hostname, port } = new URL(target);
  let n = 0;
  const server = createServer((req, res) => {
    const up = request({ hostname, port, method: req.method, path: req.url, headers: req.headers }, async (answer) => {
      const name = String(++n).padStart(4, '0');
      const chunks = [];
      for await (const c of answer) chunks.push(c);
      const body = Buffer.concat(chunks).toString().replaceAll('three', `n${name}`)
        .replace(/\b((?:call|toolu|fc|msg|resp)_\w*?)\w{4}\b/g, `$1${name}`);
      const headers = { ...answer.headers, 'content-length': Buffer.byteLength(body) };
      delete headers['transfer-encoding'];
      res.writeHead(answer.statusCode, headers);
      res.end(body);
    });
    req.pipe(up);
  });
  server.on('upgrade', (req, client, head) => {
    const up = connect(port, hostname, () => {
      const lines = req.rawHeaders.map((v, i) => (i % 2 ? `${v}\r\n` : `${v}: `)).join('');
      up.write(`${req.method} ${req.url} HTTP/1.1\r\n${lines}\r\n`);
      up.write(head);
      up.pipe(client).pipe(up);
    });
    for (const s of [up, client]) s.on('error', () => { up.destroy(); client.destroy(); });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => { server.close(); server.closeAllConnections(); });
  return `http://127.0.0.1:${server.address().port}`;
}

// agents lists the programs, and how each is configured for a gateway, begins and continues.
const codex = ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];
const agents = (url) => ({
  'Claude Code': {
    program: 'claude', env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'sk-test', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
    begin: ['-p', question], goOn: ['-p', '--continue', 'thanks!'],
  },
  'Codex over a WebSocket': {
    program: 'codex', env: { CODEX_API_KEY: 'sk-test' }, files: { 'home/.codex/config.toml': `model = "gpt-5-mini"\nopenai_base_url = "${url}/v1"\n` },
    begin: ['exec', ...codex, question], goOn: ['exec', 'resume', '--last', ...codex, 'thanks!'],
  },
  'Codex over HTTP': {
    program: 'codex', env: { CODEX_API_KEY: 'sk-test' },
    files: { 'home/.codex/config.toml': `model = "gpt-5-mini"\nmodel_provider = "ken"\n[model_providers.ken]\nname = "ken"\nbase_url = "${url}/v1"\nwire_api = "responses"\nenv_key = "CODEX_API_KEY"\n` },
    begin: ['exec', ...codex, question], goOn: ['exec', 'resume', '--last', ...codex, 'thanks!'],
  },
  'opencode, chat completions': opencode(url, 'chat/gpt-4.1-mini'),
  'opencode, Messages': opencode(url, 'anthropic/claude-sonnet-4-5'),
  'Qwen Code': {
    program: 'qwen', env: { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'sk-test', OPENAI_MODEL: 'gpt-4.1-mini', QWEN_TELEMETRY_ENABLED: '0' },
    begin: ['--auth-type', 'openai', '-p', question], goOn: ['--auth-type', 'openai', '--continue', '-p', 'thanks!'],
  },
  Continue: {
    program: 'cn', env: { CONTINUE_TELEMETRY_ENABLED: '0' },
    files: { 'home/.continue/config.yaml': `name: ken\nversion: 0.0.1\nschema: v1\nmodels:\n  - {name: gpt, provider: openai, model: gpt-4.1-mini, apiBase: "${url}/v1", apiKey: sk-test}\n` },
    begin: ['-p', question], goOn: ['-p', '--resume', 'thanks!'],
  },
  Copilot: {
    program: 'copilot', env: { COPILOT_OFFLINE: 'true', COPILOT_MODEL: 'gpt-4.1-mini', COPILOT_PROVIDER_BASE_URL: `${url}/v1`, COPILOT_PROVIDER_API_KEY: 'sk-test' },
    begin: ['--allow-all-tools', '-p', question], goOn: ['--allow-all-tools', '--continue', '-p', 'thanks!'],
  },
});

function opencode(url, model) {
  const options = { baseURL: `${url}/v1`, apiKey: 'sk-test' };
  return {
    program: 'opencode', env: { OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' },
    files: {
      'project/opencode.json': JSON.stringify({
        autoupdate: false, share: 'disabled', small_model: model,
        provider: {
          chat: { npm: '@ai-sdk/openai-compatible', options, models: { 'gpt-4.1-mini': {} } },
          anthropic: { options, models: { 'claude-sonnet-4-5': {} } },
        },
      }),
    },
    begin: ['run', '--model', model, question], goOn: ['run', '--continue', '--model', model, 'thanks!'],
  };
}

test('forty conversations that begin alike', async (t) => {
  const up = await processes.upstream(t);
  const gate = await processes.gateway(t, await processes.project(t, [claim]), await varied(t, up.url));
  const sessions = async () => (await (await fetch(`${gate.url}/api/sessions?limit=100`)).json()).sessions.filter((s) => !s.parent);
  const all = [];
  for (const [name, a] of Object.entries(agents(gate.url))) {
    for (let i = 0; i < each; i++) {
      const dir = await mkdtemp(join(tmpdir(), 'ken-crowd-'));
      t.after(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
      const [home, project] = [join(dir, 'home'), join(dir, 'project')];
      await Promise.all([mkdir(home), mkdir(project)]);
      for (const [file, text] of Object.entries(a.files ?? {})) {
        await mkdir(dirname(join(dir, file)), { recursive: true });
        await writeFile(join(dir, file), text);
      }
      const path = fileURLToPath(new URL(`../node_modules/.bin/${a.program}`, import.meta.url));
      all.push({ name, ...a, run: (args) => run(path, args, project, { PATH: process.env.PATH, HOME: home, ...a.env }) });
    }
  }
  all.sort((x, y) => all.indexOf(x) % each - all.indexOf(y) % each); // agents by turns
  await inTurns(all, (a) => a.run(a.begin));
  const begun = await settled(sessions);
  await inTurns(all, (a) => a.run(a.goOn));
  const after = await settled(sessions);
  const count = (list) => {
    const of = {};
    for (const s of list) of[s.agent] = (of[s.agent] ?? 0) + 1;
    return JSON.stringify(of);
  };
  t.diagnostic(`begun: ${count(begun)}; after: ${count(after)}`);
  for (const s of begun) {
    const now = after.find((o) => o.id === s.id);
    assert.ok(now?.messages > s.messages, `${s.agent} ${s.id} did not go on: ${s.messages}, ${now?.messages}`);
  }
  assert.equal(begun.length, all.length);
  assert.equal(after.length, all.length, `sessions that only went on: ${JSON.stringify(after.filter((s) => !begun.some((b) => b.id === s.id)))}`);
});

async function inTurns(list, work) {
  const left = [...list];
  await Promise.all(Array.from({ length: atOnce }, async () => {
    for (let a = left.shift(); a; a = left.shift()) await work(a);
  }));
}

async function run(path, args, cwd, env) {
  const child = spawn(path, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
  const [code] = await once(child, 'close');
  assert.equal(code, 0, `${path} ${args.join(' ')} ended with ${code}: ${said}`);
}

// settled returns the sessions once they no longer change, because messages are journaled
// after the answer.
async function settled(sessions) {
  for (let last = '', same = 0; ; ) {
    const now = await sessions();
    const text = JSON.stringify(now.map((s) => [s.id, s.messages]));
    same = text === last ? same + 1 : 0;
    if (same === 10) return now;
    last = text;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
