/** What Ken refused, or could not do. */
export declare class KenError extends Error {
    /** What kind of problem it is, such as `invalid`, `not_found`, `forbidden` or `unavailable`. */
    code: string;
    /** The field or parameter at fault; "" for none. */
    field: string;
    /** What to do about it. */
    hint: string;
    /** The HTTP status of the answer; 0 without one. */
    status: number;
    /**
     * @param {string} detail
     * @param {{ code: string, field?: string, hint?: string, status?: number, cause?: unknown }} about
     */
    constructor(detail: string, { code, field, hint, status, cause }: {
        code: string;
        field?: string;
        hint?: string;
        status?: number;
        cause?: unknown;
    });
}
/**
 * The error of a problem document.
 * @param {number} status
 * @param {string} body
 */
export declare function problemOf(status: number, body: string): KenError;
/**
 * The error of an answer that is not one of Ken's.
 * @param {string} detail
 * @param {number} [status]
 */
export declare function notKen(detail: string, status?: number): KenError;
/**
 * @param {string} url
 * @param {unknown} cause
 */
export declare function unreachable(url: string, cause: unknown): KenError;
/**
 * Says once that a model call went on without knowledge.
 * @param {unknown} cause
 */
export declare function warn(cause: unknown): void;
