import { isDeepStrictEqual } from "node:util";
import { keyOwnerOf } from "../../engine/keys/key-owner.ts";
import type { AuthProxySettings, ProxyConfig } from "../../engine/proxy-call.ts";
import { fail } from "../../kernel/errors.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import type { AuthProxyConfig } from "./model.ts";

/** The auth proxy of an organization. Disabling keeps the row, so that the configuration id stays the same. */
export interface StoredAuthProxy {
  configId: string;
  /** Absent until the proxy is first enabled. */
  userId: string | undefined;
  policyId: string | undefined;
  /** The current key; absent while the proxy is disabled. */
  publicKey: string | undefined;
  settings: AuthProxySettings;
}

export async function findAuthProxy(read: Reader, organizationId: string): Promise<StoredAuthProxy | undefined> {
  const row = await read
    .selectFrom("auth_proxies")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .executeTakeFirst();
  return (
    row && {
      configId: row.id,
      userId: row.user_id ?? undefined,
      policyId: row.policy_id ?? undefined,
      publicKey: row.public_key ?? undefined,
      settings: JSON.parse(row.settings),
    }
  );
}

/** An organization's settings; empty if it has none yet. */
export const findSettings = async (read: Reader, organizationId: string): Promise<AuthProxySettings> =>
  (await findAuthProxy(read, organizationId))?.settings ?? {};

/** Stores the given members and leaves the others unchanged. */
export async function putAuthProxy(
  tx: Transactor,
  organizationId: string,
  configId: string,
  change: {
    user_id?: string;
    policy_id?: string;
    public_key?: string | null;
    sealed_key?: string | null;
    settings?: string;
  },
  now: number,
): Promise<void> {
  const fresh = { user_id: null, policy_id: null, public_key: null, sealed_key: null, settings: "{}", created_at: now };
  await tx
    .insertInto("auth_proxies")
    .values({ ...fresh, ...change, organization_id: organizationId, id: configId, updated_at: now })
    .onConflict((conflict) => conflict.column("organization_id").doUpdateSet({ ...change, updated_at: now }))
    .execute();
}

/**
 * Checks in the transaction that the row is still as it was read before, because the key to remove or the settings to extend come from that.
 *
 * @throws KeysteadError RESOURCE_EXISTS if another request has changed it meanwhile
 */
export async function refuseChanged(
  tx: Transactor,
  organizationId: string,
  before: StoredAuthProxy | undefined,
): Promise<void> {
  const now = await findAuthProxy(tx, organizationId);
  if (isDeepStrictEqual(now, before)) return;
  const reason = "was changed by another request at the same time; send this one again";
  fail("RESOURCE_EXISTS", { kind: "auth proxy", field: "organizationId", reason });
}

/** @throws KeysteadError RESOURCE_NOT_FOUND */
export async function requireConfig(read: Reader, organizationId: string): Promise<AuthProxyConfig> {
  const stored = await findAuthProxy(read, organizationId);
  if (!stored) {
    return fail("RESOURCE_NOT_FOUND", { kind: "auth proxy; enable_auth_proxy makes one:", id: "none", organizationId });
  }
  const { configId, userId, publicKey, settings } = stored;
  return {
    configId,
    enabled: publicKey !== undefined,
    ...(userId === undefined ? {} : { proxyUserId: userId }),
    ...settings,
  };
}

/** An enabled auth proxy, with the key with which the signer stamps its requests. */
export interface EnabledAuthProxy {
  config: ProxyConfig;
  stamping: {
    publicKey: string;
    key: { organizationId: string; organizationKey: string; configId: string; sealedKey: string };
  };
}

const selectEnabled = prepared<{ configId: string }>()((db, { configId }) =>
  db
    .selectFrom("auth_proxies as p")
    .innerJoin("organizations as o", "o.id", "p.organization_id")
    .select(["o.id as organization_id", "o.name", "o.sealed_key as organization_key", "p.settings"])
    .select(["p.id", "p.public_key", "p.sealed_key"])
    .where("p.id", "=", configId)
    .where("p.sealed_key", "is not", null)
    .where("o.deleted_at", "is", null),
);

export async function findEnabledAuthProxy(read: Reader, configId: string): Promise<EnabledAuthProxy | undefined> {
  const [row] = await selectEnabled(read, { configId });
  if (!row) return undefined;
  const { organization_id: organizationId, name, organization_key: sealedKey } = row;
  return {
    config: { configId, organizationId, organizationName: name, settings: JSON.parse(row.settings) },
    stamping: {
      publicKey: row.public_key as string,
      key: { ...keyOwnerOf({ id: organizationId, sealedKey }), configId, sealedKey: row.sealed_key as string },
    },
  };
}
