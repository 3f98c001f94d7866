/** A reason not to start. The message tells the operator which setting is wrong, why, and what would be right. */
export class StartProblem extends Error {}
