import type { MfaPolicy, User } from "../../engine/identity/user-schemas.ts";
import { loadUser } from "../../engine/identity/users.ts";
import { fail } from "../../kernel/errors.ts";
import type { Reader } from "../../storage/engine.ts";

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
