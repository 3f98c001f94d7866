/**
 * What `ask` resolves to, for everybody who wants it while it is under way or within `ms` milliseconds from when it was asked: it is
 * asked once. What fails is asked again.
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
