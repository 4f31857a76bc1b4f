// Tests what the gateway adds to a request, and what it does not change.

import assert from 'node:assert/strict';

export const marker = '[Pipeline Knowledge]';

// added returns the spans that got has and sent has not, or fails when got is
// anything but sent with spans put in.
export function added(sent, got) {
  const anchor = 48;
  const spans = [];
  let i = 0;
  let j = 0;
  for (;;) {
    while (i < sent.length && j < got.length && sent[i] === got[j]) {
      i++;
      j++;
    }
    if (i === sent.length) break;
    const rest = sent.subarray(i);
    let next = got.indexOf(rest.subarray(0, anchor), j);
    if (rest.length < anchor && got.subarray(-rest.length).equals(rest)) next = got.length - rest.length;
    assert.ok(next > j, `changed at byte ${i}: ${sent.subarray(i, i + 80)} became ${got.subarray(j, j + 80)}`);
    spans.push(got.subarray(j, next).toString());
    j = next;
  }
  if (j < got.length) spans.push(got.subarray(j).toString());
  return spans;
}

// texts are the texts of a message's content, in any dialect.
export function texts(message) {
  const { content } = message;
  if (typeof content === 'string') return [content];
  return (content ?? []).map((part) => part.text ?? '');
}

// conversation is the list of messages of a request, in any dialect.
export function conversation(body) {
  const { messages, input } = JSON.parse(body);
  return messages ?? input;
}

// blockAt returns the index of the one block in a request, and fails when there
// is none or another.
export function blockAt(body) {
  assert.equal(body.toString().split(marker).length - 1, 1, `not one block in ${body}`);
  const at = conversation(body).findIndex((m) => texts(m).some((text) => text.startsWith(marker)));
  assert.notEqual(at, -1, `the block begins no message: ${body}`);
  return at;
}

const perHop = new Set(['host', 'connection', 'keep-alive', 'content-length', 'transfer-encoding']);

// headers are a recorded request's headers without those of the connection, by
// their names in lower case.
export function headers(request) {
  const out = {};
  for (const { name, value } of request.header) {
    const key = name.toLowerCase();
    if (perHop.has(key) || key.startsWith('x-ken')) continue;
    (out[key] ??= []).push(value);
  }
  return out;
}

// wiretap is a fetch that records the answers. It reads every answer to its end,
// also if a client aborts earlier.
export function wiretap() {
  const heard = [];
  const tapped = async (input, init) => {
    const res = await fetch(input, { ...init, signal: undefined });
    const copy = res.clone();
    const answer = { status: res.status, headers: Object.fromEntries(res.headers) };
    answer.body = copy.arrayBuffer().then((b) => Buffer.from(b));
    heard.push(answer);
    return res;
  };
  return { fetch: tapped, heard };
}
