import { add, total } from './cart';

describe('total', () => {
  it('adds lines', async () => {
    expect(await total([add({ price: 1 })])).toBe(1);
  });
});
