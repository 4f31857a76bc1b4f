// The client @kenlayer/ken, with the program started by itself and at an address.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttp } from 'node:http';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import Anthropic from '@anthropic-ai/sdk';
import { Ken, KenError } from '@kenlayer/ken';
import OpenAI from 'openai';
import { blockAt, conversation, marker, texts } from './bytes.js';
import * as processes from './processes.js';
import { started } from './started.js';
import { afterTool, claim, plain, question } from './sides.js';

const tools = [{
  type: 'function',
  function: { name: 'read_file', description: 'Read a file', parameters: { type: 'object', properties: { path: { type: 'string' }, lines: { type: 'integer' } } } },
}];

test('remember, recall, forget', async (t) => {
  const ken = await started(t);
  const kept = await ken.remember(claim, { about: 'payments', tags: ['retry'] });
  assert.equal(kept.text, claim);
  assert.deepEqual(kept.entities, ['payments']);
  const found = await ken.recall(question, { limit: 3 });
  assert.equal(found[0].id, kept.id);
  assert.ok(found[0].score > 0);
  const rule = await ken.remember('Payments must never be retried on Fridays.', { about: ['payments'], rule: true, key: 'fridays' });
  assert.equal(rule.constraint, true);
  assert.equal((await ken.remember('Payments must never be retried on Sundays.', { about: ['payments'], rule: true, key: 'fridays' })).id, rule.id);
  assert.ok((await ken.forget(kept.id)).includes(kept.id));
  assert.ok(!(await ken.recall(question)).some((f) => f.id === kept.id));
  assert.ok((await ken.forget(rule)).includes(rule.id));
});

test('errors say what is wrong, where, and what to do', async (t) => {
  const ken = await started(t);
  await assert.rejects(ken.remember(''), (e) => e instanceof KenError && e.code === 'invalid' && e.field === 'text' && e.status === 400);
  await assert.rejects(ken.forget('00000000-0000-7000-8000-000000000000'), (e) => e.code === 'not_found' && e.field === 'id' && /^ken: id: .*\nTry: /.test(e.message));
  await assert.rejects(ken.request('POST', '/api/claims', { txt: 'x' }), (e) => e.field === 'txt' && e.hint === 'Did you mean text?' && e.status === 400);
  const nowhere = new Ken({ url: 'http://127.0.0.1:1' });
  await assert.rejects(nowhere.recall('x'), (e) => e.code === 'unavailable' && e.cause instanceof Error && e.message.includes('http://127.0.0.1:1'));
  const wrong = new Ken({ project: '/nowhere' });
  await assert.rejects(wrong.recall('x'), (e) => e.code === 'invalid' && e.field === 'project' && e.hint !== '');
});

test('what is empty, no string or no address is refused before anything is sent', async (t) => {
  const refuses = (field, call) => assert.rejects(async () => call(), (e) => e instanceof KenError && e.code === 'invalid' && e.field === field && e.hint !== '', `${field}: ${call}`);
  for (const owner of ['', null, 7, 'a b', '*', '../x', 'a'.repeat(129)]) await refuses('owner', () => new Ken({ owner }));
  for (const key of ['', null, 'schlüssel', 'a\nb']) await refuses('key', () => new Ken({ key }));
  for (const url of ['localhost:8484', 'ken.example', 'http://', 'ftp://127.0.0.1:8484']) await refuses('url', () => new Ken({ url }));
  const ken = await started(t);
  for (const name of [null, 7, 'a\nb', 'a'.repeat(257)]) await refuses('session', () => ken.session(name));
  for (const client of [null, {}, 'x']) await refuses('client', () => ken.wrap(client));
  for (const wanted of ['', null, undefined, {}]) await refuses('claim', () => ken.forget(wanted));
  for (const asked of ['', null, undefined]) await refuses('question', () => ken.recall(asked));
  assert.notEqual(ken.session('').name, ken.session('').name);
});

