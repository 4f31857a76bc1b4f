// The client of Ken: memory for programs that call a model.

import { createRequire } from "node:module";
import { withBlocks } from "./lib/blocks.mjs";
import { checkAddress, checkKey, checkOwner, checkQuestion, checkSession, filled, headerOf } from "./lib/check.mjs";
import { KenError, notKen, problemOf, unreachable } from "./lib/error.mjs";
import { routed, unconnected, within } from "./lib/route.mjs";
import { acquire } from "./lib/server.mjs";

export { KenError };

const require = createRequire(import.meta.url);

/** The path of the program: KEN_BIN, else the one in the package for this platform. Throws where none is installed. */
export function findKen() {
  if (process.env.KEN_BIN) return process.env.KEN_BIN;
  const name = `@kenlayer/ken-${process.platform}-${process.arch}`;
  try {
    return require.resolve(`${name}/bin/ken${process.platform === "win32" ? ".exe" : ""}`);
  } catch (cause) {
    throw new KenError(`the package ${name} is not installed`, {
      code: "unavailable",
      hint: "Install @kenlayer/ken without --no-optional (--omit=optional), on a platform that Ken is built for: Linux, macOS or Windows on x64 or arm64.",
      cause,
    });
  }
}

/**
 * @typedef {object} KenOptions
 * @property {string} [url] The address of a running `ken serve`. Default: the environment variable KEN_URL. Without either, Ken is started.
 * @property {string} [key] A key of that `ken serve`. Default: the environment variable KEN_KEY.
 * @property {string} [owner] The owner of the knowledge, for a Ken without keys. A key has its owner already.
 * @property {string} [project] The project's folder, for a Ken that is started. Default: the current folder.
 */

/**
 * A fact as Ken keeps it. Fields may be added.
 * @typedef {object} Claim
 * @property {string} id
 * @property {string} text
 * @property {string} kind The kind, `fact` by default.
 * @property {string} status Its state: `observed`, `inferred`, `hypothesis`, `verified`, `disputed` …
 * @property {"Guessed" | "Assumed" | "Inferred" | "Verified"} tier How reliable it is.
 * @property {string[]} [entities] The entities that it is about, the main one first.
 * @property {boolean} [constraint] It is a rule.
 * @property {string} created_at
 */

/** @typedef {Claim & { score: number }} Found A claim that is relevant to a question. */

/**
 * @typedef {object} RememberOptions
 * @property {string | string[]} [about] The entities that it is about, the main one first. By default they are read from the text.
 * @property {boolean} [rule] true: a rule, which is in every turn about its entity. false: no rule, whatever its wording.
 * @property {string[]} [tags]
 * @property {string} [key] A name of your own: the same key again is a new version.
 */

/**
 * A message in the form of OpenAI's chat completions.
 * @typedef {object} Message
 * @property {string} role
 * @property {unknown} [content]
 * @property {string} [name]
 * @property {{ id?: string, type?: string, function: { name: string, arguments: string } }[]} [tool_calls]
 * @property {string} [tool_call_id]
 */

/**
 * A block and its place.
 * @typedef {object} Insertion
 * @property {number} before An index into the messages: the block is a user message before that one.
 * @property {string} text
 * @property {boolean} [merge] The text goes to the beginning of that message instead, followed by an empty line.
 */

/**
 * A turn, ready for the model.
 * @typedef {object} PreparedTurn
 * @property {string} id
 * @property {string} session The session's name.
 * @property {Insertion[]} insertions What to add, by rising `before`.
 * @property {Message[]} messages The conversation with that added.
 * @property {(message: Message, options?: { signal?: AbortSignal }) => Promise<void>} answered Passes the model's answer to Ken.
 */

/**
 * @typedef {object} TurnOptions
 * @property {string} [session] The session's name. Without it, Ken distinguishes conversations by their first user message.
 * @property {string} [model] The model's name.
 * @property {AbortSignal} [signal]
 */

/**
 * A client like OpenAI's and Anthropic's.
 * @template T
 * @typedef {{ withOptions(options: any): T }} Wrappable
 */

/** @typedef {typeof globalThis.fetch} Fetch */

/**
 * Where Ken is.
 * @typedef {object} Place
 * @property {string} url
 * @property {Record<string, string>} headers What requests need there.
 * @property {string} [key] The key of a Ken that was started.
 * @property {boolean} started
 */


/** How long an answer of Ken's API may take, in milliseconds. */
const patience = 60_000;

/** Ken, at an address or started for this process. */
export class Ken {
  #address;
  #project;
  #headers;
  /** @type {import("./lib/server.mjs").Server | undefined} */
  #server;
  #closed = false;

