/**
 * A signal that aborts after some time, too.
 * @param {number} ms
 * @param {AbortSignal} [signal]
 */
export declare function within(ms: number, signal?: AbortSignal): AbortSignal;
/**
 * Whether no connection was made, so that Ken has not sent the call on. The model would be asked twice otherwise.
 * @param {any} error
 */
export declare function unconnected(error: any): boolean;
/**
 * A fetch that sends model calls through Ken: with the client's own headers, to the API that the
 * client means, and to no other.
 * @param {(dead?: string) => Promise<import("../index.mjs").Place>} place Where Ken is. If the server at the address dead has ended, another one is started.
 * @param {typeof fetch} [own] What the client would send with.
 * @param {Record<string, string>} [names] Headers for Ken.
 * @returns {typeof fetch}
 */
export declare function routed(place: (dead?: string) => Promise<import("../index.mjs").Place>, own?: typeof fetch, names?: Record<string, string>): typeof fetch;
