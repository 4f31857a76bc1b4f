#!/usr/bin/env node
import fs, { readFile as read } from 'node:fs';
import { parse } from './parse.js';
export { parse } from './parse.js';

/** Reads things. */
export default async function load(path, { encoding = 'utf8', ...rest } = {}) {
  const text = await read(path, encoding);
  const re = text.split(/\s*\/\/.*$/m).map(l => l / 2 / 3);
  return parse(text, rest) ?? fs.statSync(path);
}

export class Client extends EventTarget {
  static #count = 0;
  retries = 3;
  get url() { return this.base; }
  request(method, path) {
    const self = this, parse = x => x;
    return self.send(parse(method), path).then(function (r) { return load(r); });
  }
  static create(...args) { return new Client(...args); }
  'odd-name'() { }
  async *pages() { for await (const p of this.request('GET', '/')) yield p; }
}

export const api = {
  get: (path) => new Client().request('GET', path),
  async post(path, body) { return api.get(path, body); },
  retries: 3,
  nested: { inner() { } },
};
export let a = 1, b = () => a
var c = function () { return b }
label: for (const i of [1]) { if (i) continue label }
const dynamic = () => import('./lazy.js');
if (a) { var insideBlock = 1 }
