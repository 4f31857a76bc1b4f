// ken connect: what is said in one session is in the block of the next one, with nothing
// between the agent and its model, and ken disconnect leaves the configuration as it was.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { marker } from '../../node/test/bytes.js';
import { ken } from '../../node/test/processes.js';
import { plain, setup } from './agents.js';

const run = promisify(execFile);
const statement = 'We decided to use PostgreSQL 15 for the ledger service, because of logical replication.';
const asks = 'Which database did we choose for the ledger service?';

// patient gives hooks the time that a loaded machine needs, in the project and in the
// agent's configuration. It returns what that was before.
async function patient(s, path) {
  await s.write('project/.ken/config.yaml', 'retrieval:\n  deadline: 30s\n');
  const text = await readFile(path, 'utf8');
  await writeFile(path, text.replace(/( hook [a-z-]+)"/g, '$1 --deadline 30s"').replace('"hook", "opencode"', '"hook", "opencode", "--deadline", "30s"'));
  return text;
}

// cases are the agents. file is what ken connect changes, before its text; null is no file.
const cases = [
  {
    agent: 'claude-code', program: 'claude', recording: 'messages_stream',
    file: '.claude/settings.json',
    before: '{\n  "model": "sonnet",\n  "unknown": {"kept": true},\n  "hooks": {\n    "Stop": [\n      {"hooks": [{"type": "command", "command": "true"}]}\n    ]\n  }\n}\n',
    env: (up) => ({ ANTHROPIC_BASE_URL: up, ANTHROPIC_API_KEY: 'sk-test', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' }),
    say: (text) => ['-p', text],
  },
  {
    agent: 'codex', program: 'codex', recording: 'responses_stream',
    file: '.codex/hooks.json', before: null,
    files: (up) => ({ 'home/.codex/config.toml': `model = "gpt-5-mini" # mine\nopenai_base_url = "${up}/v1"\n` }),
    env: () => ({ CODEX_API_KEY: 'sk-test' }),
    say: (text) => ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '--dangerously-bypass-hook-trust', text],
  },
  {
    agent: 'opencode', program: 'opencode', recording: 'chat_stream',
    file: '.config/opencode/plugins/ken.js', before: null,
    files: (up) => ({
      'project/opencode.json': JSON.stringify({
        autoupdate: false, share: 'disabled', small_model: 'chat/gpt-4.1-mini',
        provider: { chat: { npm: '@ai-sdk/openai-compatible', options: { baseURL: `${up}/v1`, apiKey: 'sk-test' }, models: { 'gpt-4.1-mini': {} } } },
      }),
    }),
    env: () => ({ OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' }),
    say: (text) => ['run', '--model', 'chat/gpt-4.1-mini', ...text.split(' ')],
  },
  {
    agent: 'qwen', program: 'qwen', recording: 'chat_stream',
    file: '.qwen/settings.json', before: '{\n    // mine\n    "$version": 4,\n    "ui": {\n        "theme": "dark"\n    }\n}\n',
    env: (up) => ({ OPENAI_BASE_URL: `${up}/v1`, OPENAI_API_KEY: 'sk-test', OPENAI_MODEL: 'gpt-4.1-mini', QWEN_TELEMETRY_ENABLED: '0' }),
    say: (text) => ['--auth-type', 'openai', '-p', text],
  },
];

for (const c of cases) {
  test(`ken connect ${c.agent}`, async (t) => {
    const s = await setup(t, c.program);
    if (!s) return;
    for (const [name, text] of Object.entries(c.files?.(s.up.url) ?? {})) await s.write(name, text);
    if (c.before !== null) await s.write(join('home', c.file), c.before);
    const path = join(s.home, c.file);
    const command = (...args) => run(ken, args, { cwd: s.project, env: { PATH: process.env.PATH, HOME: s.home } });

    await command('connect', c.agent, '--yes');
    assert.equal(JSON.parse((await command('connect', '--json')).stdout).agents.find((a) => a.agent === c.agent).connected, 'hooks');

    const connected = await patient(s, path);
    const env = c.env(s.up.url);
    const say = async (text) => {
      await s.up.forget();
      await s.up.next({ recording: c.recording });
      await s.run(c.say(text), env);
      return (await s.up.requests()).map((r) => r.body.toString()).filter((body) => body.includes(text));
    };
    const first = await say(statement);
    assert.ok(first.length > 0, 'the statement did not arrive');
    assert.ok(!first.some((body) => body.includes(marker)), `a block with nothing to say: ${first}`);
    const second = await say(asks);
    const block = second.find((body) => body.includes(marker));
    assert.ok(block, `no block in ${second}`);
    assert.match(block, /PostgreSQL 15/);
    const { stdout } = await command('sessions', '--json');
    const agents = JSON.parse(stdout).sessions.filter((i) => i.agent === c.agent && i.messages >= 2);
    assert.equal(agents.length, 2, stdout);

    await writeFile(path, connected);
    await command('disconnect', c.agent, '--yes');
    if (c.before === null) assert.ok(!existsSync(path), `${path} is still there`);
    else assert.equal(await readFile(path, 'utf8'), c.before);
  });
}

test('ken connect continue', async (t) => {
  const s = await setup(t, 'cn');
  if (!s) return;
  const before = `name: ken # mine\nversion: 0.0.1\nschema: v1\nmodels:\n  - {name: gpt, provider: openai, model: gpt-4.1-mini, apiBase: "${s.up.url}/v1", apiKey: sk-test}\n`;
  await s.write('home/.continue/config.yaml', before);
  const command = (...args) => run(ken, args, { cwd: s.project, env: { PATH: process.env.PATH, HOME: s.home } });
  await command('connect', 'continue', '--yes');
  await s.up.next({ recording: 'chat_stream' });
  await s.run(['-p', asks], { CONTINUE_TELEMETRY_ENABLED: '0' });
  const [asked] = await s.asked();
  const tools = JSON.parse(asked.body).tools.map((tool) => tool.function.name);
  assert.ok(tools.some((name) => name.includes('memory_recall')), tools.join());
  await command('disconnect', 'continue', '--yes');
  assert.equal(await readFile(join(s.home, '.continue/config.yaml'), 'utf8'), before);
});

// Gemini CLI speaks Gemini's own API, which the recorded provider does not.
async function gemini(t) {
  const bodies = [];
  const answer = { candidates: [{ content: { role: 'model', parts: [{ text: plain }] }, finishReason: 'STOP', index: 0 }], usageMetadata: { totalTokenCount: 2 } };
  const server = createServer((req, res) => {
    let body = '';
    req.on('data', (bytes) => (body += bytes));
    req.on('end', () => {
      bodies.push(body);
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.end(`data: ${JSON.stringify(answer)}\r\n\r\n`);
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${server.address().port}`, bodies };
}

test('ken connect gemini', async (t) => {
  const s = await setup(t, 'gemini');
  if (!s) return;
  const up = await gemini(t);
  const before = '{\n  // mine\n  "security": {"auth": {"selectedType": "gemini-api-key"}}\n}\n';
  await s.write('home/.gemini/settings.json', before);
  const command = (...args) => run(ken, args, { cwd: s.project, env: { PATH: process.env.PATH, HOME: s.home } });
  await command('connect', 'gemini', '--yes');
  const path = join(s.home, '.gemini/settings.json');
  const connected = await patient(s, path);
  const env = { GEMINI_API_KEY: 'test', GOOGLE_GEMINI_BASE_URL: up.url, GEMINI_TELEMETRY_ENABLED: 'false' };
  const say = (text) => s.run(['--skip-trust', '--model', 'gemini-2.5-flash', '-p', text], env);
  await say(statement);
  assert.ok(!up.bodies.some((body) => body.includes(marker)), 'a block with nothing to say');
  up.bodies.length = 0;
  await say(asks);
  assert.match(up.bodies.find((body) => body.includes(marker)) ?? '', /PostgreSQL 15/);
  await writeFile(path, connected);
  await command('disconnect', 'gemini', '--yes');
  assert.equal(await readFile(path, 'utf8'), before);
});
