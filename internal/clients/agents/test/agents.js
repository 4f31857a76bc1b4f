// An agent's program with a separate home folder, in front of a gateway that knows the claim.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as bytes from '../../node/test/bytes.js';
import { question, setup as sides } from '../../node/test/sides.js';

export { afterTool, claim, plain, question } from '../../node/test/sides.js';

// A loaded machine is slow; what takes longer than this hangs.
const patience = 240_000;

// setup starts a provider and a gateway, and makes a home and a project for an agent. It
// returns null, and the test is skipped, where the agent is not installed for this system.
export async function setup(t, program) {
  const path = fileURLToPath(new URL(`../node_modules/.bin/${program}`, import.meta.url));
  if (!(await access(path).then(() => true, () => false))) {
    t.skip(`${program} is not installed`);
    return null;
  }
  const s = await sides(t);
  const dir = await mkdtemp(join(tmpdir(), 'ken-agents-'));
  t.after(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
  const [home, project] = [join(dir, 'home'), join(dir, 'project')];
  await mkdir(home);
  await mkdir(project);
  const write = async (name, text) => {
    await mkdir(dirname(join(dir, name)), { recursive: true });
    await writeFile(join(dir, name), text);
  };
  // run runs the program to its end and returns what it printed. It gets these variables and
  // no others.
  const run = async (args, env = {}) => {
    const child = spawn(path, args, { cwd: project, env: { PATH: process.env.PATH, HOME: home, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    const late = setTimeout(() => child.kill('SIGKILL'), patience);
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
    const [code] = await once(child, 'close');
    clearTimeout(late);
    assert.equal(code, 0, `${program} ${args.join(' ')} ended with ${code}: ${said}`);
    return said;
  };
  // asked returns the requests for the agent's turns that have arrived since the last call:
  // those that offer tools, without those that only fill the provider's cache.
  const asked = async () => {
    const all = await s.up.requests();
    await s.up.forget();
    return all.filter((r) => {
      const body = r.body.length > 0 && r.body[0] === 0x7b ? JSON.parse(r.body) : {};
      return body.tools?.length > 0 && body.generate !== false;
    });
  };
  const sessions = async () => (await (await fetch(`${s.gate.url}/api/sessions`)).json()).sessions;
  return { ...s, v1: `${s.gate.url}/v1`, home, project, run, write, asked, sessions };
}

// block finds the first block of a request: its place, its bytes, and the message behind it.
function block(request) {
  const messages = bytes.conversation(request.body);
  const at = messages.findIndex((m) => bytes.texts(m).some((text) => text.startsWith(bytes.marker)));
  assert.notEqual(at, -1, `no block in ${request.body}`);
  return { at, text: JSON.stringify(messages[at]), next: messages[at + 1] };
}

// beforeQuestion checks that the block is right before the user's question.
export function beforeQuestion(request) {
  const { next } = block(request);
  assert.ok(next?.role === 'user' && bytes.texts(next).some((text) => text.includes(question)), `behind the block: ${JSON.stringify(next)}`);
}

// keepsBlock checks that a later request has the same block at the same place.
export function keepsBlock(before, now) {
  const [a, b] = [block(before), block(now)];
  assert.deepEqual([b.at, b.text], [a.at, a.text]);
}

// continues checks that a later request begins with every byte of an earlier one, up to the
// question.
export function continues(before, now) {
  const said = before.body.subarray(0, before.body.lastIndexOf(question) + question.length);
  assert.ok(now.body.subarray(0, said.length).equals(said), `${now.body}\ndoes not begin with\n${said}`);
}

// session finds the one session of an agent that no other one started.
export async function session(s, agent) {
  const found = (await s.sessions()).filter((i) => i.agent === agent && !i.parent);
  assert.equal(found.length, 1, JSON.stringify(await s.sessions()));
  return found[0];
}

// apart checks a conversation that begins with the words of the earlier one, gets a
// recorded answer, and continues in another process. It is a separate session, and keeps
// every byte that was sent.
export async function apart(s, recording, begin, goOn) {
  const [{ id }] = await settled(s, (all) => all.length === 1);
  await s.up.next({ recording });
  await begin();
  const [asked] = await s.asked();
  beforeQuestion(asked);
  const both = await settled(s, (all) => all.length === 2);
  const [first, other] = [both.find((i) => i.id === id), both.find((i) => i.id !== id)];
  await s.up.next({ recording });
  await goOn();
  const [again] = await s.asked();
  continues(asked, again);
  const all = await settled(s, (all) => all.find((i) => i.id === other.id).messages > other.messages);
  assert.equal(all.length, 2, JSON.stringify(all));
  assert.equal(all.find((i) => i.id === id).messages, first.messages);
}

// settled returns the sessions once a check accepts them, because messages are journaled
// after the answer.
async function settled(s, check) {
  for (let i = 0; ; i++) {
    const all = await s.sessions();
    if (check(all)) return all;
    assert.ok(i < 100, JSON.stringify(all));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export const header = (request, name) => request.header.find((f) => f.name.toLowerCase() === name)?.value;
