// The ken serve that this process starts for itself, one for each folder.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { KenError } from "./error.mjs";

/** How long a start may take, in milliseconds. */
const patience = 30_000;

/** @typedef {{ url: string, key?: string }} Address Where a server is, and the key that requests need, unless it has its own keys. */

/** @type {Map<string, Server>} */
const servers = new Map();

/**
 * The server of a folder. Each call needs one release.
 * @param {string} project
 * @param {() => string} program
 */
export function acquire(project, program) {
  const folder = resolve(project);
  const server = servers.get(folder) ?? new Server(folder, program);
  servers.set(folder, server);
  server.users++;
  return server;
}

/** A server that is started when its address is asked for. */
export class Server {
  users = 0;
  #folder;
  #program;
  /** @type {import("node:child_process").ChildProcess | undefined} */
  #child;
  /** @type {Promise<Address> | undefined} */
  #started;

  /**
   * @param {string} folder
   * @param {() => string} program
   */
  constructor(folder, program) {
    this.#folder = folder;
    this.#program = program;
  }

  /**
   * Where it is.
   * @param {string} [dead] An address that refuses connections, because its server has ended.
   */
  async address(dead) {
    if (dead !== undefined) {
      const started = this.#started;
      const old = this.#child;
      if ((await started?.catch(() => {}))?.url === dead && this.#started === started) {
        this.#started = undefined;
        old?.stdin?.end();
      }
    }
    this.#started ??= this.#start();
    try {
      return await this.#started;
    } catch (error) {
      this.#started = undefined; // the next call tries again
      throw error instanceof KenError ? error : new KenError("ken serve can't be started", { code: "unavailable", hint: error instanceof Error ? error.message : "", cause: error });
    }
  }

  /** Ends it, unless others use it, and waits for that. */
  async release() {
    if (--this.users > 0) return;
    servers.delete(this.#folder);
    await this.#started?.catch(() => {});
    const child = this.#child;
    if (!child?.pid || child.exitCode !== null || child.signalCode !== null) return;
    child.ref();
    const ended = once(child, "exit");
    child.stdin?.end();
    await ended;
  }

  /** Starts ken serve, which ends when its standard input does: with this process, however that ends. */
  async #start() {
    if (!statSync(this.#folder, { throwIfNoEntry: false })?.isDirectory()) {
      throw new KenError(`Ken can't be started in ${this.#folder}: it is not a folder`, { code: "invalid", field: "project", hint: "Name a folder that exists." });
    }
    const child = spawn(this.#program(), ["--dir", this.#folder, "--quiet", "serve", "--child"], {
      stdio: ["pipe", "pipe", "inherit"],
      detached: process.platform !== "win32", // an interrupt in the terminal is for this process
      windowsHide: true,
    });
    this.#child = child;
    child.once("exit", () => {
      if (this.#child === child) this.#started = undefined; // the next call starts another one
    });
    try {
      return await address(child);
    } catch (error) {
      child.stdin.end();
      throw error;
    } finally {
      // This process does not stay for its sake. Bun's streams have no unref.
      child.unref();
      for (const stream of [child.stdin, child.stdout]) /** @type {Partial<import("node:net").Socket>} */ (stream).unref?.();
    }
  }
}

/**
 * The address that ken serve prints, as JSON.
 * @param {import("node:child_process").ChildProcess} child
 * @returns {Promise<Address>}
 */
function address(child) {
  return new Promise((resolve, reject) => {
    const fail = (/** @type {string} */ why) =>
      reject(new KenError(`ken serve ${why}`, { code: "unavailable", hint: "See what it said on standard error, or run ken doctor in the project's folder." }));
    const late = setTimeout(() => fail("takes too long to start"), patience);
    let said = "";
    child.stdout?.setEncoding("utf8").on("data", (text) => {
      said += text;
      try {
        resolve(JSON.parse(said));
        clearTimeout(late);
      } catch {
        // there is more to come
      }
    });
    child.stdin?.on("error", () => {}); // it has ended by itself
    child.once("error", (error) => {
      clearTimeout(late);
      reject(error);
    });
    child.once("exit", (status, signal) => {
      clearTimeout(late);
      fail(`ended at once, with ${signal ?? `status ${status}`}`);
    });
  });
}
