// Checks what a program gives, so that a mistake is an error of Ken's before a model is called.

import { KenError } from "./error.mjs";

/** What an owner is called: as ken serve reads it. */
const owners = /^[\p{L}\p{Nd}][\p{L}\p{Nd}\p{M}._@+|:=~-]*$/u;

/**
 * @param {string} field
 * @param {unknown} value
 * @returns {string} The value, which is a string with something in it.
 */
export function filled(field, value) {
  if (typeof value !== "string") throw new KenError(`${value === null ? "null" : typeof value} where a string is expected`, { code: "invalid", field, hint: "Give a string." });
  if (value === "") throw new KenError("empty", { code: "invalid", field, hint: "Give a value, or leave it out." });
  return value;
}

/**
 * An owner. An empty one is a mistake of the program: it must not lead to the knowledge of the default owner.
 * @param {string} [owner]
 */
export function checkOwner(owner) {
  if (owner === undefined || (owners.test(filled("owner", owner)) && bytes(owner).length <= 128)) return owner;
  throw new KenError("not a name of an owner", { code: "invalid", field: "owner", hint: "Use at most 128 bytes of letters, digits and . _ @ + - | : = ~, with a letter or digit first." });
}

/**
 * What an adapter is made for: a Ken, or a session of one.
 * @param {unknown} ken
 */
export function checkKen(ken) {
  if (typeof (/** @type {any} */ (ken))?.prepare !== "function") {
    throw new KenError("neither a Ken nor a session of one", { code: "invalid", field: "ken", hint: "Give what new Ken() or ken.session() returned." });
  }
}

/**
 * A key of Ken.
 * @param {string} [key]
 */
export function checkKey(key) {
  if (key === undefined || /^[ -~]{1,128}$/.test(filled("key", key))) return key;
  throw new KenError("not a key of Ken", { code: "invalid", field: "key", hint: "Use what ken key create printed." });
}

/**
 * The address of a Ken, as requests need it.
 * @param {string} url
 */
export function checkAddress(url) {
  if (/^https?:\/\//.test(url) && URL.canParse(url)) return url.replace(/\/+$/, "").replace(/\/v1$/, "");
  throw new KenError(`${url} is no address of a ken serve`, { code: "invalid", field: "url", hint: "Write it like http://127.0.0.1:8484." });
}

/**
 * The name of a session.
 * @param {string} name
 */
export function checkSession(name) {
  if (!/[\0-\x1f\x7f]/.test(filled("session", name)) && bytes(name).length <= 256) return name;
  throw new KenError("the value has more than 256 bytes, or control characters", { code: "invalid", field: "session", hint: "Use a shorter name, of letters, digits and signs." });
}

/**
 * A question as Ken takes it, in at most 8192 bytes: of a long one the beginning and the end.
 * @param {string} question
 */
export function checkQuestion(question) {
  const text = bytes(filled("question", question));
  if (text.length <= 8192) return question;
  const whole = (/** @type {Uint8Array} */ part) => new TextDecoder().decode(part).replaceAll("\ufffd", "");
  return `${whole(text.subarray(0, 5000))}\n${whole(text.subarray(-3000))}`;
}

/**
 * A text as the value of a header, where each character stands for a byte.
 * @param {string} [text]
 */
export function headerOf(text) {
  return text && String.fromCharCode(...bytes(text));
}

/** @param {string} text */
function bytes(text) {
  return new TextEncoder().encode(text);
}
