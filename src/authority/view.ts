import { type Change, type Effect, effectsOf } from "./changes.ts";
import { NotLoaded } from "./not-loaded.ts";
import { keyOf, type PartKind, type PartRef, type Parts, type Tag, type TagType } from "./state.ts";

/** Parts of an organization's state that a rule has asked for and that are not loaded. */
export class PartsNotLoaded extends NotLoaded<PartRef> {
  readonly organizationId: string;

  constructor(organizationId: string, refs: readonly PartRef[]) {
    super(refs);
    this.organizationId = organizationId;
  }
}

/** The state as rules look at it. Every look-up may throw `PartsNotLoaded`, so rules are free of effects: they may run again. */
export interface AuthorityView {
  readonly organizationId: string;
  part<Kind extends PartKind>(kind: Kind, id: string): Parts[Kind];
  /** Several parts of a kind at once, in the order of the ids. */
  parts<Kind extends PartKind>(kind: Kind, ids: readonly string[]): Parts[Kind][];
  tag(id: string): Tag | undefined;
  tagCount(type: TagType): number;
  carriersOf(tagIds: readonly string[]): (readonly string[])[];
}

/** Loaded parts by `keyOf`. */
export type LoadedParts = Map<string, Parts[PartKind]>;

/** The state as it is loaded. */
export const viewOf = (organizationId: string, loaded: LoadedParts): AuthorityView =>
  viewThrough(organizationId, (refs) => {
    const missing = refs.filter((ref) => !loaded.has(keyOf(ref)));
    if (missing.length > 0) throw new PartsNotLoaded(organizationId, missing);
    return refs.map((ref) => loaded.get(keyOf(ref)));
  });

/** A view over whatever answers for parts. */
export function viewThrough(
  organizationId: string,
  read: (refs: readonly PartRef[]) => (Parts[PartKind] | undefined)[],
): AuthorityView {
  const parts = <Kind extends PartKind>(kind: Kind, ids: readonly string[]) =>
    read(ids.map((id) => ({ kind, id }))) as Parts[Kind][];
  const part = <Kind extends PartKind>(kind: Kind, id: string) => parts(kind, [id])[0] as Parts[Kind];
  return {
    organizationId,
    part,
    parts,
    tag: (id) => part("tag", id),
    tagCount: (type) => part("tagCount", type),
    carriersOf: (tagIds) => parts("carriers", tagIds),
  };
}

/** A view that changes as rules decide on changes: what comes later in one activity sees what came before. */
export interface Draft extends AuthorityView {
  readonly changes: readonly Change[];
  apply(change: Change): void;
}

export function draftOn(view: AuthorityView): Draft {
  const changes: Change[] = [];
  const effects = new Map<string, Effect[]>();
  const ofPart = (ref: PartRef) => effects.get(keyOf(ref)) ?? [];
  // Folded when it is looked at: what nobody looks at need not be loaded.
  const read = (refs: readonly PartRef[]) => {
    // All that must be known from before is asked for at once, so that it is loaded together.
    const known = partsBefore(
      view,
      refs.filter((ref) => ofPart(ref).every((each) => "reduce" in each)),
    );
    return refs.map((ref) =>
      ofPart(ref).reduce(
        (value, each) => ("becomes" in each ? each.becomes : each.reduce(value as Parts[PartKind])),
        known.get(keyOf(ref)),
      ),
    );
  };
  return {
    ...viewThrough(view.organizationId, read),
    changes,
    apply(change) {
      changes.push(change);
      for (const each of effectsOf(change)) effects.set(keyOf(each.part), [...ofPart(each.part), each]);
    },
  };
}

function partsBefore(view: AuthorityView, refs: readonly PartRef[]): Map<string, Parts[PartKind]> {
  const known = new Map<string, Parts[PartKind]>();
  for (const [kind, some] of Map.groupBy(refs, (ref) => ref.kind)) {
    const ids = some.map(({ id }) => id);
    for (const [index, value] of view.parts(kind, ids).entries())
      known.set(keyOf({ kind, id: ids[index] as string }), value);
  }
  return known;
}

/** The state as these changes leave it. */
export function viewAfter(view: AuthorityView, changes: readonly Change[]): AuthorityView {
  const draft = draftOn(view);
  for (const change of changes) draft.apply(change);
  return draft;
}

/** The changes that `rules` decide on. */
export function changesOn(view: AuthorityView, rules: (draft: Draft) => void): readonly Change[] {
  const draft = draftOn(view);
  rules(draft);
  return draft.changes;
}
