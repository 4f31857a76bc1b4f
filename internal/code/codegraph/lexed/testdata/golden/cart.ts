/**
 * The cart of a shop.
 * @packageDocumentation
 */
import Pricer, { type Money as Amount, round } from './pricing';
import * as store from "./store/index.js";
import type { Shelf } from '@shop/shelf';
import { z } from 'zod';
import './setup';
import legacy = require('./legacy');

export { format } from './format';
export * from './errors';
export * as helpers from './helpers';

/** What a line costs at most, e.g. in tests. More of it here. */
export const MAX_LINES = 100, MIN_LINES: number = 1;
export const { first, second: renamed = 2, ...others } = store.defaults();
const secret = `no use: ${round(MAX_LINES)} in here ${`nested ${legacy.call()}`}`;
const pattern = /[/'"`]{2}round\(/g; // round(1) in a comment

// Adds up prices.
// In two lines.
export async function total<T extends Line = Line>(lines: readonly T[], by: (l: T) => number = l => l.price): Promise<number> {
  let sum = 0;
  for (const { price, count: round } of lines) {
    sum += price * round;
  }
  const inner = (MAX_LINES: number) => MAX_LINES + sum;
  function helper(store: Shelf) { return store.get(inner(1)); }
  return helper(await store.open()), new Pricer().price(sum), by(lines[0]);
}
export function total2(a: string): string;
export function total2(a: number): number;
export function total2(a: any) { return a as Amount<unknown>; }

export const add = (line: Line): Line => ({ ...line, count: line.count + 1 });
export const identity = async <T,>(x: T) => x;
const later = function* named() { yield add; };

export type Id = string | number;
export type Handler<E extends Event0> = (event: E) => Promise<void>;
type Shape = {
  readonly width: number;
  area(): number;
  [key: string]: unknown;
};
type Mapped = { [K in keyof Shape]?: Shape[K] };

export interface Line extends Base, store.Entity<Line> {
  /** The price of one. */
  price: number
  count?: number
  describe(short?: boolean): string;
  new (price: number): Line
  <T>(x: T): T
  get label(): string
}

interface Base { id: Id; }
interface Event0 { kind: 'a' | 'b' }

export enum Color { Red = 'red', Green = compute(), 'dark-blue' = 3 }
declare const enum Flag { A = 1 << 0, B }
function compute() { return 1; }

/** A cart. */
@injectable({ scope: 'app' })
export abstract class Cart<T extends Line> extends Base2<T> implements Shelf, Iterable<T> {
  static readonly instances = new Map<string, Cart<any>>();
  static { Cart.instances.clear(); }
  #lines: T[] = [];
  private cache?: WeakMap<T, number>
  declare kind: 'cart';
  'quoted name' = 1;

  constructor(private readonly pricer: Pricer, public name = 'cart', plain?: number) {
    super();
    this.#lines = [];
  }

  /** Adds a line. */
  @log() add(line: T): this {
    this.#lines.push(line);
    this.recompute();
    return this;
  }
  remove(line: T): boolean
  remove(index: number): boolean
  remove(x: T | number): boolean { return x < 3 && x > 2; }
  get size(): number { return this.#lines.length }
  set size(n: number) { if (n > 0) { throw new RangeError(`${n}`) } }
  async *[Symbol.asyncIterator]() { yield* this.#lines }
  private recompute = (): void => { this.cache = undefined; total(this.#lines); }
  protected abstract price(): Amount
  static of<U extends Line>(...lines: U[]): { cart: Cart<U> } { return null! }
}
class Base2<T> { value?: T }

export namespace Shop.Deep {
  export const open = 1;
  const hidden = 2;
  export function visit(): void { hidden; open; }
  export interface Inner { x: number }
}
declare module 'zod' { interface Extra { y: number } }
declare global { interface Window { cart: Cart<Line> } }

export default class extends Cart<Line> { price() { return z.number() } }
