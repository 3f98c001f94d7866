/**
 * Shares the result of `ask` among all callers while it is pending, and for `ms` milliseconds from when it was called. A failure is not
 * cached.
 *
 * @param now milliseconds of a clock that never goes back
 */
export function sharedAnswer<T>(
  ask: () => Promise<T>,
  ms = 0,
  now: () => number = () => performance.now(),
): () => Promise<T> {
  let last: { at: number; isUnderWay: boolean; answer: Promise<T> } | undefined;
  return () => {
    if (last && (last.isUnderWay || now() - last.at < ms)) return last.answer;
    const asked = { at: now(), isUnderWay: true, answer: ask() };
    last = asked;
    asked.answer.then(
      () => {
        asked.isUnderWay = false;
      },
      () => {
        if (last === asked) last = undefined;
      },
    );
    return asked.answer;
  };
}
