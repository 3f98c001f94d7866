import { type Change, type Effect, effectsOf } from "./changes.ts";
import { NotLoaded } from "./not-loaded.ts";
import { keyOf, type PartKind, type PartRef, type Parts, type Tag, type TagType } from "./state.ts";

/** Thrown when a rule reads parts of an organization's state that are not loaded. */
export class PartsNotLoaded extends NotLoaded<PartRef> {
  readonly organizationId: string;

  constructor(organizationId: string, refs: readonly PartRef[]) {
    super(refs);
    this.organizationId = organizationId;
  }
}

/** An organization's state, as rules read it. Every look-up may throw `PartsNotLoaded`, so rules have no side effects and may run again. */
export interface AuthorityView {
  readonly organizationId: string;
  part<Kind extends PartKind>(kind: Kind, id: string): Parts[Kind];
  /** Several parts of one kind, in the order of the ids. */
  parts<Kind extends PartKind>(kind: Kind, ids: readonly string[]): Parts[Kind][];
  tag(id: string): Tag | undefined;
  tagCount(type: TagType): number;
  carriersOf(tagIds: readonly string[]): (readonly string[])[];
}

/** Loaded parts by `keyOf`. */
export type LoadedParts = Map<string, Parts[PartKind]>;

/** A view of the loaded parts. */
export const viewOf = (organizationId: string, loaded: LoadedParts): AuthorityView =>
  viewThrough(organizationId, (kind, ids) => {
    const missing = ids.filter((id) => !loaded.has(keyOf({ kind, id })));
    if (missing.length > 0) {
      throw new PartsNotLoaded(
        organizationId,
        missing.map((id) => ({ kind, id })),
      );
    }
    return ids.map((id) => loaded.get(keyOf({ kind, id })));
  });

/** A view that reads parts of one kind through a function. */
export function viewThrough(
  organizationId: string,
  read: (kind: PartKind, ids: readonly string[]) => readonly (Parts[PartKind] | undefined)[],
): AuthorityView {
  const parts = <Kind extends PartKind>(kind: Kind, ids: readonly string[]) => read(kind, ids) as Parts[Kind][];
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

/** A view that includes the changes made so far: later rules of an activity see the changes of earlier ones. */
export interface Draft extends AuthorityView {
  readonly changes: readonly Change[];
  apply(change: Change): void;
}

export function draftOn(view: AuthorityView): Draft {
  const changes: Change[] = [];
  const effects = new Map<string, Effect[]>();
  const ofPart = (ref: PartRef) => effects.get(keyOf(ref)) ?? [];
  // Changes are applied when a part is read: parts that nobody reads need not be loaded.
  const read = (kind: PartKind, ids: readonly string[]) => {
    if (!ids.some((id) => effects.has(keyOf({ kind, id })))) return view.parts(kind, ids);
    // All parts whose previous value is needed are requested at once, so that they are loaded together.
    const needed = ids.filter((id) => ofPart({ kind, id }).every((each) => "reduce" in each));
    const before = new Map(view.parts(kind, needed).map((value, index) => [needed[index], value]));
    return ids.map((id) =>
      ofPart({ kind, id }).reduce(
        (value, each) => ("becomes" in each ? each.becomes : each.reduce(value as Parts[PartKind])),
        before.get(id),
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

/** A view of the state after these changes. */
export function viewAfter(view: AuthorityView, changes: readonly Change[]): AuthorityView {
  const draft = draftOn(view);
  for (const change of changes) draft.apply(change);
  return draft;
}

/** The changes that `rules` make. */
export function changesOn(view: AuthorityView, rules: (draft: Draft) => void): readonly Change[] {
  const draft = draftOn(view);
  rules(draft);
  return draft.changes;
}
