// A fast kernel that writes nothing is no kernel: logits must be numbers, and not all the same. Gives the least and the greatest, or throws.
export function rangeOf(logits) {
  let [least, most, finite] = [Infinity, -Infinity, true];
  for (const value of logits) {
    finite &&= Number.isFinite(value);
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  if (!finite) throw new Error('The model computes values that are no numbers on this device; its figures are void.');
  if (!(most > least)) throw new Error('All logits are the same on this device; its figures are void.');
  return { least, most };
}
