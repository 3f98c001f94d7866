import type { AllowlistRule } from "../../authority/state.ts";
import { changeAuthority } from "../../engine/authority/project.ts";
import type { Organization } from "../../engine/operations.ts";
import { fail } from "../../kernel/errors.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import type { IpAllowlist } from "./model.ts";

/** Whose allowlist it is: the organization's own, or that of one of its API keys. */
export interface AllowlistOwner {
  organizationId: string;
  id: string;
  /** Lowercase hex. */
  publicKey: string | undefined;
}

/** @throws KeysteadError RESOURCE_NOT_FOUND for a key that the organization does not have */
export async function requireOwner(
  read: Reader,
  { id: organizationId }: Organization,
  givenKey: string | undefined,
): Promise<AllowlistOwner> {
  if (givenKey === undefined) return { organizationId, id: organizationId, publicKey: undefined };
  const publicKey = givenKey.toLowerCase();
  const key = await read
    .selectFrom("api_keys")
    .select("id")
    .where("organization_id", "=", organizationId)
    .where("public_key", "=", publicKey)
    .executeTakeFirst();
  if (!key) return fail("RESOURCE_NOT_FOUND", { kind: "API key", id: publicKey, organizationId });
  return { organizationId, id: key.id, publicKey };
}

export async function findAllowlist(read: Reader, owner: AllowlistOwner): Promise<IpAllowlist> {
  const row = await findRow(read, owner);
  return viewAllowlist(owner, row);
}

/** Removes every allowlist of the organization, those of its keys too; resolves to what they were. */
export async function removeAllAllowlists(tx: Transactor, organizationId: string): Promise<IpAllowlist[]> {
  const rows = await tx
    .selectFrom("ip_allowlists as a")
    .leftJoin("api_keys as c", (join) =>
      join.onRef("c.organization_id", "=", "a.organization_id").onRef("c.id", "=", "a.api_key_id"),
    )
    .selectAll("a")
    .select("c.public_key")
    .where("a.organization_id", "=", organizationId)
    .orderBy("a.id")
    .execute();
  await changeAuthority(tx, organizationId, (draft) => {
    for (const { id } of rows) draft.apply({ do: "removeAllowlist", id });
  });
  return rows.map((row) => viewAllowlist({ organizationId, publicKey: row.public_key ?? undefined }, row));
}

type Row = NonNullable<Awaited<ReturnType<typeof findRow>>>;

const findRow = (read: Reader, { organizationId, id }: AllowlistOwner) =>
  read
    .selectFrom("ip_allowlists")
    .select(["enabled", "on_evaluation_error", "rules"])
    .where("organization_id", "=", organizationId)
    .where("id", "=", id)
    .executeTakeFirst();

const rulesOf = (json: string): AllowlistRule[] => JSON.parse(json) as AllowlistRule[];

/** `enabled` is said of the organization's list alone: a key's is in force by being there. */
function viewAllowlist(
  { organizationId, publicKey }: Pick<AllowlistOwner, "organizationId" | "publicKey">,
  row: Row | undefined,
): IpAllowlist {
  return {
    organizationId,
    rules: row ? rulesOf(row.rules).map((rule) => ({ ...rule, createdAt: String(rule.createdAt) })) : [],
    ...(publicKey === undefined ? { enabled: row?.enabled === 1 } : { publicKey }),
    ...(row ? { onEvaluationError: row.on_evaluation_error } : {}),
  };
}
