import { fail } from "../../kernel/errors.ts";
import type { AuthorityView } from "../view.ts";

const labels = { privateKey: "private key", wallet: "wallet" } as const;

/**
 * Checked before keys or wallets are removed.
 *
 * @throws KeysteadError RESOURCE_NOT_FOUND, or NOT_EXPORTED if one would be lost, unless the request accepts that
 */
export function refuseUnexported(
  view: AuthorityView,
  kind: keyof typeof labels,
  ids: readonly string[],
  evenUnexported: boolean,
): void {
  const { organizationId } = view;
  const found = view.parts(kind, ids);
  for (const [index, id] of ids.entries()) {
    const { exported } = found[index] ?? fail("RESOURCE_NOT_FOUND", { kind: labels[kind], id, organizationId });
    if (!exported && !evenUnexported) fail("NOT_EXPORTED", { kind: labels[kind], id });
  }
}
