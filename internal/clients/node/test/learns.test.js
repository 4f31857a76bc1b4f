// What is said in one session is known in the next.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';
import { conversation, texts } from './bytes.js';
import * as processes from './processes.js';

test('a session is harvested, and the next one knows it', async (t) => {
  const up = await processes.upstream(t);
  const dir = await processes.project(t, []);
  const say = async (gate, session, ...said) => {
    const c = new OpenAI({ apiKey: 'sk-test', baseURL: `${gate.url}/v1`, defaultHeaders: { 'X-Ken-Session': session }, maxRetries: 0 });
    const messages = [];
    for (const content of said) {
      messages.push({ role: 'user', content });
      const answer = await c.chat.completions.create({ model: 'gpt-4.1-mini', messages });
      messages.push(answer.choices[0].message);
    }
  };

  const first = await processes.gateway(t, dir, up.url);
  await say(first, 'monday', 'Remember that the staging database of the invoices team listens on port 6432.', 'And how do I restart it?');
  assert.equal(await first.stop(), 0, first.said());
  const before = await up.requests();
  assert.ok(before.every((r) => !r.body.includes('[Pipeline Knowledge]')), 'something was known already');

  const sessions = await processes.command(dir, 'sessions');
  assert.match(sessions, /monday/);

  await up.forget();
  const second = await processes.gateway(t, dir, up.url);
  await say(second, 'tuesday', 'Which port does the staging database of the invoices team listen on?');
  const [request] = await up.requests();
  const [block] = conversation(request.body);
  assert.match(texts(block)[0], /^\[Pipeline Knowledge\][^]*6432/);
});
