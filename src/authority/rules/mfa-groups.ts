/**
 * Whether each group can be given a credential of its own: two groups are two factors. `fitting` says of each group which of the
 * credentials that were shown it takes; a group that finds its own taken makes another one look elsewhere (augmenting paths).
 */
export function canMeetAll(fitting: readonly (readonly boolean[])[]): boolean {
  const groupOf = new Map<number, number>();
  const meet = (group: number, tried: Set<number>): boolean =>
    (fitting[group] ?? []).some((fits, credential) => {
      if (!fits || tried.has(credential)) return false;
      tried.add(credential);
      const holder = groupOf.get(credential);
      if (holder !== undefined && !meet(holder, tried)) return false;
      groupOf.set(credential, group);
      return true;
    });
  return fitting.every((_, group) => meet(group, new Set()));
}
