import { fail } from "../../kernel/errors.ts";
import type { Allowlist, AllowlistRule } from "../state.ts";
import type { AuthorityView, Draft } from "../view.ts";

/** IP allowlists of an organization and of its API keys. */

export interface AllowlistContent {
  enabled: boolean;
  onEvaluationError: Allowlist["onEvaluationError"];
  rules: readonly Omit<AllowlistRule, "createdAt">[];
}

/** Replaces all rules of a list. A rule that was there before keeps its creation time. `publicKey` selects an API key's list. */
export function putAllowlist(
  draft: Draft,
  publicKey: string | undefined,
  { enabled, onEvaluationError, rules }: AllowlistContent,
  now: number,
): void {
  const owner = ownerOf(draft, publicKey);
  const known = draft.part("allowlist", owner.id);
  const createdAt = new Map(known?.rules.map((rule) => [rule.cidr, rule.createdAt]));
  const dated = rules.map((rule) => ({ ...rule, createdAt: createdAt.get(rule.cidr) ?? now }));
  draft.apply({ do: "putAllowlist", allowlist: { ...owner, enabled, onEvaluationError, rules: dated }, now });
}

/** The list of the organization or of an API key, if there is one. */
export const allowlistOf = (view: AuthorityView, publicKey: string | undefined): Allowlist | undefined =>
  view.part("allowlist", ownerOf(view, publicKey).id);

/** Removes a list, if there is one. */
export function removeAllowlist(draft: Draft, publicKey: string | undefined): void {
  draft.apply({ do: "removeAllowlist", id: ownerOf(draft, publicKey).id });
}

/** @throws KeysteadError RESOURCE_NOT_FOUND if the organization has no such key */
function ownerOf(view: AuthorityView, publicKey: string | undefined): Pick<Allowlist, "id" | "apiKeyId"> {
  const { organizationId } = view;
  if (publicKey === undefined) return { id: organizationId, apiKeyId: null };
  const key = publicKey.toLowerCase();
  const id = view.part("apiKeyId", key);
  return id === undefined
    ? fail("RESOURCE_NOT_FOUND", { kind: "API key", id: key, organizationId })
    : { id, apiKeyId: id };
}
