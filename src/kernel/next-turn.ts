/** Lets what else waits for the event loop go first: long work that is done in steps waits for this between them. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
