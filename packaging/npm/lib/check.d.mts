/**
 * @param {string} field
 * @param {unknown} value
 * @returns {string} The value, which is a string with something in it.
 */
export declare function filled(field: string, value: unknown): string;
/**
 * An owner. An empty one is a mistake of the program: it must not lead to the knowledge of the default owner.
 * @param {string} [owner]
 */
export declare function checkOwner(owner?: string): string | undefined;
/**
 * What an adapter is made for: a Ken, or a session of one.
 * @param {unknown} ken
 */
export declare function checkKen(ken: unknown): void;
/**
 * A key of Ken.
 * @param {string} [key]
 */
export declare function checkKey(key?: string): string | undefined;
/**
 * The address of a Ken, as requests need it.
 * @param {string} url
 */
export declare function checkAddress(url: string): string;
/**
 * The name of a session.
 * @param {string} name
 */
export declare function checkSession(name: string): string;
/**
 * A question as Ken takes it, in at most 8192 bytes: of a long one the beginning and the end.
 * @param {string} question
 */
export declare function checkQuestion(question: string): string;
/**
 * A text as the value of a header, where each character stands for a byte.
 * @param {string} [text]
 */
export declare function headerOf(text?: string): string | undefined;