test('an answer that is not one of Ken is an error of Ken', async (t) => {
  let answer;
  const other = createHttp((request, response) => request.resume().on('end', () => response.writeHead(answer.status).end(answer.body))).listen(0, '127.0.0.1');
  t.after(() => other.close());
  await once(other, 'listening');
  const ken = new Ken({ url: `http://127.0.0.1:${other.address().port}/v1/` });
  for (answer of [{ status: 200, body: '{}' }, { status: 200, body: 'null' }, { status: 200, body: '<html>' }, { status: 502, body: 'bad gateway' }, { status: 500, body: 'null' }]) {
    for (const call of [() => ken.recall('x'), () => ken.remember('x'), () => ken.forget('x'), () => ken.prepare([{ role: 'user', content: 'x' }])]) {
      await assert.rejects(call(), (e) => e instanceof KenError && e.code === 'unavailable' && e.hint.includes('KEN_URL') && e.status === (answer.status === 200 ? 0 : answer.status), `${answer.body}: ${call}`);
    }
  }
});

test('a question of any length', async (t) => {
  const ken = await started(t, [claim]);
  for (const asked of [question + ' 订单'.repeat(20000), '订单'.repeat(20000) + question]) {
    assert.ok((await ken.recall(asked)).some((f) => f.text === claim));
  }
});

test('sessions and owners have names in any script', async (t) => {
  const up = await processes.upstream(t);
  const ken = new Ken({ project: await processes.project(t, []), owner: 'zoë訪' });
  t.after(() => ken.close());
  await ken.remember(claim);
  for (const name of ['é', '訪問 17', 'ü'.repeat(128)]) {
    const session = ken.session(name);
    await session.wrap(new OpenAI({ apiKey: 'sk-mine', baseURL: `${up.url}/v1`, maxRetries: 0 })).chat.completions.create({ model: 'gpt-4.1-mini', messages: [{ role: 'user', content: question }] });
    await session.end();
    if (name.length < 100) assert.equal((await ken.request('GET', `/api/sessions/${encodeURIComponent(name)}`)).state, 'harvested');
  }
  const requests = await up.requests();
  assert.equal(requests.length, 3);
  for (const { body } of requests) assert.ok(body.includes(marker));
});

test('a wrapped OpenAI client goes to its own API with its own key, through Ken', async (t) => {
  const up = await processes.upstream(t);
  const ken = await started(t, [claim]);
  const client = new OpenAI({ apiKey: 'sk-mine', baseURL: `${up.url}/v1`, maxRetries: 1 });
  const openai = ken.session('monday').wrap(client);
  assert.ok(openai instanceof OpenAI);

  const messages = [{ role: 'user', content: question }];
  const first = await openai.chat.completions.create({ model: 'gpt-4.1-mini', messages });
  assert.equal(first.choices[0].message.content, plain);
  messages.push(first.choices[0].message, { role: 'user', content: 'thanks!' });
  const deltas = [];
  for await (const event of await openai.chat.completions.create({ model: 'gpt-4.1-mini', messages, stream: true })) deltas.push(event.choices[0]?.delta.content ?? '');
  assert.equal(deltas.join(''), plain);
  assert.ok(deltas.length > 5, 'it did not stream');
  assert.equal((await openai.responses.create({ model: 'gpt-5-mini', input: question })).output_text, plain);
  assert.ok((await openai.models.list()).data.length > 0);

  const requests = await up.requests();
  assert.deepEqual(requests.map((r) => r.target), ['/v1/chat/completions', '/v1/chat/completions', '/v1/responses', '/v1/models']);
  for (const r of requests) {
    const headers = Object.fromEntries(r.header.map((f) => [f.name.toLowerCase(), f.value]));
    assert.equal(headers.authorization, 'Bearer sk-mine');
    assert.ok(!Object.keys(headers).some((name) => name.startsWith('x-ken')), `${Object.keys(headers)}`);
    assert.equal(r.body.includes(marker), r.target !== '/v1/models');
  }
  assert.equal(blockAt(requests[0].body), 0);

  // The client itself is as it was.
  await up.forget();
  await client.chat.completions.create({ model: 'gpt-4.1-mini', messages });
  assert.ok(!(await up.requests())[0].body.includes(marker));
});

