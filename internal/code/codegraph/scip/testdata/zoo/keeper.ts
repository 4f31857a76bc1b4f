import { Animal, Dog } from './animal'

type Ration = { grams: number }

export const rations: Map<string, Ration> = new Map()

export function make<T extends Animal>(of: new (name: string) => T, name: string): T {
  const feed = (grams: number) => rations.set(name, { grams })
  feed(10)
  return new of(name)
}

export enum Shift {
  Day,
  Night,
}

export function visit(shift: Shift): string {
  const dog = make<Dog>(Dog, '🐕‍🦺'); const heard = dog.feed(5).sound(shift === Shift.Day)
  return heard + dog.weight + describe(dog)
}

function describe(animal: Animal): string {
  return animal.name
}
