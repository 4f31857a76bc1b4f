export interface Animal {
  readonly name: string
  sound(loud: boolean): string
}

export abstract class Base implements Animal {
  protected fed = 0
  constructor(readonly name: string) {}
  abstract sound(loud: boolean): string
  feed(grams: number): this {
    this.fed += grams
    return this
  }
}

export class Dog extends Base {
  sound(loud: boolean): string {
    return loud ? '🐕 WOOF' : this.quiet('🐕', 'woof')
  }
  get weight(): number {
    return this.fed / 10
  }
  private quiet(...words: string[]): string {
    return words.join(' ')
  }
}
