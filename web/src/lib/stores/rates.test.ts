import { describe, expect, it } from 'vitest';
import { median, rateKey, type Rates, withRate } from './rates.ts';

describe('rates', () => {
  it('are the median of the last five', () => {
    const key = rateKey('m', 'server');
    let rates: Rates = {};
    const seen = [10, 30, 20, 1000, 40, 50, 60].map((rate) => {
      rates = withRate(rates, key, rate);
      return median(rates[key]);
    });
    expect(seen).toEqual([10, 20, 20, 25, 30, 40, 50]);
    expect(rates[key]).toHaveLength(5);
  });

  it('are those of a model at one place', () => {
    const rates = withRate(withRate({}, rateKey('m', 'server'), 5), rateKey('m', 'tab'), 1);
    expect(median(rates[rateKey('m', 'tab')])).toBe(1);
    expect(median(rates[rateKey('other', 'tab')])).toBeUndefined();
  });
});
