/** A list as text: `a`, `a and b`, `a, b and c`. */
export function inWords(names: readonly string[], last: "and" | "or" = "and"): string {
  const [before, end] = [names.slice(0, -1), names.slice(-1)];
  return [...(before.length > 0 ? [before.join(", ")] : []), ...end].join(` ${last} `);
}
