/**
 * The gates of a lane: what its jobs depend on, such as a host or a chain. A lane names one gate or several, separated by spaces, and runs
 * when each has room. `name*32` has room for 32 lanes per process; a name without a number has the default.
 */
export type Gates = string;

export const gatesOf = (...gates: (string | { name: string; lanes: number })[]): Gates =>
  gates.map((gate) => (typeof gate === "string" ? gate : `${gate.name}*${gate.lanes}`)).join(" ");

/** The gates that have no room left. */
export function fullGates(active: Iterable<{ gate: Gates }>, lanesUnlessSaid: number): string[] {
  const counts = new Map<string, number>();
  for (const { gate } of active) for (const one of gate.split(" ")) counts.set(one, (counts.get(one) ?? 0) + 1);
  return [...counts].filter(([one, count]) => count >= roomAt(one, lanesUnlessSaid)).map(([one]) => one);
}

export const areAmong = (gates: Gates, full: readonly string[]): boolean =>
  gates.split(" ").some((one) => full.includes(one));

const roomAt = (gate: string, unlessSaid: number): number => Number(/\*(\d+)$/.exec(gate)?.[1] ?? unlessSaid);
