import { attestedTypes } from "../../authority/attested.ts";
import type { Voter } from "../../policy/approvals.ts";
import type { CredentialFacts } from "../../policy/facts.ts";
import type { Reader } from "../../storage/engine.ts";
import { contactCredentialsOf } from "../identity/shown-credentials.ts";
import { loadUser, loadUsers, type User } from "../identity/users.ts";

/** The users of an organization as policies see them. Each is read once for as long as the electorate is kept: for a request. */
export interface Electorate {
  find(read: Reader, userId: string): Promise<Voter | undefined>;
  all(read: Reader): Promise<readonly Voter[]>;
}

export function electorateOf(organizationId: string): Electorate {
  const found = new Map<string, Promise<Voter | undefined>>();
  let everybody: Promise<readonly Voter[]> | undefined;
  return {
    find(read, userId) {
      const known = found.get(userId);
      if (known) return known;
      const voter = loadUser(read, organizationId, userId).then((user) => user && voterOf(user));
      found.set(userId, voter);
      return voter;
    },
    all(read) {
      everybody ??= loadUsers(read, organizationId).then((users) => users.map(voterOf));
      return everybody;
    },
  };
}

const voters = new WeakMap<User, Voter>();

/** One object for each version of a user, by which their approvals are known again. */
function voterOf(user: User): Voter {
  const known = voters.get(user);
  if (known) return known;
  const voter = {
    id: user.userId,
    tags: user.userTags,
    email: user.userEmail ?? "",
    alias: user.userName,
    credentials: credentialsOf(user),
  };
  voters.set(user, voter);
  return voter;
}

/** What a user can approve with: what is registered, and what tokens can show. */
function credentialsOf(user: User): CredentialFacts[] {
  const { userId, apiKeys, authenticators, oauthProviders } = user;
  return [
    ...contactCredentialsOf(user).map((credential) => ({ ...credential, user_id: userId })),
    ...oauthProviders.map(({ providerId: id }) => ({ id, user_id: userId, type: attestedTypes.OAUTH })),
    ...apiKeys.map(({ apiKeyId, credential }) => ({
      id: apiKeyId,
      user_id: userId,
      type: credential.type,
      public_key: credential.publicKey,
    })),
    ...authenticators.map(({ authenticatorId, credentialId, credential }) => ({
      id: authenticatorId,
      user_id: userId,
      type: credential.type,
      credential_id: credentialId,
      public_key: credential.publicKey,
    })),
  ];
}
