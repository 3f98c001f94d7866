/**
 * Whether every group can be matched with a credential of its own, because two groups mean two factors. `fitting` tells, for each group,
 * which of the shown credentials it accepts. This is a bipartite matching by augmenting paths.
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
