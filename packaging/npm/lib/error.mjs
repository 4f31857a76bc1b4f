// Errors and warnings.

/** What Ken refused, or could not do. */
export class KenError extends Error {
  /**
   * @param {string} detail
   * @param {{ code: string, field?: string, hint?: string, status?: number, cause?: unknown }} about
   */
  constructor(detail, { code, field = "", hint = "", status = 0, cause }) {
    super(`ken: ${field ? `${field}: ` : ""}${detail}${hint ? `\nTry: ${hint}` : ""}`, cause === undefined ? undefined : { cause });
    this.name = "KenError";
    /** What kind of problem it is, such as `invalid`, `not_found`, `forbidden` or `unavailable`. */
    this.code = code;
    /** The field or parameter at fault; "" for none. */
    this.field = field;
    /** What to do about it. */
    this.hint = hint;
    /** The HTTP status of the answer; 0 without one. */
    this.status = status;
  }
}

/**
 * The error of a problem document.
 * @param {number} status
 * @param {string} body
 */
export function problemOf(status, body) {
  let problem;
  try {
    problem = JSON.parse(body);
  } catch {
    // something in between has answered
  }
  if (!problem?.title) return notKen(`the answer is ${status}: ${body.trim().slice(0, 200) || "no reason was given"}`, status);
  const { type = "", title, detail, field, code = type.startsWith("/api/problems/") ? type.slice(14) : "", try: hint } = problem;
  return new KenError(detail || title, { code: code || "unavailable", field, hint, status });
}

/**
 * The error of an answer that is not one of Ken's.
 * @param {string} detail
 * @param {number} [status]
 */
export function notKen(detail, status) {
  return new KenError(detail, { code: "unavailable", hint: "Check that KEN_URL is the address of a ken serve.", status });
}

/**
 * @param {string} url
 * @param {unknown} cause
 */
export function unreachable(url, cause) {
  return new KenError(`nothing answers at ${url}`, { code: "unavailable", hint: "See that ken serve runs there, or leave out url and KEN_URL to have it started.", cause });
}

/** @type {Set<string>} */
const warned = new Set();

/**
 * Says once that a model call went on without knowledge.
 * @param {unknown} cause
 */
export function warn(cause) {
  const text = `A model call went on without Ken: ${cause instanceof Error ? cause.message : cause}`;
  if (warned.has(text)) return;
  warned.add(text);
  process.emitWarning(text, "KenWarning");
}