test('tools, errors and retries are those of the client', async (t) => {
  const up = await processes.upstream(t);
  const ken = await started(t, [claim]);
  const openai = ken.wrap(new OpenAI({ apiKey: 'sk-mine', baseURL: `${up.url}/v1`, maxRetries: 0 }));
  const messages = [{ role: 'user', content: question }];
  const first = await openai.chat.completions.create({ model: 'gpt-4.1-mini', messages, tools });
  const [call] = first.choices[0].message.tool_calls;
  assert.equal(call.function.name, 'read_file');
  messages.push(first.choices[0].message, { role: 'tool', tool_call_id: call.id, content: 'attempts = 3' });
  assert.equal((await openai.chat.completions.create({ model: 'gpt-4.1-mini', messages, tools })).choices[0].message.content, afterTool);

  await up.next({ recording: 'error_401' });
  await assert.rejects(openai.chat.completions.create({ model: 'gpt-4.1-mini', messages }), OpenAI.AuthenticationError);
  await up.forget();
  await up.next({ recording: 'error_500_html' });
  assert.ok(await openai.chat.completions.create({ model: 'gpt-4.1-mini', messages }, { maxRetries: 1 }));
  assert.equal((await up.requests()).length, 2);
  await assert.rejects(openai.chat.completions.create({ model: 'gpt-4.1-mini', messages }, { signal: AbortSignal.abort() }), OpenAI.APIUserAbortError);
});

test('a wrapped Anthropic client', async (t) => {
  const up = await processes.upstream(t);
  const ken = await started(t, [claim]);
  const anthropic = ken.wrap(new Anthropic({ apiKey: 'sk-ant-mine', baseURL: up.url, maxRetries: 0 }));
  const call = { model: 'claude-haiku-4-5', max_tokens: 100, messages: [{ role: 'user', content: question }] };
  assert.equal((await anthropic.messages.create(call)).content[0].text, plain);
  assert.equal(await anthropic.messages.stream(call).finalText(), plain);
  const requests = await up.requests();
  assert.deepEqual(requests.map((r) => r.target), ['/v1/messages', '/v1/messages']);
  for (const r of requests) {
    assert.ok(r.header.some((f) => f.name === 'Authorization' && f.value === 'Bearer sk-ant-mine'));
    assert.ok(r.body.includes(marker));
  }
});

test('one Ken is in front of several APIs, and the path stays', async (t) => {
  const [one, two] = [await processes.upstream(t), await processes.upstream(t)];
  const ken = await started(t, [claim]);
  for (const up of [one, two]) {
    const openai = ken.wrap(new OpenAI({ apiKey: 'sk-mine', baseURL: `${up.url}/v1`, maxRetries: 0 }));
    await openai.chat.completions.create({ model: 'gpt-4.1-mini', messages: [{ role: 'user', content: question }] });
    assert.equal((await up.requests()).length, 1);
  }
  const other = ken.wrap(new OpenAI({ apiKey: 'sk-mine', baseURL: `${one.url}/openai/deployments/a%2Fb`, defaultQuery: { 'api-version': '1' }, maxRetries: 0 }));
  await assert.rejects(other.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: question }] }), OpenAI.NotFoundError);
  assert.equal((await one.requests())[1].target, '/openai/deployments/a%2Fb/chat/completions?api-version=1');
});

test('at an address: with a key, and never in front of another API than the client means', async (t) => {
  const [up, other] = [await processes.upstream(t), await processes.upstream(t)];
  const dir = await processes.project(t, [claim]);
  const key = JSON.parse(await processes.command(dir, 'key', 'create', 'ana', '--json')).key;
  const gate = await processes.gateway(t, dir, up.url);
  await assert.rejects(new Ken({ url: gate.url }).recall(question), (e) => e.code === 'missing_key' && e.status === 401 && e.hint !== '');

  const ken = new Ken({ url: `${gate.url}/v1/`, key });
  assert.equal((await ken.recall(question))[0].text, claim);
  assert.equal((await ken.remember('The ledger listens on port 7001.')).text, 'The ledger listens on port 7001.'); // with an agent's right
  await assert.rejects(ken.request('GET', '/api/sessions'), (e) => e.code === 'forbidden' && e.status === 403);
  const ask = (client) => client.chat.completions.create({ model: 'gpt-4.1-mini', messages: [{ role: 'user', content: question }] });
  await ask(ken.wrap(new OpenAI({ apiKey: 'sk-mine', baseURL: `${up.url}/v1`, maxRetries: 0 })));
  // Whoever makes the gateway the base URL means whatever it is in front of.
  await ask(ken.wrap(new OpenAI({ apiKey: 'sk-mine', baseURL: `${gate.url}/v1`, maxRetries: 0 })));
  assert.equal((await up.requests()).filter((r) => r.body.includes(marker)).length, 2);
  await assert.rejects(ask(ken.wrap(new OpenAI({ apiKey: 'sk-other', baseURL: `${other.url}/v1`, maxRetries: 0 }))), (e) => e.status === 421 && /sends to another API/.test(e.message));
  assert.equal((await up.requests()).length, 2);
  assert.equal((await other.requests()).length, 0);
});

