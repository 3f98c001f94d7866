/**
 * Works once for all who ask in the same turn of the event loop, after the last of them has asked. What it throws rejects for each of them.
 *
 * @param work short and synchronous
 */
export function onceATurn<T>(work: () => T): () => Promise<T> {
  let asked: Promise<T> | undefined;
  return () => {
    asked ??= new Promise((resolve, reject) =>
      setImmediate(() => {
        asked = undefined;
        try {
          resolve(work());
        } catch (error) {
          reject(error);
        }
      }),
    );
    return asked;
  };
}
