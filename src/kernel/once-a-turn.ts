import { outsideSpans } from "./spans.ts";

/**
 * Works once for all who ask in the same turn of the event loop, after the last of them has asked. What it throws rejects for each of them.
 * What is done for all belongs to the trace of none.
 *
 * @param work short and synchronous
 */
export function onceATurn<T>(work: () => T): () => Promise<T> {
  let asked: Promise<T> | undefined;
  return () => {
    asked ??= new Promise((resolve, reject) =>
      outsideSpans(() =>
        setImmediate(() => {
          asked = undefined;
          try {
            resolve(work());
          } catch (error) {
            reject(error);
          }
        }),
      ),
    );
    return asked;
  };
}