test('each owner has knowledge of its own, in one Ken', async (t) => {
  const up = await processes.upstream(t);
  const kens = [];
  t.after(() => Promise.all(kens.map((ken) => ken.close())));
  const project = await processes.project(t, []);
  const [ana, ben] = ['ana', 'ben'].map((owner) => new Ken({ project, owner }));
  kens.push(ana, ben);
  assert.equal(await ana.url(), await ben.url());
  await ana.remember(claim);
  assert.equal((await ana.recall(question)).length, 1);
  assert.deepEqual(await ben.recall(question), []);
  for (const owner of [ana, ben]) {
    const openai = owner.session().wrap(new OpenAI({ apiKey: 'sk-mine', baseURL: `${up.url}/v1` }));
    await openai.chat.completions.create({ model: 'gpt-4.1-mini', messages: [{ role: 'user', content: question }] });
  }
  assert.deepEqual((await up.requests()).map((r) => r.body.includes(marker)), [true, false]);
  await ana.close();
  assert.deepEqual(await ben.recall(question), []);
});

test('several programs in one folder share what is known', async (t) => {
  let one;
  t.after(() => one?.close());
  const project = await processes.project(t, []);
  one = new Ken({ project });
  const two = new Ken({ url: (await processes.gateway(t, project, 'http://127.0.0.1:1')).url });
  await one.remember(claim);
  assert.equal((await two.recall(question))[0].text, claim);
});

