import { fail } from "../../kernel/errors.ts";
import { MAX_SECRETS } from "../../kernel/limits.ts";
import { refuseExcess } from "../quotas.ts";
import { ALL, type SealedSecret, type Secret } from "../state.ts";
import type { Draft } from "../view.ts";
import { refuseUnknown } from "./unknown.ts";

export type NewSecret = Omit<SealedSecret, "exported" | "createdAt">;

/**
 * Adds the secrets of a request, in its order. `fieldOf` names the field of a secret's name.
 *
 * @throws KeysteadError RESOURCE_EXISTS naming the first name that is taken, or QUOTA_EXCEEDED
 */
export function addSecrets(
  draft: Draft,
  secrets: readonly NewSecret[],
  now: number,
  fieldOf: (index: number) => string,
): void {
  const named = [...secrets.entries()].flatMap(([index, { name }]) => (name === null ? [] : [{ index, name }]));
  const holders = draft.parts(
    "secretId",
    named.map(({ name }) => name),
  );
  const taken = named.find((_, position) => holders[position] !== undefined);
  if (taken) fail("RESOURCE_EXISTS", { kind: "secret", field: fieldOf(taken.index), reason: "is taken" });
  const added = secrets.map(({ id, name, staticProperties, sealedSecret }) => ({
    id,
    name,
    staticProperties,
    exported: false,
    createdAt: now,
    sealedSecret,
  }));
  draft.apply({ do: "addSecrets", secrets: added });
  refuseExcess(draft.part("secretCount", ALL), { kind: "secrets", limit: MAX_SECRETS });
}

/** @throws KeysteadError RESOURCE_NOT_FOUND naming the first secret that the organization does not have */
export function markSecretsExported(draft: Draft, ids: readonly string[]): void {
  requireSecrets(draft, ids);
  draft.apply({ do: "markSecretsExported", ids });
}

/** @throws KeysteadError RESOURCE_NOT_FOUND naming the first secret that the organization does not have */
export function removeSecrets(draft: Draft, ids: readonly string[]): void {
  draft.apply({ do: "removeSecrets", secrets: requireSecrets(draft, [...new Set(ids)]) });
}

function requireSecrets(draft: Draft, ids: readonly string[]): Secret[] {
  const known = draft.parts("secret", ids);
  refuseUnknown(draft, ids, (index) => known[index] !== undefined, "secret");
  return known as Secret[];
}