  /** @param {KenOptions} [options] */
  constructor({ url = process.env.KEN_URL, key = process.env.KEN_KEY || undefined, owner, project = "." } = {}) {
    this.#address = url ? checkAddress(url) : undefined;
    this.#project = project;
    this.#headers = defined({ "x-ken-key": checkKey(key), "x-ken-owner": headerOf(checkOwner(owner)) });
    /**
     * A fetch that sends model calls through Ken and everything else as it is. Give it to any
     * client that takes one.
     * @type {Fetch}
     */
    this.fetch = this.#routed();
  }

  /** The address of Ken, which is started if need be. */
  async url() {
    return (await this.#place()).url;
  }

  /** A link to the console, for a browser. Keep it to yourself: for a Ken that was started, it has the key. */
  async console() {
    const { url, key } = await this.#place();
    return key ? `${url}/console/login?key=${key}` : `${url}/console/`;
  }

  /**
   * @param {string} [dead] The address of a started server that refuses connections.
   * @returns {Promise<Place>}
   */
  async #place(dead) {
    this.#closed = false;
    if (this.#address) return { url: this.#address, headers: this.#headers, started: false };
    const { url, key } = await (this.#server ??= acquire(this.#project, findKen)).address(dead);
    return { url, key, started: true, headers: key ? { ...this.#headers, "x-ken-key": key } : this.#headers };
  }

  /**
   * Ends the Ken that was started, unless others in this process use it, and waits until it has learned from the sessions.
   * Model calls go on without it then. Another call of this object starts it anew.
   */
  async close() {
    const server = this.#server;
    this.#server = undefined;
    this.#closed = true;
    await server?.release();
  }

  [Symbol.asyncDispose]() {
    return this.close();
  }

  /**
   * Remembers a statement.
   * @param {string} text One statement.
   * @param {RememberOptions} [options]
   * @returns {Promise<Claim>}
   */
  remember(text, { about, rule, tags, key } = {}) {
    return this.#ask("id", "POST", "/api/claims", { text, about: typeof about === "string" ? [about] : about, rule, tags, key });
  }

  /**
   * Finds the claims that are relevant to a question, best first. Of a question with more than 8192 bytes, the beginning and the end count.
   * @param {string} question
   * @param {{ limit?: number }} [options] `limit` is at most how many, 5 by default.
   * @returns {Promise<Found[]>}
   */
  async recall(question, { limit = 5 } = {}) {
    const query = new URLSearchParams({ q: checkQuestion(question), type: "knowledge", limit: String(limit) });
    return (await this.#ask("results", "GET", `/api/search?${query}`)).results;
  }

  /**
   * Erases a claim and what was derived from it, everywhere. It can't be undone.
   * @param {string | { id: string }} claim A claim, or its id.
   * @returns {Promise<string[]>} The ids of the deleted claims.
   */
  async forget(claim) {
    const id = filled("claim", typeof claim === "string" ? claim : claim?.id);
    return (await this.#ask("forgotten", "DELETE", `/api/claims/${encodeURIComponent(id)}`)).forgotten;
  }

  /**
   * A session. When it ends, Ken learns from its messages.
   * @param {string} [name] By default, and for "", a new, unique name.
   */
  session(name = "") {
    name = name === "" ? `js-${crypto.randomUUID()}` : checkSession(name);
    return new Session(this, name, (own) => this.#routed(own, name));
  }

  /**
   * A copy of a client whose model calls go through Ken, with the client's own key and API.
   * @template {Wrappable<T>} T
   * @param {T} client
   * @returns {T}
   */
  wrap(client) {
    return wrapped(client, (own) => this.#routed(own));
  }

  /**
   * Gets what to add to a conversation, for a model that no adapter is for. Send the whole
   * conversation each time.
   * @param {Message[]} messages
   * @param {TurnOptions} [options]
   * @returns {Promise<PreparedTurn>}
   */
  async prepare(messages, { session, model, signal } = {}) {
    const got = await this.#ask("insertions", "POST", "/api/turns", { messages, model, session_id: session }, { signal });
    /** @type {Insertion[]} */
    const insertions = got.insertions;
    return {
      id: got.turn,
      session: got.session_id ?? "",
      insertions,
      messages: withBlocks(messages, insertions),
      answered: async (message, options) => {
        try {
          await this.request("POST", `/api/turns/${encodeURIComponent(got.turn)}/answer`, { message }, options);
        } catch (error) {
          if (!(error instanceof KenError && error.code === "not_found")) throw error; // it is answered already
        }
      },
    };
  }

  /**
   * Sends a request to Ken's API (see /api/openapi.json) and returns what it answers.
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {Promise<any>}
   */
  async request(method, path, body, { signal } = {}) {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    /** @type {string | undefined} */
    let dead;
    for (;;) {
      const ken = await this.#place(dead);
      const headers = { ...ken.headers, accept: "application/json", ...(method !== "GET" && { "content-type": "application/json" }) };
      let answer;
      let text;
      try {
        answer = await fetch(ken.url + path, { method, headers, body: sent, signal: within(patience, signal) });
        text = await answer.text();
      } catch (cause) {
        if (signal?.aborted) throw cause;
        if (!ken.started || dead !== undefined || !unconnected(cause)) throw unreachable(ken.url, cause);
        dead = ken.url;
        continue;
      }
      if (!answer.ok) throw problemOf(answer.status, text);
      try {
        return text === "" ? undefined : JSON.parse(text);
      } catch {
        throw notKen("the answer is none of Ken's");
      }
    }
  }

  /**
   * As {@link request}, for an answer that has a field.
   * @param {string} has
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @param {{ signal?: AbortSignal }} [options]
   */
  async #ask(has, method, path, body, options) {
    const said = await this.request(method, path, body, options);
    if (typeof said !== "object" || said === null || !(has in said)) throw notKen("the answer is none of Ken's");
    return said;
  }

  /** The place for a model call, which does not start again what was closed. */
  async #running(/** @type {string | undefined} */ dead) {
    if (this.#closed && !this.#address) throw new KenError("this Ken is closed", { code: "unavailable", hint: "Call close after the last model call." });
    return this.#place(dead);
  }

  /**
   * @param {Fetch} [own] What a client would send with.
   * @param {string} [session]
   */
  #routed(own, session) {
    return routed((dead) => this.#running(dead), own, defined({ "x-ken-session": headerOf(session) }));
  }
}

/**
 * The headers that have a value.
 * @param {Record<string, string | undefined>} headers
 */
function defined(headers) {
  return /** @type {Record<string, string>} */ (Object.fromEntries(Object.entries(headers).filter(([, value]) => value)));
}

/**
 * A client that sends with another fetch.
 * @template T
 * @param {Wrappable<T>} client
 * @param {(own?: Fetch) => Fetch} routed
 */
function wrapped(client, routed) {
  if (typeof (/** @type {any} */ (client)?.withOptions) !== "function") {
    throw new KenError("it has no withOptions", { code: "invalid", field: "client", hint: "Give the client ken.fetch, or use the adapter of your framework, or ken.prepare." });
  }
  const { name } = client.constructor;
  if (/Bedrock|Vertex/.test(name)) {
    throw new KenError(`${name} signs its requests or writes them in a form of its own`, { code: "invalid", field: "client", hint: "Use the adapter of your framework, or ken.prepare." });
  }
  return client.withOptions({ fetch: routed(/** @type {any} */ (client).fetch) });
}

/** A conversation, or several that belong together. Ken learns from it when it ends. */
export class Session {
  #ken;
  #routed;

  /**
   * Use {@link Ken.session}.
   * @param {Ken} ken
   * @param {string} name
   * @param {(own?: Fetch) => Fetch} routed
   */
  constructor(ken, name, routed) {
    this.#ken = ken;
    this.#routed = routed;
    this.name = name;
    /** As {@link Ken.fetch}, for calls of this session. */
    this.fetch = routed();
  }

  /**
   * As {@link Ken.wrap}, for calls of this session.
   * @template {Wrappable<T>} T
   * @param {T} client
   * @returns {T}
   */
  wrap(client) {
    return wrapped(client, this.#routed);
  }

  /**
   * As {@link Ken.prepare}, for a turn of this session.
   * @param {Message[]} messages
   * @param {TurnOptions} [options]
   */
  prepare(messages, options) {
    return this.#ken.prepare(messages, { ...options, session: this.name });
  }

  /**
   * Ends the session. Resolves when Ken has learned from it, after at most `wait`
   * milliseconds, 10 seconds by default. Ken completes the rest.
   * @param {{ wait?: number }} [options]
   */
  async end({ wait = 10_000 } = {}) {
    const path = `/api/sessions/${encodeURIComponent(this.name)}`;
    const until = Date.now() + wait;
    try {
      let { state } = await this.#ken.request("POST", `${path}/end`);
      for (let pause = 20; state === "ended" && Date.now() < until; pause = Math.min(2 * pause, 500)) {
        await new Promise((resolve) => setTimeout(resolve, pause));
        ({ state } = await this.#ken.request("GET", path));
      }
    } catch (error) {
      if (!(error instanceof KenError && error.code === "not_found")) throw error; // nothing was said in it
    }
  }

  [Symbol.asyncDispose]() {
    return this.end();
  }
}