test('fetch takes a request, and sends what is no model call as it is', async (t) => {
  const up = await processes.upstream(t);
  const ken = await started(t, [claim]);
  const body = JSON.stringify({ model: 'gpt-4.1-mini', messages: [{ role: 'user', content: question }] });
  const post = (path) => new Request(`${up.url}${path}`, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
  assert.equal((await (await ken.fetch(post('/v1/chat/completions'))).json()).choices[0].message.content, plain);
  await ken.fetch(post('/v1/files'));
  await ken.fetch(new URL(`${up.url}/v1/models`));
  const requests = await up.requests();
  assert.deepEqual(requests.map((r) => r.target), ['/v1/chat/completions', '/v1/files', '/v1/models']);
  assert.deepEqual(requests.map((r) => r.body.includes(marker)), [true, false, false]);
});

test('a client that signs its requests is refused', () => {
  class AnthropicBedrock {
    withOptions() {}
  }
  assert.throws(() => new Ken().wrap(new AnthropicBedrock()), (e) => e instanceof KenError && e.field === 'client' && e.hint !== '');
});

test('a model call goes on without Ken, and says so', async (t) => {
  const up = await processes.upstream(t);
  for (const options of [{ url: 'http://127.0.0.1:1' }, {}]) {
    const warned = once(process, 'warning');
    const openai = new Ken({ ...options, project: '/nowhere' }).wrap(new OpenAI({ apiKey: 'sk-mine', baseURL: `${up.url}/v1`, maxRetries: 0 }));
    const answer = await openai.chat.completions.create({ model: 'gpt-4.1-mini', messages: [{ role: 'user', content: question }] });
    assert.equal(answer.choices[0].message.content, plain);
    const [warning] = await warned;
    assert.equal(warning.name, 'KenWarning');
    assert.match(warning.message, /went on without Ken/);
  }
});

test('a call that Ken may have sent on is not sent again', async (t) => {
  const up = await processes.upstream(t);
  const broken = createServer((socket) => socket.once('data', () => socket.resetAndDestroy())).listen(0, '127.0.0.1');
  t.after(() => broken.close());
  await once(broken, 'listening');
  const ken = new Ken({ url: `http://127.0.0.1:${broken.address().port}` });
  const body = JSON.stringify({ model: 'gpt-4.1-mini', messages: [{ role: 'user', content: question }] });
  await assert.rejects(ken.fetch(`${up.url}/v1/chat/completions`, { method: 'POST', body }), TypeError);
  assert.equal((await up.requests()).length, 0);
});

test('what is closed starts nothing', async (t) => {
  const up = await processes.upstream(t);
  const ken = await started(t);
  const before = await ken.url();
  await ken.close();
  const warned = once(process, 'warning');
  const body = JSON.stringify({ model: 'gpt-4.1-mini', messages: [{ role: 'user', content: question }] });
  assert.equal((await ken.fetch(`${up.url}/v1/chat/completions`, { method: 'POST', body })).status, 200);
  assert.match((await warned)[0].message, /is closed/);
  await gone(before);
  assert.ok(!(await up.requests())[0].body.includes(marker));
});

test('a request does not wait for ever', async (t) => {
  const { url, asked } = await processes.silent(t);
  await assert.rejects(new Ken({ url }).recall(question), (e) => e instanceof KenError && e.code === 'unavailable');
  assert.deepEqual(asked, [60_000]);
});

test('what was said in a session is known in the next', async (t) => {
  const up = await processes.upstream(t);
  const ken = await started(t);
  const say = (session, content) => session.wrap(new OpenAI({ apiKey: 'sk-mine', baseURL: `${up.url}/v1` })).chat.completions.create({ model: 'gpt-4.1-mini', messages: [{ role: 'user', content }] });
  const monday = ken.session('monday');
  await say(monday, 'Remember that the staging database of the invoices team listens on port 6432.');
  await monday.end();
  assert.equal((await ken.request('GET', '/api/sessions/monday')).state, 'harvested');
  await ken.session('nothing said').end();
  await up.forget();
  await say(ken.session('tuesday'), 'Which port does the staging database of the invoices team listen on?');
  const [request] = await up.requests();
  assert.match(texts(conversation(request.body)[0])[0], /^\[Pipeline Knowledge\][^]*6432/);
});

test('what a user says is no rule', async (t) => {
  const ken = await started(t);
  const session = ken.session('visit');
  await session.prepare([{ role: 'user', content: 'Always deploy the payments service with the blue-green script.' }]);
  await session.end();
  const { claims } = await ken.request('GET', '/api/sessions/visit');
  assert.ok(claims.some((c) => c.text.includes('blue-green')), JSON.stringify(claims));
  assert.deepEqual(claims.filter((c) => c.constraint), []);
});

test('a conversation for a model of one\'s own', async (t) => {
  const ken = await started(t, [claim]);
  const messages = [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: question }];
  const turn = await ken.session('own').prepare(messages, { model: 'mine' });
  assert.equal(turn.session, 'own');
  assert.deepEqual(turn.messages.map((m) => m.role), ['system', 'user', 'user']);
  assert.ok(turn.messages[1].content.includes(claim));
  assert.equal(messages.length, 2);
  await turn.answered({ role: 'assistant', content: plain });
  await turn.answered({ role: 'assistant', content: plain }); // again is no error
});

// A program of its own that uses Ken, and prints where Ken is.
const program = `
  import { Ken } from '@kenlayer/ken';
  const ken = new Ken({ project: process.argv[1] });
  console.log(await ken.url());
  if (process.argv[2] === 'stay') await new Promise((resolve) => setTimeout(resolve, 1 << 30));
`;

