// Sends model calls through Ken.

import { unreachable, warn } from "./error.mjs";

/**
 * A signal that aborts after some time, too.
 * @param {number} ms
 * @param {AbortSignal} [signal]
 */
export function within(ms, signal) {
  const late = AbortSignal.timeout(ms);
  return signal ? AbortSignal.any([signal, late]) : late;
}

/** The ends of the paths of model calls, and of what counts their tokens. */
const modelCalls = ["/chat/completions", "/responses", "/messages", "/responses/input_tokens", "/messages/count_tokens"];

/** Codes of errors without a connection: of Node and its like, of undici, of Bun. */
const connectErrors = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL", "UND_ERR_CONNECT_TIMEOUT", "ConnectionRefused"]);

/**
 * Whether no connection was made, so that Ken has not sent the call on. The model would be asked twice otherwise.
 * @param {any} error
 */
export function unconnected(error) {
  const causes = [error, error?.cause, ...(error?.cause?.errors ?? [])];
  // Deno has no code, and fetch has none for a port that it never connects to.
  return causes.some((e) => connectErrors.has(e?.code) || /client error \(Connect\)|^bad port$/.test(e?.message));
}

/**
 * A fetch that sends model calls through Ken: with the client's own headers, to the API that the
 * client means, and to no other.
 * @param {(dead?: string) => Promise<import("../index.mjs").Place>} place Where Ken is. If the server at the address dead has ended, another one is started.
 * @param {typeof fetch} [own] What the client would send with.
 * @param {Record<string, string>} [names] Headers for Ken.
 * @returns {typeof fetch}
 */
export function routed(place, own = (input, init) => globalThis.fetch(input, init), names = {}) {
  return async (input, init) => {
    const request = input instanceof Request ? input : undefined;
    const target = new URL(request ? request.url : String(input));
    const path = target.pathname.replace(/\/+$/, "");
    const call = modelCalls.find((end) => path.endsWith(end));
    if (!call || (init?.method ?? request?.method ?? "GET").toUpperCase() !== "POST" || path.includes("/threads/")) return own(input, init);

    /** @type {string | undefined} */
    let dead;
    for (;;) {
      let ken;
      try {
        ken = await place(dead);
      } catch (error) {
        warn(error);
        return own(input, init);
      }
      const headers = new Headers(init?.headers ?? request?.headers);
      for (const [name, value] of Object.entries({ ...ken.headers, ...names })) headers.set(name, value);
      const between = target.origin !== new URL(ken.url).origin;
      if (between) headers.set("x-ken-upstream", target.origin + path.slice(0, -call.length));
      const through = `${ken.url}/v1${call}${target.search}`;
      try {
        return await own(request ? new Request(through, request.clone()) : through, { ...init, headers });
      } catch (error) {
        if ((init?.signal ?? request?.signal)?.aborted || !between || !unconnected(error)) throw error;
        if (ken.started && dead === undefined) {
          dead = ken.url;
          continue;
        }
        warn(unreachable(ken.url, error));
        return own(input, init);
      }
    }
  };
}
