import { outsideSpans } from "./spans.ts";

/**
 * Does the work once for all callers in the same turn of the event loop, after the last of them has called. An error of `work` rejects all
 * of them. The work is not part of any caller's trace.
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
