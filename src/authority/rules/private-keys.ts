import { refuseOver } from "../quotas.ts";
import { ALL, type SealedPrivateKey } from "../state.ts";
import type { Draft } from "../view.ts";
import { tagPrivateKeys } from "./tags.ts";
import { refuseUnexported } from "./unexported.ts";
import { refuseUnknown } from "./unknown.ts";

export type NewPrivateKey = Omit<SealedPrivateKey, "exported" | "createdAt" | "updatedAt"> & {
  tagIds: readonly string[];
};

/** @throws KeysteadError RESOURCE_NOT_FOUND for a missing tag, or QUOTA_EXCEEDED */
export function addPrivateKeys(draft: Draft, keys: readonly NewPrivateKey[], now: number): void {
  if (keys.length === 0) return;
  const privateKeys = keys.map(({ id, name, curve, publicKey, sealedKey, imported }) => {
    const facts = { id, name, curve, imported, exported: false, createdAt: now, updatedAt: now };
    return { ...facts, publicKey, sealedKey };
  });
  draft.apply({ do: "addPrivateKeys", privateKeys });
  tagPrivateKeys(draft, keys, now);
  refuseOver(draft.part("quotas", ALL), "privateKeys", draft.part("privateKeyCount", ALL));
}

/** @throws KeysteadError RESOURCE_NOT_FOUND, or NOT_EXPORTED if one would be lost, unless the request accepts that */
export function removePrivateKeys(draft: Draft, ids: readonly string[], evenUnexported: boolean): void {
  refuseUnexported(draft, "privateKey", ids, evenUnexported);
  const unique = [...new Set(ids)];
  const tagIds = draft.parts("tagsOfPrivateKey", unique);
  const privateKeys = unique.map((id, index) => ({ id, tagIds: tagIds[index] ?? [] }));
  draft.apply({ do: "removePrivateKeys", privateKeys });
}

/** @throws KeysteadError RESOURCE_NOT_FOUND if it was deleted meanwhile */
export function markPrivateKeyExported(draft: Draft, id: string, now: number): void {
  const key = draft.part("privateKey", id);
  refuseUnknown(draft, [id], () => key !== undefined, "private key");
  draft.apply({ do: "markPrivateKeyExported", id, now });
}
