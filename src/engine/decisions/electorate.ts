import { attestedTypes } from "../../authority/attested.ts";
import type { Elector } from "../../authority/decisions/facts.ts";
import type { Voter } from "../../policy/approvals.ts";
import type { CredentialFacts } from "../../policy/facts.ts";
import type { Reader } from "../../storage/engine.ts";
import { contactCredentialsOf } from "../identity/shown-credentials.ts";
import type { User } from "../identity/user-schemas.ts";
import { loadUser, loadUsers } from "../identity/users.ts";

/** The users of an organization as decisions see them. It lives as long as a request and reads each user once. */
export class Electorate {
  readonly #organizationId: string;
  readonly #reading = new Map<string, Promise<void>>();
  readonly #electors = new Map<string, Elector | undefined>();
  #readingVoters: Promise<void> | undefined;
  #voters: readonly Voter[] | undefined;

  constructor(organizationId: string) {
    this.#organizationId = organizationId;
  }

  knows(userId: string): boolean {
    return this.#electors.has(userId);
  }

  /** Undefined if there is no such user. */
  elector(userId: string): Elector | undefined {
    return this.#electors.get(userId);
  }

  /** All users; undefined if they have not been read. */
  get voters(): readonly Voter[] | undefined {
    return this.#voters;
  }

  read(read: Reader, userId: string): Promise<void> {
    const known = this.#reading.get(userId);
    if (known) return known;
    const reading = loadUser(read, this.#organizationId, userId).then(
      (user) => void this.#electors.set(userId, user && electorOf(user)),
      (error) => {
        this.#reading.delete(userId);
        throw error;
      },
    );
    this.#reading.set(userId, reading);
    return reading;
  }

  readVoters(read: Reader): Promise<void> {
    this.#readingVoters ??= loadUsers(read, this.#organizationId).then(
      (users) => {
        this.#voters = users.map((user) => electorOf(user).voter);
      },
      (error) => {
        this.#readingVoters = undefined;
        throw error;
      },
    );
    return this.#readingVoters;
  }
}

const electors = new WeakMap<User, Elector>();

/** One object per version of a user, so that caches can be keyed by it. */
function electorOf(user: User): Elector {
  const known = electors.get(user);
  if (known) return known;
  const elector = {
    voter: {
      id: user.userId,
      tags: user.userTags,
      email: user.userEmail ?? "",
      alias: user.userName,
      credentials: credentialsOf(user),
    },
    mfaPolicies: user.mfaPolicies.map(
      ({ mfaPolicyId: id, condition, requiredAuthenticationMethods: requiredMethods }) => ({
        id,
        condition,
        requiredMethods,
      }),
    ),
  };
  electors.set(user, elector);
  return elector;
}

/** The credentials a user can approve with: registered ones, and those that tokens can prove. */
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
