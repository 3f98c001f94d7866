/** Milliseconds since 1970-01-01T00:00:00Z. The only source of time for decisions, so that tests can set it. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();
