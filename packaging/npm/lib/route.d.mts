/**
 * A signal that aborts after some time, too.
 * @param {number} ms
 * @param {AbortSignal} [signal]
 */
export declare function within(ms: number, signal?: AbortSignal): AbortSignal;
/**
 * A fetch that sends model calls through Ken: with the client's own headers, to the API that the
 * client means, and to no other.
 * @param {() => Promise<string>} url Ken's address.
 * @param {typeof fetch} [own] What the client would send with.
 * @param {Record<string, string>} [names] Headers for Ken.
 * @returns {typeof fetch}
 */
export declare function routed(url: () => Promise<string>, own?: typeof fetch, names?: Record<string, string>): typeof fetch;