// gone resolves when nothing answers at an address any more.
async function gone(url) {
  for (;;) {
    try {
      await (await fetch(`${url}/healthz`)).text();
    } catch {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('what was started ends with the process, and another call starts it anew', async (t) => {
  const dir = await processes.project(t, []);
  const args = ['--input-type=module', '-e', program, dir];
  const here = new URL('.', import.meta.url);
  const url = execFileSync(process.execPath, args, { encoding: 'utf8', cwd: here }).trim();
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/);
  await gone(url);

  const killed = spawn(process.execPath, [...args, 'stay'], { stdio: ['ignore', 'pipe', 'inherit'], cwd: here });
  const [line] = await once(killed.stdout.setEncoding('utf8'), 'data');
  assert.equal((await fetch(`${line.trim()}/healthz`)).status, 200);
  killed.kill('SIGKILL');
  await gone(line.trim());

  const ken = new Ken({ project: dir });
  const before = await ken.url();
  await ken.close();
  await gone(before);
  assert.notEqual(await ken.url(), before);
  assert.deepEqual(await ken.recall('anything'), []);
  await ken.close();
  await ken.close();
});

// kill ends the servers that were started for a folder, as a crash would.
function kill(folder) {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n');
  const pids = lines.filter((line) => line.includes(`--dir ${folder} `) && line.includes('--child')).map((line) => line.trim().split(/\s+/)).filter(([, parent]) => Number(parent) === process.pid);
  for (const [pid] of pids) process.kill(Number(pid), 'SIGKILL');
  return pids.length;
}

test('a server that was killed is replaced by the next call', async (t) => {
  const up = await processes.upstream(t);
  let ken;
  t.after(() => ken?.close());
  const project = await processes.project(t, [claim]);
  ken = new Ken({ project });
  const openai = ken.session('monday').wrap(new OpenAI({ apiKey: 'sk-mine', baseURL: `${up.url}/v1`, maxRetries: 0 }));
  const ask = () => openai.chat.completions.create({ model: 'gpt-4.1-mini', messages: [{ role: 'user', content: question }] });
  await ask();
  for (const call of [ask, () => ken.remember('The ledger listens on port 7001.'), () => ken.recall(question), ask]) {
    const before = await ken.url();
    assert.equal(kill(project), 1);
    await gone(before);
    await call();
    assert.notEqual(await ken.url(), before);
  }
  const requests = await up.requests();
  assert.deepEqual(requests.map((r) => r.body.includes(marker)), [true, true, true]);
  assert.ok(!JSON.stringify(requests.map((r) => r.header)).includes('ken_'));
});

test('nobody else may use what was started, and its console opens by its link', async (t) => {
  const ken = await started(t, [claim]);
  for (const headers of [{}, { 'x-ken-key': `ken_${'0'.repeat(64)}` }, { 'x-ken-owner': 'ana' }]) {
    for (const path of ['/api/search?q=payments', '/console/claims', '/metrics']) {
      assert.equal((await fetch((await ken.url()) + path, { headers })).status, 401, path);
    }
  }
  const login = await fetch(await ken.console(), { redirect: 'manual' });
  assert.equal(login.status, 303);
  const page = await fetch(`${await ken.url()}/console/claims`, { headers: { cookie: login.headers.get('set-cookie').split(';')[0] } });
  assert.ok((await page.text()).includes(claim));
});

// A program that says something to a model, and prints where Ken was.
const talker = `
  import { Ken } from '@kenlayer/ken';
  import OpenAI from 'openai';
  const ken = new Ken();
  await ken.wrap(new OpenAI()).chat.completions.create({ model: 'gpt-4.1-mini', messages: [{ role: 'user', content: process.argv[2] }] });
  console.log(await ken.url());
`;

test('what one program said is known to the next, though nobody ended a session', async (t) => {
  const up = await processes.upstream(t);
  const cwd = await processes.project(t, []);
  const file = fileURLToPath(new URL(`../.talker-${process.pid}.mjs`, import.meta.url)); // where the packages are found
  t.after(() => rmSync(file, { force: true }));
  writeFileSync(file, talker);
  const env = { ...process.env, OPENAI_API_KEY: 'sk-mine', OPENAI_BASE_URL: `${up.url}/v1` };
  for (const said of ['Remember that the staging database of the invoices team listens on port 6432.', 'Which port does the staging database of the invoices team listen on?']) {
    await gone(execFileSync(process.execPath, [file, said], { encoding: 'utf8', cwd, env }).trim());
  }
  const [first, second] = await up.requests();
  assert.ok(!first.body.includes(marker));
  assert.match(texts(conversation(second.body)[0])[0], /^\[Pipeline Knowledge\][^]*6432/);
});
