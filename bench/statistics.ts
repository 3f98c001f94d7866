/** The middle of the sorted values; of an even number, the mean of the two in the middle. NaN for none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length % 2 === 1) return sorted[middle] as number;
  return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

/**
 * The smallest value that at least this share of the values does not exceed (nearest rank). NaN for none.
 *
 * @param sorted ascending
 * @param share above 0, at most 1
 */
export function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
}

export const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));
