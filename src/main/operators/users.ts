import { ALL } from "../../authority/state.ts";
import { onAuthority } from "../../engine/authority/load.ts";
import type { Reader } from "../../storage/engine.ts";
import { StartProblem } from "../config.ts";
import { requireOrganization } from "./operator.ts";

/** Shows users to operators, without a stamp: who they are and how they sign in. Secrets of credentials are not stored, so none can be shown. */

export interface ShownUser {
  userId: string;
  name: string;
  email: string | null;
  phoneNumber: string | null;
  isRootQuorumMember: boolean;
  /** RFC 3339. */
  createdAt: string;
}

export interface UserDetails extends ShownUser {
  organizationId: string;
  tags: string[];
  apiKeys: { id: string; name: string; type: string; publicKey: string; createdAt: string; expiresAt: string | null }[];
  passkeys: { id: string; name: string; createdAt: string }[];
  oauthProviders: { id: string; name: string; issuer: string; audience: string; subject: string }[];
  verifiedContacts: { type: string; value: string }[];
}

/** @throws StartProblem if there is no such organization */
export async function listUsers(read: Reader, organizationId: string): Promise<ShownUser[]> {
  await requireOrganization(read, organizationId);
  const rows = await read
    .selectFrom("users")
    .select("id")
    .where("organization_id", "=", organizationId)
    .orderBy("id")
    .execute();
  return onAuthority(read, organizationId, (view) => {
    const { userIds: members } = view.part("rootQuorum", ALL);
    return view
      .parts(
        "user",
        rows.map(({ id }) => id),
      )
      .flatMap((user) => (user ? [shown(user, members)] : []));
  });
}

/** @throws StartProblem if there is no such organization, or no such user in it */
export async function showUser(read: Reader, organizationId: string, userId: string): Promise<UserDetails> {
  await requireOrganization(read, organizationId);
  return onAuthority(read, organizationId, (view) => {
    const user = view.part("user", userId);
    if (!user) throw new StartProblem(`there is no user ${userId} in organization ${organizationId}`);
    return {
      organizationId,
      ...shown(user, view.part("rootQuorum", ALL).userIds),
      tags: view
        .parts("tag", view.part("tagsOfUser", userId))
        .flatMap((tag) => (tag ? [tag.name] : []))
        .sort(),
      apiKeys: view.part("apiKeys", userId).map(({ id, name, type, publicKey, createdAt, expirationSeconds }) => ({
        id,
        name,
        type,
        publicKey,
        createdAt: timeOf(createdAt),
        expiresAt: expirationSeconds === null ? null : timeOf(createdAt + expirationSeconds * 1000),
      })),
      passkeys: view
        .part("authenticators", userId)
        .map(({ id, name, createdAt }) => ({ id, name, createdAt: timeOf(createdAt) })),
      oauthProviders: view
        .part("oauthProviders", userId)
        .map(({ id, name, issuer, audience, subject }) => ({ id, name, issuer, audience, subject })),
      verifiedContacts: view.part("verifiedContacts", userId).map(({ type, value }) => ({ type, value })),
    };
  });
}

interface KnownUser {
  id: string;
  name: string;
  email: string | null;
  phoneNumber: string | null;
  createdAt: number;
}

const shown = (
  { id: userId, name, email, phoneNumber, createdAt }: KnownUser,
  members: readonly string[],
): ShownUser => ({
  userId,
  name,
  email,
  phoneNumber,
  isRootQuorumMember: members.includes(userId),
  createdAt: timeOf(createdAt),
});

const timeOf = (milliseconds: number): string => new Date(milliseconds).toISOString();
