import { refuseOver } from "../quotas.ts";
import { ALL, type SealedWallet } from "../state.ts";
import type { AuthorityView, Draft } from "../view.ts";
import { refuseUnexported } from "./unexported.ts";
import { refuseUnknown } from "./unknown.ts";

export type NewWallet = Omit<SealedWallet, "exported" | "createdAt" | "updatedAt">;

/** @throws KeysteadError QUOTA_EXCEEDED */
export function addWallet(draft: Draft, { id, name, imported, sealedWallet }: NewWallet, now: number): void {
  const wallet = { id, name, imported, exported: false, createdAt: now, updatedAt: now, sealedWallet };
  draft.apply({ do: "addWallet", wallet });
  refuseOver(draft.part("quotas", ALL), "wallets", draft.part("walletCount", ALL));
}

/** @throws KeysteadError RESOURCE_NOT_FOUND */
export function renameWallet(draft: Draft, id: string, name: string | undefined, now: number): void {
  requireWallet(draft, id);
  draft.apply({ do: "renameWallet", id, ...(name === undefined ? {} : { name }), now });
}

/** @throws KeysteadError RESOURCE_NOT_FOUND if it was deleted meanwhile */
export function markWalletExported(draft: Draft, id: string, now: number): void {
  requireWallet(draft, id);
  draft.apply({ do: "markWalletExported", id, now });
}

/** @throws KeysteadError RESOURCE_NOT_FOUND, or NOT_EXPORTED if one would be lost, unless the request accepts that */
export function removeWallets(draft: Draft, ids: readonly string[], evenUnexported: boolean): void {
  refuseUnexported(draft, "wallet", ids, evenUnexported);
  draft.apply({ do: "removeWallets", ids: [...new Set(ids)] });
}

function requireWallet(view: AuthorityView, id: string): void {
  const wallet = view.part("wallet", id);
  refuseUnknown(view, [id], () => wallet !== undefined, "wallet");
}
