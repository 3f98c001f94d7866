/** Lets everything else that waits for the event loop run first. Long work awaits this between its steps. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
