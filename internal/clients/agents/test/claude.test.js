// Claude Code, which speaks Anthropic's Messages.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterTool, beforeQuestion, header, keepsBlock, plain, question, session, setup } from './agents.js';

test('Claude Code', async (t) => {
  const s = await setup(t, 'claude');
  if (!s) return;
  const env = { ANTHROPIC_BASE_URL: s.gate.url, ANTHROPIC_API_KEY: 'sk-test', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' };
  let id, first;

  await t.test('a turn with a tool', async () => {
    assert.match(await s.run(['-p', question], env), new RegExp(afterTool.slice(10, 40)));
    const requests = await s.asked();
    assert.equal(requests.length, 2);
    [first] = requests;
    for (const r of requests) {
      beforeQuestion(r);
      keepsBlock(first, r);
    }
    id = header(first, 'x-claude-code-session-id');
    assert.equal((await session(s, 'claude-code')).id, id);
  });

  await t.test('goes on in another process', async () => {
    await s.up.next({ recording: 'messages_stream' });
    assert.match(await s.run(['-p', '--continue', 'thanks!'], env), new RegExp(plain.slice(0, 30)));
    for (const r of await s.asked()) keepsBlock(first, r);
    assert.equal((await session(s, 'claude-code')).id, id);
  });

  await t.test('a sub-agent has a session of its own', async () => {
    const answer = { recording: 'messages_stream' };
    await s.up.next({ recording: 'messages_subagent_stream' }, answer, answer, answer, answer);
    await s.run(['-p', question], env);
    const sub = (await s.asked()).find((r) => header(r, 'x-claude-code-agent-id'));
    assert.ok(sub, 'no sub-agent asked');
    const parent = header(sub, 'x-claude-code-session-id');
    const found = (await s.sessions()).find((i) => i.parent === parent);
    assert.equal(found?.id, `${parent}~${header(sub, 'x-claude-code-agent-id')}`);
  });
});
