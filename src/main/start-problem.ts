/** A reason not to start, in words for the operator: which setting, what is wrong, what would be right. */
export class StartProblem extends Error {}
