import { DEFAULT_SESSION_PROFILE_ID } from "../../engine/decisions/mfa.ts";
import { loadUser, type MfaPolicy, type User } from "../../engine/identity/users.ts";
import type { Organization } from "../../engine/operations.ts";
import { fail } from "../../kernel/errors.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { findSessionProfiles } from "../sessions/store.ts";
import { changeUser } from "../users/store.ts";
import type { RequiredMethodsParams } from "./model.ts";

/** @throws KeysteadError RESOURCE_NOT_FOUND */
export async function requireUser(read: Reader, organizationId: string, userId: string): Promise<User> {
  const user = await loadUser(read, organizationId, userId);
  return user ?? fail("RESOURCE_NOT_FOUND", { kind: "user", id: userId, organizationId });
}

/** @throws KeysteadError RESOURCE_NOT_FOUND */
export async function requireMfaPolicy(
  read: Reader,
  organizationId: string,
  userId: string,
  id: string,
): Promise<MfaPolicy> {
  const { mfaPolicies } = await requireUser(read, organizationId, userId);
  const policy = mfaPolicies.find(({ mfaPolicyId }) => mfaPolicyId === id);
  return policy ?? fail("RESOURCE_NOT_FOUND", { kind: "MFA policy", id, organizationId });
}

/** @throws KeysteadError FIELD_INVALID for the id of a credential that the user does not have: it could never be shown */
export async function requireMethods(
  read: Reader,
  organization: Organization,
  user: User,
  methods: RequiredMethodsParams,
): Promise<void> {
  const profiles = await findSessionProfiles(read, organization);
  const ids: Record<string, string[]> = {
    AUTHENTICATION_TYPE_PASSKEY: user.authenticators.map(({ authenticatorId }) => authenticatorId),
    AUTHENTICATION_TYPE_API_KEY: user.apiKeys.map(({ apiKeyId }) => apiKeyId),
    AUTHENTICATION_TYPE_OAUTH: user.oauthProviders.map(({ providerId }) => providerId),
    AUTHENTICATION_TYPE_SESSION: [
      DEFAULT_SESSION_PROFILE_ID,
      ...profiles.map(({ sessionProfileId }) => sessionProfileId),
    ],
  };
  for (const [index, { any }] of methods.entries()) {
    for (const [position, { type, id }] of any.entries()) {
      if (id === undefined || ids[type]?.includes(id)) continue;
      const field = `parameters.requiredAuthenticationMethods.${index}.any.${position}.id`;
      const reason =
        type === "AUTHENTICATION_TYPE_SESSION" ? "is no session profile" : "is no credential of the user of this type";
      fail("FIELD_INVALID", { field, reason });
    }
  }
}

/** Notes how many MFA policies the user has now, and that the user has changed. */
export async function recountMfaPolicies(
  tx: Transactor,
  organizationId: string,
  userId: string,
  now: number,
): Promise<number> {
  await changeUser(tx, organizationId, userId, now);
  const { count } = await tx
    .selectFrom("mfa_policies")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("organization_id", "=", organizationId)
    .where("user_id", "=", userId)
    .executeTakeFirstOrThrow();
  await tx
    .updateTable("users")
    .set({ mfa_policies: count })
    .where("organization_id", "=", organizationId)
    .where("id", "=", userId)
    .execute();
  return count;
}
