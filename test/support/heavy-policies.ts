/** A list of numbers, compared each with each: most of what one evaluation may take. */
const numbers = `[${Array.from({ length: 150 }, (_, index) => index).join(", ")}]`;

/** A condition on signing that holds, and takes that much. */
export const heavyCondition = `${numbers}.all(x, ${numbers}.any(y, x == y)) && activity.params.encoding != ''`;
