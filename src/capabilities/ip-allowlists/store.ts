import type { Allowlist } from "../../authority/state.ts";
import { onAuthority } from "../../engine/authority/load.ts";
import { changeAuthority } from "../../engine/authority/project.ts";
import type { Transactor } from "../../storage/engine.ts";
import type { IpAllowlist } from "./model.ts";

/** The owner of an allowlist: the organization, or one of its API keys. */
interface Owner {
  organizationId: string;
  /** Lowercase hex. */
  publicKey: string | undefined;
}

/** Removes every allowlist of the organization, including those of its keys. Resolves to the removed lists. */
export async function removeAllAllowlists(tx: Transactor, organizationId: string): Promise<IpAllowlist[]> {
  const owners = await tx
    .selectFrom("ip_allowlists as a")
    .leftJoin("api_keys as c", (join) =>
      join.onRef("c.organization_id", "=", "a.organization_id").onRef("c.id", "=", "a.api_key_id"),
    )
    .select(["a.id", "c.public_key"])
    .where("a.organization_id", "=", organizationId)
    .orderBy("a.id")
    .execute();
  const ids = owners.map(({ id }) => id);
  const allowlists = await onAuthority(tx, organizationId, (view) => view.parts("allowlist", ids));
  await changeAuthority(tx, organizationId, (draft) => {
    for (const id of ids) draft.apply({ do: "removeAllowlist", id });
  });
  return owners.map(({ public_key }, index) =>
    viewAllowlist({ organizationId, publicKey: public_key ?? undefined }, allowlists[index]),
  );
}

/** An allowlist in the form of responses. Only the organization's list has `enabled`: a key's list is in force if it exists. */
export const viewAllowlist = (
  { organizationId, publicKey }: Owner,
  allowlist: Pick<Allowlist, "enabled" | "onEvaluationError" | "rules"> | undefined,
): IpAllowlist => ({
  organizationId,
  rules: (allowlist?.rules ?? []).map((rule) => ({ ...rule, createdAt: String(rule.createdAt) })),
  ...(publicKey === undefined ? { enabled: allowlist?.enabled ?? false } : { publicKey }),
  ...(allowlist ? { onEvaluationError: allowlist.onEvaluationError } : {}),
});
